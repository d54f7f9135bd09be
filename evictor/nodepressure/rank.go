package nodepressure

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Candidate is a pod in the order of eviction, with the reasons for its place.
type Candidate struct {
	Pod Pod
	// Protection says why the pod is protected from eviction, if it is.
	Protection Protection
	Priority   int32
	QOS        v1.PodQOSClass
	// Used and Requested are amounts of what the node is short of: bytes, inodes or processes. Pods cannot request inodes
	// or processes. A request that does not fit an int64 is the largest int64 here; both rankings of this package compare
	// such requests exactly, as the kubelet does.
	Used, Requested int64

	huge *resource.Quantity // the request if it does not fit an int64
}

// Exceeds reports whether the pod uses more than it requested.
func (c *Candidate) Exceeds() bool { return c.Used > c.Requested }

// Over returns by how much the pod exceeds its request; negative if it uses less.
func (c *Candidate) Over() int64 { return c.Used - c.Requested }

// Ranking orders pods for eviction.
type Ranking interface {
	// Compare is negative if a goes before b, positive if after, and 0 if it does not matter; then names decide. It
	// must be a strict weak order. It must not call the Machine that calls it, and must neither change nor keep its
	// arguments.
	Compare(starved v1.ResourceName, a, b *Candidate) int
}

// RankingFunc makes a function a Ranking.
type RankingFunc func(starved v1.ResourceName, a, b *Candidate) int

// Compare calls f.
func (f RankingFunc) Compare(starved v1.ResourceName, a, b *Candidate) int { return f(starved, a, b) }

// The rankings. Both put pods whose usage is unknown before pods that are equal to them so far.
var (
	// ByUsage is the kubelet's: first pods that use more than they requested, then lower priority, then the larger
	// difference. For processes: lower priority, then more processes. For inodes, upstream subtracts the request for
	// storage, in bytes, from the number of inodes; ByUsage does not.
	ByUsage Ranking = RankingFunc(compareByUsage)
	// ByQOS is the ranking of Kubernetes 1.8 and earlier: BestEffort, Burstable, Guaranteed, then the larger difference
	// between usage and request.
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
		if c := cmp.Or(unknown, compareBool(a.Exceeds(), b.Exceeds())); c != 0 {
			return c
		}
	}
	if c := cmp.Or(cmp.Compare(a.Priority, b.Priority), unknown); c != 0 {
		return c
	}
	return compareOver(a, b)
}

// compareOver puts the larger difference first. Pods of unknown usage have none and are equal.
func compareOver(a, b *Candidate) int {
	if a.Pod.Usage == nil && b.Pod.Usage == nil {
		return 0
	}
	if a.huge != nil || b.huge != nil {
		over, other := a.exactOver(), b.exactOver()
		return other.Cmp(over)
	}
	return cmp.Compare(b.Over(), a.Over())
}

// exactOver is Over for requests of any size.
func (c *Candidate) exactOver() resource.Quantity {
	over := *resource.NewQuantity(c.Used, resource.BinarySI)
	if c.huge != nil {
		over.Sub(*c.huge)
	} else {
		over.Sub(*resource.NewQuantity(c.Requested, resource.BinarySI))
	}
	return over
}

func compareByQOS(_ v1.ResourceName, a, b *Candidate) int {
	if c := cmp.Or(cmp.Compare(qosOrder(a.QOS), qosOrder(b.QOS)), compareUnknown(a, b)); c != 0 {
		return c
	}
	return compareOver(a, b)
}

// Rank returns the pods, including the protected ones, in the order in which they would go for a shortage of what the
// signal measures. The layout says which disk usage counts. A nil ranking is ByUsage.
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
			candidates[i].Requested, candidates[i].huge = request(pod.Pod, starved)
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
