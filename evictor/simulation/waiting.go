package simulation

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation/internal/placement"
)

// comeback is a pod that waits for its replacement.
type comeback struct {
	at     int64 // when its controller may replace it
	wait   int64 // how much later a volume of it is free for another node, and how long the API was down meanwhile
	number int   // its place in that order
	key    evictor.PodKey
	spec   *podSpec
	member int32
	fresh  bool   // a new pod that replaces none
	made   bool   // by its controller, when the simulation begins
	named  string // that others have created already, and what it is called
	rank   int    // of such a pod, among those of one instant
}

// waiting holds the pods that wait for a node: those that are not due yet, and those that found no node, in queues of pods
// that are alike. A round costs one try per queue, and one for each pod that finds a node.
type waiting struct {
	activeQ       []comeback // in order
	unschedulable map[placement.Alike]*queue
	count         int // pods in unschedulable
	minding       int // queues of pods that depend on other pods
	number        int
	version       int // of the filters when unschedulable pods were last tried
}

type queue struct {
	placement.Alike
	pods  []comeback
	minds bool
	state int // see placement.Filters.StateOf; when they were last tried
	// refusal is why no node fits, as it was found out when asked says, and why its text in the timeline.
	refusal *Unplaced
	asked   time.Duration
	why     string
}

func (w *waiting) len() int { return len(w.activeQ) + w.count }

func (w *waiting) add(b comeback) {
	w.number++
	b.number = w.number
	at := len(w.activeQ)
	for at > 0 && w.activeQ[at-1].compare(&b) > 0 {
		at--
	}
	w.activeQ = slices.Insert(w.activeQ, at, b)
}

// compare orders pods by when they are created, and those of one instant by priority.
func (b *comeback) compare(other *comeback) int {
	if earlier := cmp.Compare(b.at+b.wait, other.at+other.wait); earlier != 0 {
		return earlier
	}
	return cmp.Or(b.higher(other), cmp.Compare(b.rank, other.rank))
}

// higher orders pods by priority, the highest first.
func (b *comeback) higher(other *comeback) int {
	return cmp.Compare(other.spec.Spec.Priority(), b.spec.Spec.Priority())
}

// refuse queues a pod behind those that are alike.
func (w *waiting) refuse(a placement.Alike, minds bool, state int, b comeback) *queue {
	q := w.unschedulable[a]
	if q == nil {
		q = &queue{Alike: a, minds: minds, state: state}
		w.unschedulable[a] = q
		if q.dependent() {
			w.minding++
		}
	}
	q.pods = append(q.pods, b)
	w.count++
	return q
}

// queues returns the queues of unschedulable pods: those of the highest priority first, and of these the one whose first pod has
// waited longest.
func (w *waiting) queues() []*queue { return slices.SortedFunc(maps.Values(w.unschedulable), byFirst) }

func byFirst(a, b *queue) int {
	first, other := &a.pods[0], &b.pods[0]
	return cmp.Or(first.higher(other), cmp.Compare(first.number, other.number))
}

// served removes the first pod of the first queue, and puts the queue where it belongs then.
func (w *waiting) served(all []*queue) (left []*queue) {
	q, rest := all[0], all[1:]
	q.pods = q.pods[1:]
	w.count--
	if len(q.pods) == 0 {
		w.drop(q.Alike)
		return rest
	}
	at, _ := slices.BinarySearchFunc(rest, q, byFirst)
	copy(all, rest[:at])
	all[at] = q
	return all
}

// drop removes an empty queue.
func (w *waiting) drop(a placement.Alike) {
	if w.unschedulable[a].dependent() {
		w.minding--
	}
	delete(w.unschedulable, a)
}

// forget drops pods that nobody waits for any more.
func (c *cluster) forget(which func(comeback) bool) {
	w := &c.waiting
	dropped := func(b comeback) bool {
		is := which(b)
		if is {
			delete(c.unboundKeys, b.key)
			c.misses(b.spec, -1)
		}
		return is
	}
	w.activeQ = slices.DeleteFunc(w.activeQ, dropped)
	for a, q := range w.unschedulable {
		before := len(q.pods)
		q.pods = slices.DeleteFunc(q.pods, dropped)
		w.count -= before - len(q.pods)
		if len(q.pods) == 0 {
			w.drop(a)
		}
	}
}

// dependent says whether the pods may find a node although none has improved.
func (q *queue) dependent() bool {
	return q.minds || q.Depends()
}

// moved says whether they may find one now.
func (c *cluster) moved(q *queue) bool {
	return q.minds || q.state != c.filters.StateOf(&q.pods[0].spec.Spec)
}

// returns is the moment when a pod's controller replaces it.
type returns int

const (
	notAtAll returns = iota
	whenDeleted
	whenGone
)

// returns derives the moment from the kind of owner. A bare pod does not come back. Pods of DaemonSets and mirror pods
// belong to their nodes. A StatefulSet reuses the pod's name, so the old pod must be gone first.
func (s *podSpec) returns() returns {
	switch {
	case s.Mirror:
		return notAtAll
	case s.OwnerKind == "" || s.OwnerKind == "DaemonSet" || s.OwnerKind == "Node":
		return notAtAll
	case s.OwnerKind == "StatefulSet":
		return whenGone
	default:
		return whenDeleted
	}
}

// misses counts pods that wait to be on a node, or no longer do.
func (c *cluster) misses(s *podSpec, by int) {
	if !s.ofDaemonSet() {
		c.stats.lacks(c.now(), whole*by)
	}
}

// standStill makes up for an outage of the API: what pods wait for did not go on while nobody could work on it.
func (c *cluster) standStill(since int64) {
	now, waiting := c.now(), c.waiting.activeQ
	for i := range waiting {
		waiting[i].wait += now - max(waiting[i].at, since)
	}
	slices.SortStableFunc(waiting, func(a, b comeback) int { return a.compare(&b) })
	c.setController.Each(func(b *comeback) { b.wait += now - max(b.at, since) })
}
