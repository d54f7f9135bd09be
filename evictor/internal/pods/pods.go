package pods

import (
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/internal/earliest"
	"github.com/evictkit/evictkit/taints"
)

// Pods holds the pods of all nodes from which pods may be evicted, and those that were evicted but that the store still
// shows. It is the only record of these, so no pod is evicted twice for whatever reasons.
type Pods struct {
	// Ahead is how far the times passed in are ahead of the clock, by which the API's times are set. It only grows.
	Ahead time.Duration
	// Kicks counts the calls of AskAgain.
	Kicks int

	matcher  taints.Matcher
	own      func(*v1.Taint) bool
	by       By
	known    map[Key]*pod
	evicting map[Key]bool // in flight
	evicted  map[Key]Ref  // the store does not show that yet
	refusing Refusing
	withheld map[Key]*withheld
	deadline earliest.Of // of the armed evictions
	todo     []Action    // since the last Todo
}

// By says what evicts pods. By the zero By nothing does.
type By struct {
	Taints   bool // NoExecute taints; our own only while Ours.Evict
	Emptying bool // while Ours.Evict, that the node is being emptied, whatever they tolerate
}

// Node is what is remembered of a node for its pods.
type Node struct {
	Name   string // set once
	taints Seen
	ours   bool         // Ours.Evict as of the last round
	since  time.Time    // when ours last became true
	stale  bool         // something has changed since the last round
	pods   map[Key]*pod // empty if nothing evicts

	found  bool // since its last recovery, a pod was armed or spared
	spared map[types.UID]bool
	outage int // how often it has recovered
}

// pod is a pod on a node from which pods are evicted, or one that leaves with such a pod. It is known until it is gone,
// replaced or no longer bound there, or nothing evicts it any more. Either both Pods.known and Node.pods have it, or neither.
type pod struct {
	ref      Ref
	node     *Node
	version  uint64    // of the object last seen
	bound    time.Time // when it was bound, or when the node was tainted if it was there before
	eviction *Eviction // nil while it may stay
	overdue  bool      // its eviction became due while evictions by our own taints were not permitted
}

// Ours says whether we evict from a node at the moment, by our own taints or because it is being emptied. If not, Why says
// why. Settling means that this is temporary: if the node's taints are gone, that is the better reason to report.
type Ours struct {
	Evict, Settling bool
	Why             string
}

// New returns Pods that know no pod yet. own says which taints are set because of our verdict.
func New(by By, matcher taints.Matcher, own func(*v1.Taint) bool) Pods {
	ours := func(t *v1.Taint) bool { return t == &emptying || own(t) }
	return Pods{
		by: by, matcher: matcher, own: ours,
		known: make(map[Key]*pod), evicting: make(map[Key]bool), evicted: make(map[Key]Ref),
		refusing: Refusing{until: make(map[Group]time.Time)}, withheld: make(map[Key]*withheld),
	}
}

// Observe records the node's taints. running says that the evictor was already at work, so that changes were seen live.
func (p *Pods) Observe(n *Node, object *v1.Node, running bool, now time.Time) {
	seen, changed := n.taints.Observe(object, running, p.own, now, p.Ahead)
	n.taints, n.stale = seen, n.stale || changed
}

// evictsFrom says whether anything may evict pods from the node.
func (p *Pods) evictsFrom(n *Node) bool {
	return n != nil && (p.by.Taints && len(n.taints) > 0 || p.by.Emptying && n.ours)
}

// Outage is Seen.Outage for the node.
func (p *Pods) Outage(n *Node, have []v1.Taint) *metav1.Time {
	return n.taints.Outage(have, p.own, p.Ahead)
}

// Shown records what the store shows in a slot, nil for nothing, and decides when, if at all, the pod is evicted from its
// node n, which is nil if unknown. news is false, and nothing changes, if a newer version was seen before.
//
// running says that the evictor was already at work. All pods of a tainted node are known, so a new one has then just been
// bound.
func (p *Pods) Shown(key Key, object *v1.Pod, n *Node, running bool, ours Ours, now time.Time) (news bool) {
	known := p.known[key]
	if known != nil && known.newer(object) {
		return false
	}
	if known != nil && (object == nil || object.UID != known.ref.UID || object.Spec.NodeName != known.ref.Node) {
		p.forget(known, "") // its eviction must not hit the pod that has its name now
		known = nil
	}
	if w := p.withheld[key]; w != nil && (object == nil || object.UID != w.ref.UID) {
		delete(p.withheld, key)
	}
	switch {
	case object == nil:
		delete(p.evicted, key)
	case !p.evictsFrom(n) && !known.leaves():
		p.WasEvicted(object)
	case known == nil:
		known = p.know(RefOf(object), n, now)
		if !running {
			known.bound = boundAt(object, now.Add(-p.Ahead)).Add(p.Ahead)
		}
		fallthrough
	default:
		known.version = version(object)
		p.decide(known, object, ours, now)
	}
	return true
}

func (p *Pods) know(ref Ref, n *Node, now time.Time) *pod {
	known := &pod{ref: ref, node: n, bound: now}
	if n.pods == nil {
		n.pods = make(map[Key]*pod)
	}
	n.pods[ref.Key], p.known[ref.Key] = known, known
	return known
}

// newer says whether the known version of the pod is newer than the object.
func (known *pod) newer(object *v1.Pod) bool {
	v := version(object)
	return v != 0 && v < known.version
}

// Anew begins a round if one is needed: the node's taints have changed, or whether we evict, so every pod on it must be
// decided about. If needed, the owner calls Shown for each pod that the store shows on the node, provided some is true, and
// then EndRound.
func (p *Pods) Anew(n *Node, ours Ours, now time.Time) (needed, some bool) {
	if p.by == (By{}) || ours.Evict == n.ours && !n.stale {
		return false, false
	}
	if ours.Evict && !n.ours {
		n.since = now
	}
	n.ours, n.stale = ours.Evict, true // stale until EndRound, because the store may panic
	return true, p.evictsFrom(n)
}

// EndRound ends a round. Once nothing evicts from the node any more, its pods are forgotten. Otherwise a pod that the round
// did not meet stays known until its slot is seen empty or taken: a store that went back may show an older version of
// it, or an earlier pod of its name, on another node.
func (p *Pods) EndRound(n *Node, ours Ours) {
	if !p.evictsFrom(n) {
		for _, known := range n.sorted() {
			if !known.leaves() {
				p.forget(known, p.reason(known.eviction, ours, n.ours))
			}
		}
	}
	n.stale = false
}

// Remove forgets a node that is gone, or replaced by another of its name. If it was replaced, the pods evicted from it are
// still remembered, because a store that lags may show them on the new node. Its evictions are cancelled without a report.
func (p *Pods) Remove(n *Node, replaced bool) {
	for _, known := range n.sorted() {
		p.forget(known, "")
	}
	maps.DeleteFunc(p.withheld, func(_ Key, w *withheld) bool { return w.ref.Node == n.Name })
	if !replaced {
		maps.DeleteFunc(p.evicted, func(_ Key, was Ref) bool { return was.Node == n.Name })
	}
}

// Begin admits an eviction of the pod, unless another in its slot is in flight. If it returns true, End must follow.
func (p *Pods) Begin(ref Ref) bool {
	busy := p.evicting[ref.Key]
	p.evicting[ref.Key] = true
	return !busy
}

// End ends what Begin began; done says that the pod was evicted.
func (p *Pods) End(ref Ref, done bool) {
	delete(p.evicting, ref.Key)
	if done {
		p.evicted[ref.Key] = ref
	}
}

// WasEvicted says whether the pod was evicted although this object does not show it terminating. Once the store shows it
// terminating, or another UID in its slot, that is forgotten.
func (p *Pods) WasEvicted(object *v1.Pod) bool {
	ref := RefOf(object)
	was, ok := p.evicted[ref.Key]
	if ok && (object.DeletionTimestamp != nil || was.UID != ref.UID) {
		delete(p.evicted, ref.Key)
		return false
	}
	return ok
}

// Armed returns the armed evictions from the node, sorted by pod: all for 0, otherwise those held back by from or a delay
// that comes after it in the list.
func (n *Node) Armed(from Delay) (armed []*Eviction) {
	for _, known := range n.sorted() {
		if ev := known.eviction; ev != nil && ev.delayed >= from {
			armed = append(armed, ev)
		}
	}
	return armed
}

// spares says whether a pod stays on a node that is being emptied, and was not yet reported to stay.
func (n *Node) spares(object *v1.Pod) bool {
	if n.spared[object.UID] || SparedWithoutTaints(object) == "" {
		return false
	}
	if n.spared == nil {
		n.spared = make(map[types.UID]bool)
	}
	n.found, n.spared[object.UID] = true, true
	return true
}

// Recovered is called when the node is Ready again.
func (n *Node) Recovered() { n.found, n.spared, n.outage = false, nil, n.outage+1 }

// Emptied is how far the emptying of a node is.
type Emptied uint8

// How far the emptying of a node is.
const (
	NotYet Emptied = iota // some pods were not tried yet
	Failed                // all were tried, and some evictions failed
	Done                  // only spared pods, and pods whose eviction was refused, are left
	NoPods                // there was no pod to evict or spare
)

// Emptied returns how far the emptying of the node is.
func (n *Node) Emptied() Emptied {
	far := NoPods
	if n.found {
		far = Done
	}
	for _, known := range n.pods {
		switch ev := known.eviction; {
		case ev == nil || ev.aside || !ev.Emptying():
		case ev.failed:
			far = Failed
		default:
			return NotYet
		}
	}
	if !n.ours {
		return NotYet
	}
	return far
}

// First returns the earliest deadline of all armed evictions. Its cost does not grow with their number.
func (p *Pods) First() (first time.Time, ok bool) { return p.deadline.First() }

func (n *Node) sorted() []*pod {
	return slices.SortedFunc(maps.Values(n.pods), func(a, b *pod) int { return a.ref.compare(b.ref.Key) })
}

func (p *Pods) forget(known *pod, reason string) {
	p.cancel(known, reason)
	delete(known.node.pods, known.ref.Key)
	delete(p.known, known.ref.Key)
}
