package simulation

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
)

// sequences are the StatefulSets whose pods are created one after the other. Their controller goes through a set's ordinals,
// from the first that it wants on, and stops at one whose pod is not Running and Ready. Pods without an ordinal in their
// names have no order.
type sequences struct {
	known map[podID]setRules // a set whose object is not known has the zero rules, which are the defaults
	sets  map[podID]*sequence
	look  []podID // sets that may have a pod to create now
	count int     // pods in held
	most  int     // of them, at the worst time
}

// setRules is what the object of a StatefulSet says about its ordinals.
type setRules struct {
	parallel bool // there is no order
	start    int  // the first
	end      int  // the first that is too many; 0 if that is not known: then pods say how many there are
}

// sequence is one set, as far as its order matters.
type sequence struct {
	ordinals []int      // of the pods on nodes, now or once
	absent   []int      // of the pods that wait: to be created, or for a node
	held     []comeback // pods that are not created, by ordinal
	look     bool       // it is in sequences.look
}

// ordinalOf returns the ordinal of a StatefulSet's pod, negative if it has none.
func (s *podSpec) ordinalOf(name string) int {
	text, ok := strings.CutPrefix(name, s.OwnerName+"-")
	ordinal, err := strconv.Atoi(text)
	if s.OwnerKind != "StatefulSet" || !ok || err != nil {
		return -1
	}
	return ordinal
}

// unwanted says whether a pod has an ordinal that its StatefulSet does not want, so that it does not come back.
func (c *cluster) unwanted(s *podSpec, id podID) bool {
	if len(c.sequences.known) == 0 || s.OwnerKind != "StatefulSet" {
		return false
	}
	ordinal, set := s.ordinalOf(id.name), c.sequences.known[podID{id.space, s.OwnerName}]
	return ordinal >= 0 && (ordinal < set.start || set.end > 0 && ordinal >= set.end)
}

// sequenceOf returns the set and the ordinal of a pod; nil if its creation waits for no other pod.
func (c *cluster) sequenceOf(s *podSpec, space uint32, name string) (q *sequence, set podID, ordinal int) {
	if s.OwnerKind != "StatefulSet" {
		return nil, set, 0
	}
	ordinal, set = s.ordinalOf(name), podID{space, s.OwnerName}
	if ordinal < 0 || c.sequences.known[set].parallel {
		return nil, set, 0
	}
	q = c.sequences.sets[set]
	if q == nil {
		q = new(sequence)
		c.sequences.sets[set] = q
	}
	return q, set, ordinal
}

// knowSet records what the object of a StatefulSet says.
func (c *cluster) knowSet(set *appsv1.StatefulSet) {
	rules := setRules{parallel: set.Spec.PodManagementPolicy == appsv1.ParallelPodManagement, start: firstOrdinal(set)}
	if replicas := set.Spec.Replicas; replicas != nil && *replicas > 0 {
		rules.end = rules.start + int(*replicas)
	}
	c.sequences.known[podID{c.space(inDefault(set.Namespace)), set.Name}] = rules
}

// appears records a pod that is on a node now.
func (c *cluster) appears(p *pod) {
	if q, _, ordinal := c.sequenceOf(p.spec, p.id.space, p.id.name); q != nil {
		q.ordinals, q.absent = withNumber(q.ordinals, ordinal), withoutNumber(q.absent, ordinal)
	}
}

// awaits queues a pod that waits for a node. If it is not created yet, it may have to wait for others of its set first.
func (c *cluster) awaits(b comeback) {
	q, set, ordinal := c.sequenceOf(b.spec, c.space(b.key.Namespace), b.key.Name)
	if q == nil {
		c.waiting.add(b)
		return
	}
	q.absent = withNumber(q.absent, ordinal)
	if b.fresh && !b.made {
		c.waiting.add(b)
		return
	}
	b.ordinal = ordinal
	at, _ := slices.BinarySearchFunc(q.held, b, func(a, b comeback) int { return cmp.Compare(a.ordinal, b.ordinal) })
	q.held = slices.Insert(q.held, at, b)
	c.sequences.count++
	c.sequences.mayGoOn(q, set)
}

// goesOn lets a set look for a pod to create, after one of its pods has become Ready or has ended.
func (c *cluster) goesOn(i int32, by int) {
	p := &c.pods[i]
	if c.sequences.count == 0 || by < 0 {
		return
	}
	if q, set, _ := c.sequenceOf(p.spec, p.id.space, p.id.name); q != nil && len(q.held) > 0 {
		c.sequences.mayGoOn(q, set)
	}
}

func (s *sequences) mayGoOn(q *sequence, set podID) {
	if !q.look {
		q.look = true
		s.look = append(s.look, set)
	}
}

// blocks returns the name of the pod of a set that one with that ordinal waits for: the first that is absent, deleted or not
// Ready. The set's controller replaces a pod that has ended at once, so that does not count.
func (c *cluster) blocks(q *sequence, set podID, ordinal int) (name string, blocked bool) {
	named := func(ordinal int) string { return set.name + "-" + strconv.Itoa(ordinal) }
	from, _ := slices.BinarySearch(q.ordinals, c.sequences.known[set].start)
	for _, k := range q.ordinals[from:] {
		if k >= ordinal {
			break
		}
		i, ok := c.podByID[podID{set.space, named(k)}]
		if !ok {
			continue // if it comes back, it is absent
		}
		if p := &c.pods[i]; !p.phase.finished() && (p.terminating || !p.ready) {
			return named(k), true
		}
	}
	if len(q.absent) > 0 && q.absent[0] < ordinal {
		return named(q.absent[0]), true
	}
	return "", false
}

func withNumber(all []int, n int) []int {
	at, found := slices.BinarySearch(all, n)
	if found {
		return all
	}
	return slices.Insert(all, at, n)
}

func withoutNumber(all []int, n int) []int {
	if at, found := slices.BinarySearch(all, n); found {
		return slices.Delete(all, at, at+1)
	}
	return all
}
