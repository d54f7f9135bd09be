package simulator

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/internal/scenario"
)

// comeback is a pod that is to come back.
type comeback struct {
	at     int64 // when it could be replaced
	number int   // in that order
	key    evictor.PodKey
	spec   *PodSpec
}

// alike is what pods have in common of which no one finds a node when one does not.
type alike struct {
	needs       *needs
	tolerations string
	labels      *labelSet // these two only where other pods decide
	namespace   string
}

// waiting is the pods that are to come back: those whose time has not come, and those that found no node, in
// queues of pods that are alike. A round costs a try for each queue, and one for each pod that finds a node.
type waiting struct {
	coming  []comeback // in order
	refused map[alike]*queue
	count   int // of the refused
	minding int // queues of pods for which other pods decide
	number  int
	version int // of the index when those were last tried
}

type queue struct {
	alike
	pods  []comeback
	minds bool
}

func (w *waiting) len() int { return len(w.coming) + w.count }

func (w *waiting) add(b comeback) {
	w.number++
	b.number = w.number
	w.coming = append(w.coming, b)
}

func (c *Cluster) alike(b *comeback) (a alike, minds bool) {
	a = alike{tolerations: b.spec.tolerationsKey}
	if c.load.edition == scenario.Edition1 {
		return a, false
	}
	a.needs = b.spec.needs
	minds = len(c.tallies) > 0 && c.minds(b.spec, b.key.Namespace)
	if minds {
		a.labels, a.namespace = b.spec.labels, b.key.Namespace
	}
	return a, minds
}

// refuse lets a pod wait behind those that are alike.
func (w *waiting) refuse(a alike, minds bool, b comeback) {
	q := w.refused[a]
	if q == nil {
		q = &queue{alike: a, minds: minds}
		w.refused[a] = q
		if minds {
			w.minding++
		}
	}
	q.pods = append(q.pods, b)
	w.count++
}

// queues are those of the refused, the one whose first has waited longest first. Their order is that of a heap.
func (w *waiting) queues() byFirst {
	all := make(byFirst, 0, len(w.refused))
	for _, q := range w.refused {
		all = append(all, q)
	}
	slices.SortFunc(all, func(a, b *queue) int { return cmp.Compare(a.pods[0].number, b.pods[0].number) })
	return all
}

// served takes the first pod of the first queue out, and says whether there are more.
func (w *waiting) served(all *byFirst) {
	q := (*all)[0]
	q.pods = q.pods[1:]
	w.count--
	if len(q.pods) > 0 {
		heap.Fix(all, 0)
		return
	}
	heap.Pop(all)
	delete(w.refused, q.alike)
	if q.minds {
		w.minding--
	}
}

// byFirst is a heap.Interface.
type byFirst []*queue

func (h byFirst) Len() int           { return len(h) }
func (h byFirst) Less(i, j int) bool { return h[i].pods[0].number < h[j].pods[0].number }
func (h byFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push is never called: queues only leave.
func (h *byFirst) Push(any) {}

// Pop takes the last out.
func (h *byFirst) Pop() any {
	last := len(*h) - 1
	q := (*h)[last]
	*h = (*h)[:last]
	return q
}
