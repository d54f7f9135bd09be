package nodepressure

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Candidate is a pod in the order of eviction, with what put it there.
type Candidate struct {
	Pod Pod
	// Protection says why it is passed over, if it is.
	Protection Protection
	Priority   int32
	QOS        v1.PodQOSClass
	// Used and Requested are amounts of what the node is short of: bytes, inodes or processes. Inodes
	// and processes cannot be requested.
	Used, Requested int64
}

// Exceeds says whether the pod uses more than it requested.
func (c *Candidate) Exceeds() bool { return c.Used > c.Requested }

// Over is by how much; negative when it uses less.
func (c *Candidate) Over() int64 { return c.Used - c.Requested }

// Ranking orders pods for eviction.
type Ranking interface {
	// Compare is negative when a is to go before b, positive when after, and 0 when it does not matter;
	// then names decide. It must be a strict weak order. It must not call the Machine that asks, and
	// neither change nor keep what it is given.
	Compare(starved v1.ResourceName, a, b *Candidate) int
}

// RankingFunc makes a function a Ranking.
type RankingFunc func(starved v1.ResourceName, a, b *Candidate) int

// Compare calls f.
func (f RankingFunc) Compare(starved v1.ResourceName, a, b *Candidate) int { return f(starved, a, b) }

// The rankings. Both put pods whose usage is not known before others that are equal to them so far.
var (
	// ByUsage is the kubelet's: pods that use more than they requested, then lower priority, then the
	// larger difference. Of processes: lower priority, then more of them. For inodes upstream takes the
	// request of storage, in bytes, from the number of inodes; here nothing is taken from it.
	ByUsage Ranking = RankingFunc(compareByUsage)
	// ByQOS is that of Kubernetes 1.5 and earlier: BestEffort, Burstable, Guaranteed, then the larger
	// difference between usage and request.
	ByQOS Ranking = RankingFunc(compareByQOS)
)

// compareBool puts true before false.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func compareUnknown(a, b *Candidate) int { return compareBool(a.Pod.Usage == nil, b.Pod.Usage == nil) }

func compareByUsage(starved v1.ResourceName, a, b *Candidate) int {
	unknown := compareUnknown(a, b)
	if starved != ResourcePIDs {
		if unknown != 0 {
			return unknown
		}
		if c := compareBool(a.Exceeds(), b.Exceeds()); c != 0 {
			return c
		}
	}
	if a.Priority != b.Priority {
		return cmp.Compare(a.Priority, b.Priority)
	}
	if unknown != 0 {
		return unknown
	}
	return compareOver(a, b)
}

// compareOver puts the larger difference first; of pods whose usage is not known there is none.
func compareOver(a, b *Candidate) int {
	if a.Pod.Usage == nil && b.Pod.Usage == nil {
		return 0
	}
	return cmp.Compare(b.Over(), a.Over())
}

func compareByQOS(_ v1.ResourceName, a, b *Candidate) int {
	if c := cmp.Compare(qosOrder(a.QOS), qosOrder(b.QOS)); c != 0 {
		return c
	}
	if c := compareUnknown(a, b); c != 0 {
		return c
	}
	return compareOver(a, b)
}

// Rank returns the pods in the order in which they would be evicted for a shortage of what the signal
// measures, protected ones among them. The layout says what of their disk usage counts; a nil ranking is
// ByUsage.
func Rank(pods []Pod, signal Signal, layout Layout, ranking Ranking) []Candidate {
	if ranking == nil {
		ranking = ByUsage
	}
	starved := signal.Resource()
	candidates := make([]Candidate, len(pods))
	order := make([]*Candidate, len(pods))
	for i, pod := range pods {
		candidates[i] = Candidate{
			Pod:        pod,
			Protection: ProtectionOf(pod.Pod),
			Priority:   priority(pod.Pod),
			QOS:        QOSClass(pod.Pod),
			Used:       pod.Uses(signal, layout),
		}
		if starved == v1.ResourceMemory || starved == v1.ResourceEphemeralStorage {
			candidates[i].Requested = request(pod.Pod, starved)
		}
		order[i] = &candidates[i]
	}
	slices.SortFunc(order, func(a, b *Candidate) int {
		if c := ranking.Compare(starved, a, b); c != 0 {
			return c
		}
		return byName(a.Pod.Pod, b.Pod.Pod)
	})
	ranked := make([]Candidate, len(pods))
	for i, candidate := range order {
		ranked[i] = *candidate
	}
	return ranked
}
