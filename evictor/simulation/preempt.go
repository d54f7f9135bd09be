package simulation

import (
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// priorityOf returns the priority with which a pod may preempt others; that of pods that may not is the lowest.
func priorityOf(spec *v1.PodSpec) (priority, preempts int32) {
	if spec.Priority != nil {
		priority = *spec.Priority
	}
	if someLater(spec, "PreemptionPolicy") && later(spec, "PreemptionPolicy").Elem().String() == string(v1.PreemptNever) {
		return priority, math.MinInt32
	}
	return priority, priority
}

func (s *podSpec) priority() int32 {
	if s.needs == nil {
		return 0
	}
	return s.needs.priority
}

// couldPreempt returns how many Pending pods at most would find a node if pods of lower priority left it: one that has too
// little room for them now. Pods that ask for the same share a node's room, others do not. Topology spread, pod affinity and
// host ports are taken to be as needed.
func (c *cluster) couldPreempt() (pods int) {
	if c.waiting.count == 0 {
		return 0
	}
	lowest := int32(math.MaxInt32)
	for i := range c.pods {
		if p := &c.pods[i]; p.node >= 0 && !p.phase.finished() {
			lowest = min(lowest, p.spec.priority())
		}
	}
	kept := make(map[int32][]stays)
	for _, q := range c.waiting.refused {
		s := q.pods[0].spec
		if s.needs == nil || s.needs.preempts <= lowest {
			continue
		}
		stay, known := kept[s.needs.preempts]
		if !known {
			stay = c.staying(s.needs.preempts)
			kept[s.needs.preempts] = stay
		}
		pods += c.load.places(c, s, stay, len(q.pods))
	}
	return pods
}

// stays is what pods leave of a node to one of a higher priority.
type stays struct {
	leaves bool // some pod would leave
	used   []int64
}

// staying returns for each node what pods of at least that priority use.
func (c *cluster) staying(priority int32) []stays {
	all := make([]stays, len(c.nodes))
	for i := range c.pods {
		p := &c.pods[i]
		if p.node < 0 || p.phase.finished() {
			continue
		}
		at := &all[p.node]
		if p.spec.priority() < priority {
			at.leaves = true
			continue
		}
		requests := onePod
		if p.spec.needs != nil {
			requests = p.spec.needs.requests
		}
		at.used = slices.Grow(at.used, len(requests))
		for len(at.used) < len(requests) {
			at.used = append(at.used, 0)
		}
		for resource, amount := range requests {
			at.used[resource] += amount
		}
	}
	return all
}

// places returns for how many of these pods, up to most, there is a place.
func (l *loadIndex) places(c *cluster, s *podSpec, stay []stays, most int) (places int) {
	rule := l.rule(c, s)
	for _, g := range l.groups {
		if g.matches[rule] != '1' {
			continue
		}
		for _, i := range g.heap {
			if n := &c.nodes[i]; stay[i].leaves && n.room != nil && !n.room.fits(s.needs) && c.reaches(n, s) {
				places += n.room.times(s.needs, stay[i].used, most)
			}
			if places >= most {
				return most
			}
		}
	}
	return places
}

// times returns how often a node has what a pod requests beside what is used, up to most.
func (r *room) times(n *needs, used []int64, most int) int {
	times := int64(most)
	for resource, amount := range n.requests {
		if r == nil || amount == 0 {
			continue
		}
		allocatable, _ := r.has(resource)
		if resource < len(used) {
			allocatable -= used[resource]
		}
		times = min(times, max(allocatable, 0)/amount)
	}
	return int(times)
}
