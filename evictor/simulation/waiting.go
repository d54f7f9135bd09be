package simulation

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/evictkit/evictkit/evictor"
)

// comeback is a pod that waits for its replacement.
type comeback struct {
	at     int64 // when its controller may replace it
	wait   int64 // how much later a volume of it is free for another node, and how long the API was down meanwhile
	number int   // its place in that order
	key    evictor.PodKey
	spec   *podSpec
	member int32
	fresh  bool // a new pod that replaces none
	made   bool // by its controller, when the simulation begins
	// Only of pods whose set creates them in order:
	ordinal int
	held    bool // it had to wait for another pod
}

// alike is the key of pods that fit the same nodes: if one finds no node, none of them does.
type alike struct {
	needs       *needs
	tolerations string
	labels      *labelSet // this and namespace are set only if other pods decide
	namespace   string
	own         uint64 // see ownDomains
}

// waiting holds the pods that wait for a node: those that are not due yet, and those that found no node, in queues of pods
// that are alike. A round costs one try per queue, and one for each pod that finds a node.
type waiting struct {
	coming  []comeback // in order
	refused map[alike]*queue
	count   int // pods in refused
	minding int // queues of pods that depend on other pods
	number  int
	version int // of the load index when refused pods were last tried
}

type queue struct {
	alike
	pods  []comeback
	minds bool
	state int // see stateOf; when they were last tried
	// refusal is why no node fits, as it was last found out, and why its text in the timeline.
	refusal *Refusal
	why     string
}

func (w *waiting) len() int { return len(w.coming) + w.count }

func (w *waiting) add(b comeback) {
	w.number++
	b.number = w.number
	at := len(w.coming)
	for at > 0 && w.coming[at-1].at+w.coming[at-1].wait > b.at+b.wait {
		at--
	}
	w.coming = slices.Insert(w.coming, at, b)
}

func (c *cluster) alike(b *comeback) (a alike, minds bool) {
	a = alike{needs: b.spec.needs, tolerations: b.spec.tolerationsKey, own: b.spec.ownDomains()}
	minds = len(c.tallies) > 0 && c.minds(b.spec, b.key.Namespace)
	if minds {
		a.labels, a.namespace = b.spec.labels, b.key.Namespace
	}
	return a, minds
}

// refuse queues a pod behind those that are alike.
func (w *waiting) refuse(a alike, minds bool, state int, b comeback) *queue {
	q := w.refused[a]
	if q == nil {
		q = &queue{alike: a, minds: minds, state: state}
		w.refused[a] = q
		if q.dependent() {
			w.minding++
		}
	}
	q.pods = append(q.pods, b)
	w.count++
	return q
}

// queues returns the queues of refused pods as a heap: the queue whose first pod has waited longest comes first.
func (w *waiting) queues() byFirst {
	all := make(byFirst, 0, len(w.refused))
	for _, q := range w.refused {
		all = append(all, q)
	}
	slices.SortFunc(all, func(a, b *queue) int { return cmp.Compare(a.pods[0].number, b.pods[0].number) })
	return all
}

// served removes the first pod of the first queue.
func (w *waiting) served(all *byFirst) {
	q := (*all)[0]
	q.pods = q.pods[1:]
	w.count--
	if len(q.pods) > 0 {
		heap.Fix(all, 0)
		return
	}
	heap.Pop(all)
	w.drop(q.alike)
}

// drop removes an empty queue.
func (w *waiting) drop(a alike) {
	if w.refused[a].dependent() {
		w.minding--
	}
	delete(w.refused, a)
}

// dependent says whether the pods may find a node although none has improved.
func (q *queue) dependent() bool {
	return q.minds || q.needs != nil && len(q.needs.spread)+len(q.needs.alone) > 0
}

// moved says whether they may find one now.
func (c *cluster) moved(q *queue) bool { return q.minds || q.state != c.stateOf(q.pods[0].spec) }

// byFirst implements heap.Interface.
type byFirst []*queue

func (h byFirst) Len() int           { return len(h) }
func (h byFirst) Less(i, j int) bool { return h[i].pods[0].number < h[j].pods[0].number }
func (h byFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push is never called: queues only leave.
func (h *byFirst) Push(any) {}

// Pop removes the last queue.
func (h *byFirst) Pop() any {
	last := len(*h) - 1
	q := (*h)[last]
	*h = (*h)[:last]
	return q
}
