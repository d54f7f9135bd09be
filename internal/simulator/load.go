package simulator

import (
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/taints"
)

// loadIndex orders the nodes on which any pod may land by their load, and keeps those that only some
// pods tolerate apart: there are few of them.
type loadIndex struct {
	heap     []int32 // of nodes without taints, least load first, then by name
	position []int32 // of each node in heap plus one, 0: not there
	tainted  map[int32]struct{}
}

func (l *loadIndex) less(c *Cluster, a, b int32) bool {
	x, y := &c.nodes[a], &c.nodes[b]
	return x.pods < y.pods || x.pods == y.pods && x.name < y.name
}

func (l *loadIndex) add(c *Cluster, i int32) {
	for int(i) >= len(l.position) {
		l.position = append(l.position, 0)
	}
	l.update(c, i)
}

// update puts the node where its state and load belong.
func (l *loadIndex) update(c *Cluster, i int32) {
	n := &c.nodes[i]
	ready := findCondition(n.conditions, v1.NodeReady)
	open := !n.deleted && !n.unschedulable && ready >= 0 && n.conditions[ready].Status == v1.ConditionTrue
	kept := false
	for k := range n.taints {
		kept = kept || n.taints[k].Effect != v1.TaintEffectPreferNoSchedule
	}
	if open && kept {
		l.tainted[i] = struct{}{}
	} else {
		delete(l.tainted, i)
	}
	if !open || kept {
		l.take(c, i)
		return
	}
	at := int(l.position[i]) - 1
	if at < 0 {
		l.heap = append(l.heap, i)
		at = len(l.heap) - 1
		l.position[i] = int32(at) + 1
	}
	l.down(c, l.up(c, at))
}

func (l *loadIndex) take(c *Cluster, i int32) {
	at := int(l.position[i]) - 1
	if at < 0 {
		return
	}
	last := len(l.heap) - 1
	l.swap(at, last)
	l.heap = l.heap[:last]
	l.position[i] = 0
	if at < last {
		l.down(c, l.up(c, at))
	}
}

func (l *loadIndex) swap(a, b int) {
	l.heap[a], l.heap[b] = l.heap[b], l.heap[a]
	l.position[l.heap[a]], l.position[l.heap[b]] = int32(a)+1, int32(b)+1
}

func (l *loadIndex) up(c *Cluster, at int) int {
	for at > 0 && l.less(c, l.heap[at], l.heap[(at-1)/2]) {
		l.swap(at, (at-1)/2)
		at = (at - 1) / 2
	}
	return at
}

func (l *loadIndex) down(c *Cluster, at int) {
	for {
		least := at
		for child := 2*at + 1; child <= 2*at+2 && child < len(l.heap); child++ {
			if l.less(c, l.heap[child], l.heap[least]) {
				least = child
			}
		}
		if least == at {
			return
		}
		l.swap(at, least)
		at = least
	}
}

// best is the node with the fewest pods that the pod may go to.
func (l *loadIndex) best(c *Cluster, spec *PodSpec) (int32, bool) {
	best, ok := int32(0), false
	if len(l.heap) > 0 {
		best, ok = l.heap[0], true
	}
	for i := range l.tainted {
		if _, not := taints.Untolerated(c.nodes[i].taints, spec.Tolerations, taints.Scheduling); !not && (!ok || l.less(c, i, best)) {
			best, ok = i, true
		}
	}
	return best, ok
}

// comeback is an evicted pod that waits for a node.
type comeback struct {
	at   int64
	key  evictor.PodKey
	spec *PodSpec
}
