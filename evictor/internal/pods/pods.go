package pods

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/internal/earliest"
	"github.com/evictkit/evictkit/taints"
)

// Pods are the pods of all nodes with NoExecute taints, and those of any node that were evicted and still seem to be there.
type Pods struct {
	// Ahead is by how much the times that are passed in are ahead of the clock, by which instants of the API are told. It only grows.
	Ahead time.Duration

	matcher  taints.Matcher
	own      func(*v1.Taint) bool
	half     Half
	known    map[Key]*pod
	evicted  Evicted[Key]
	refusing Refusing
	deadline earliest.Of // of the evictions that are armed
	todo     []Action    // since the last Todo
}

// Half says what evicts pods.
type Half uint8

// The halves.
const (
	ByTaints   Half = iota // NoExecute taints, our own while Ours.Evict
	ByEmptying             // others' taints, and while Ours.Evict their node is being emptied, whatever they tolerate
	Alone                  // nothing but that their node is being emptied: taints are somebody else's
	Nothing
)

// Node is what is remembered of a node for its pods' sake.
type Node struct {
	Name   string // set once
	taints Seen
	ours   bool         // we evict from it, as of the last round
	since  time.Time    // when that began
	stale  bool         // something has changed since then
	round  int          // how often all pods were decided upon
	pods   map[Key]*pod // where nothing evicts there is none

	found  bool // a pod was to be evicted since it recovered last, or spared
	spared map[types.UID]struct{}
}

// pod is one on a node from which pods are evicted. It is known until it is gone, another or not bound there, or nothing evicts from
// the node any more: Pods.known and Node.pods of its node have it, or neither.
type pod struct {
	ref      Ref
	node     *Node
	version  uint64    // of the object that was seen last
	bound    time.Time // or, if it was there before, when the node was tainted
	round    int       // of its node, in which it was seen last
	eviction *Eviction // nil while it may stay
	overdue  bool      // its eviction fell due while those by our own taints were not permitted
}

// Ours says whether we evict from a node at the moment: by our own taints, or because it is being emptied. If not, Why says why, and
// Settling that it is only for a while: that its taints are gone is the better reason then.
type Ours struct {
	Evict, Settling bool
	Why             string
}

// New returns Pods that know of none. own says which taints evict because of our verdict.
func New(half Half, matcher taints.Matcher, own func(*v1.Taint) bool) Pods {
	ours := func(t *v1.Taint) bool { return t == &emptying || own(t) }
	return Pods{half: half, matcher: matcher, own: ours, known: make(map[Key]*pod)}
}

// Observe takes over the node's taints. watched says whether it was there before, or seen to come.
func (p *Pods) Observe(n *Node, object *v1.Node, watched bool, now time.Time) {
	seen, changed := n.taints.Observe(object, watched, p.own, now, p.Ahead)
	n.taints, n.stale = seen, n.stale || changed
}

// evictsFrom says whether anything may evict pods from the node.
func (p *Pods) evictsFrom(n *Node) bool {
	switch {
	case n == nil || p.half == Nothing:
		return false
	case n.ours && p.half != ByTaints:
		return true
	}
	return len(n.taints) > 0 && p.half != Alone
}

// Outage is Seen.Outage of the node.
func (p *Pods) Outage(n *Node, have []v1.Taint) *metav1.Time {
	return n.taints.Outage(have, p.own, p.Ahead)
}

// Shown takes over what the store shows in a slot, nil for nothing, and says when, if at all, the pod is to be evicted from its node,
// nil where that is not known. It is no news when something newer was seen there before, and has to be ignored.
//
// watched says whether pods that come are seen to: all pods of a tainted node are known, so that one more has just come then.
func (p *Pods) Shown(key Key, object *v1.Pod, n *Node, watched bool, ours Ours, now time.Time) (news bool) {
	known := p.known[key]
	if known != nil && known.newer(object) {
		known.round = known.node.round
		return false
	}
	if known != nil && (object == nil || object.UID != known.ref.UID || object.Spec.NodeName != known.ref.Node) {
		p.forget(known, "") // what was armed for it must not hit the next one
		known = nil
	}
	switch {
	case object == nil:
		p.evicted.Shown(key)
	case !p.evictsFrom(n):
		p.WasEvicted(object)
	case known == nil:
		known = &pod{ref: RefOf(object), node: n, bound: now}
		if !watched {
			known.bound = boundAt(object, now.Add(-p.Ahead)).Add(p.Ahead)
		}
		if n.pods == nil {
			n.pods = make(map[Key]*pod)
		}
		n.pods[key], p.known[key] = known, known
		fallthrough
	default:
		known.version, known.round = version(object), n.round
		p.decide(known, object, ours, now)
	}
	return true
}

// newer says whether a newer version of the pod is known than this one.
func (known *pod) newer(object *v1.Pod) bool {
	v := version(object)
	return v != 0 && v < known.version
}

// Anew begins a round, if one is needed: every pod of the node is to be decided upon, because its taints changed or whether we evict.
// Where some says so the pods that the store shows on the node follow, then EndRound.
func (p *Pods) Anew(n *Node, ours Ours, now time.Time) (needed, some bool) {
	if p.half == Nothing || ours.Evict == n.ours && !n.stale {
		return false, false
	}
	if ours.Evict && !n.ours {
		n.since = now
	}
	n.ours, n.stale = ours.Evict, true // until it is done: a store may panic
	n.round++
	return true, p.evictsFrom(n)
}

// EndRound forgets the pods that the round did not come across: they are gone, or were let off with the node's taints.
func (p *Pods) EndRound(n *Node, ours Ours) {
	for _, known := range n.which(func(known *pod) bool { return known.round != n.round }) {
		reason := ""
		if !p.evictsFrom(n) {
			reason = p.reason(known.eviction, ours)
		}
		p.forget(known, reason)
	}
	n.stale = false
}

// Remove forgets a node that is gone, or whose name another one has: then whom it evicted is still known, for a store that lags shows
// these pods on the other. Its pods are not ours to evict, which goes without saying.
func (p *Pods) Remove(n *Node, replaced bool) {
	for _, known := range n.which(func(*pod) bool { return true }) {
		p.forget(known, "")
	}
	if !replaced {
		p.evicted.Forget(n.Name)
	}
}

// Begin says whether the pod of that slot may be evicted now, and not while somebody else is about it. End must follow.
func (p *Pods) Begin(ref Ref) bool { return p.evicted.Begin(ref.Key) }

// End ends what Begin began; done says that the pod was evicted.
func (p *Pods) End(ref Ref, done bool) { p.evicted.End(ref.Key, ref.UID, ref.Node, done) }

// WasEvicted says whether the pod was evicted, though this object of it does not show it to go.
func (p *Pods) WasEvicted(object *v1.Pod) bool {
	return p.evicted.Has(RefOf(object).Key, object.UID, object.DeletionTimestamp != nil)
}

// Armed are the evictions from the node, in the order of the pods' names: all for 0, or those that are held back for that reason
// or a later one of the list.
func (n *Node) Armed(from Delay) (armed []*Eviction) {
	for _, known := range n.which(func(known *pod) bool { return known.eviction != nil && known.eviction.delayed >= from }) {
		armed = append(armed, known.eviction)
	}
	return armed
}

// spares notes that a pod stays on a node that is being emptied, if it does, and says whether that is new.
func (n *Node) spares(object *v1.Pod) bool {
	if _, told := n.spared[object.UID]; told || SparedWithoutTaints(object) == "" {
		return false
	}
	if n.spared == nil {
		n.spared = make(map[types.UID]struct{})
	}
	n.found, n.spared[object.UID] = true, struct{}{}
	return true
}

// Recovered is told that the node is Ready again.
func (n *Node) Recovered() { n.found, n.spared = false, nil }

// Emptied is how far a node is whose pods are evicted because it is being emptied.
type Emptied uint8

// How far a node is.
const (
	NotYet Emptied = iota // some were not tried yet
	Failed                // all were, and some evictions could not be had
	Done                  // nobody is left but those that are spared or refused
	NoPods                // nor was there one
)

// Emptied says how far the node is.
func (n *Node) Emptied() Emptied {
	left := n.which(func(known *pod) bool {
		return known.eviction != nil && known.eviction.Emptying() && !known.eviction.aside
	})
	switch {
	case !n.ours || slices.ContainsFunc(left, func(known *pod) bool { return !known.eviction.failed }):
		return NotYet
	case len(left) > 0:
		return Failed
	case n.found:
		return Done
	}
	return NoPods
}

// First is the earliest deadline of all. It costs nothing that grows.
func (p *Pods) First() (first time.Time, ok bool) { return p.deadline.First() }

func (n *Node) which(wanted func(*pod) bool) (list []*pod) {
	for _, known := range n.pods {
		if wanted(known) {
			list = append(list, known)
		}
	}
	slices.SortFunc(list, func(a, b *pod) int { return a.ref.compare(b.ref.Key) })
	return list
}

func (p *Pods) forget(known *pod, reason string) {
	p.cancel(known, reason)
	delete(known.node.pods, known.ref.Key)
	delete(p.known, known.ref.Key)
}
