package placement

import (
	"iter"
	"math"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/simulation/internal/later"
)

// priorityOf returns the priority with which a pod may preempt others; that of pods that may not is the lowest.
func priorityOf(spec *v1.PodSpec) (priority, preempts int32) {
	if spec.Priority != nil {
		priority = *spec.Priority
	}
	if later.Some(spec, "PreemptionPolicy") && later.Field(spec, "PreemptionPolicy").Elem().String() == string(v1.PreemptNever) {
		return priority, math.MinInt32
	}
	return priority, priority
}

// Priority is 0 where a pod states none.
func (s *Spec) Priority() int32 { return s.needs().priority }

// CouldPreempt returns how many pods at most of those that find no node, of each spec so many, would find one if pods of lower priority
// left it: one that has too little room for them now. Pods that ask for the same share a node's room, others do not. Topology spread,
// pod affinity and host ports are taken to be as needed.
func (f *Filters) CouldPreempt(unschedulable iter.Seq2[*Spec, int]) (pods int) {
	lowest := int32(math.MaxInt32)
	f.of.EachPod(func(p Pod) {
		if p.Takes {
			lowest = min(lowest, p.Priority())
		}
	})
	kept := make(map[int32][]stays)
	for s, count := range unschedulable {
		if s.needs().preempts <= lowest {
			continue
		}
		stay, known := kept[s.Needs.preempts]
		if !known {
			stay = f.staying(s.Needs.preempts)
			kept[s.Needs.preempts] = stay
		}
		pods += f.index.places(f, s, stay, count)
	}
	return pods
}

// stays is what pods leave of a node to one of a higher priority.
type stays struct {
	leaves bool // some pod would leave
	used   []int64
}

// staying returns for each node what pods of at least that priority use.
func (f *Filters) staying(priority int32) []stays {
	all := make([]stays, len(f.nodes))
	f.of.EachPod(func(p Pod) {
		if !p.Takes {
			return
		}
		at := &all[p.Node]
		if p.Priority() < priority {
			at.leaves = true
			return
		}
		at.used = plus(at.used, p.needs().requests)
	})
	return all
}

// places returns for how many of these pods, up to most, there is a place.
func (l *index) places(f *Filters, s *Spec, stay []stays, most int) (places int) {
	rule := l.rule(f, s)
	for _, g := range l.groups {
		if g.matches[rule] != '1' {
			continue
		}
		for _, i := range g.heap {
			if n := f.nodes[i]; stay[i].leaves && n.Room != nil && !n.Room.fits(s.Needs) && f.reaches(n, s) {
				places += n.Room.times(s.Needs, stay[i].used, most)
			}
			if places >= most {
				return most
			}
		}
	}
	return places
}

// times returns how often a node has what a pod requests beside what is used, up to most.
func (r *Room) times(n *Needs, used []int64, most int) int {
	times := int64(most)
	for resource, amount := range n.requests {
		if amount == 0 {
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
