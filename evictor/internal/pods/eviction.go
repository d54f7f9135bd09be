package pods

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/internal/earliest"
	"github.com/evictkit/evictkit/taints"
)

// Eviction is one that is armed, or was. Only Pods changes it.
type Eviction struct {
	pod       *pod
	why       taints.Deadline // never Forever
	decided   time.Time       // when that was
	delayed   Delay           // what held it back last; 0 for nothing
	refused   int             // how often the API server refused it
	aside     bool            // it waits with those that were refused
	failed    bool            // it could not be had, and will be tried again
	conflicts int
	deadline  earliest.One // in Pods.deadline while it is armed
}

// Action is what the owner has to do, in order.
type Action struct {
	Do       Do
	Pod      Ref
	Eviction *Eviction // nil for Cancel and Spare
	Reason   string    // of these; empty when it is not told
}

// Do is one of those that follow.
type Do uint8

// What to do about an eviction.
const (
	Arm    Do = iota + 1 // have it tried when it is due, and tell
	Move                 // the same, of one that is armed
	Retry                // have it tried now: what it waits for may be over
	Cancel               // have it tried no more
	Spare                // tell that it stays
)

// Todo takes what was decided since it was asked last. The list is valid until something else is decided.
func (p *Pods) Todo() []Action {
	todo := p.todo
	p.todo = p.todo[:0]
	return todo
}

// Pod is which one, Node included.
func (ev *Eviction) Pod() Ref { return ev.pod.ref }

// Why is what the pod has to leave for and when, and when that was decided.
func (ev *Eviction) Why() (why taints.Deadline, decided time.Time) { return ev.why, ev.decided }

// Armed says whether it still is.
func (ev *Eviction) Armed() bool { return ev.pod.eviction == ev }

// Done notes that nothing evicts the pod any more, if it is this one that did: it was evicted, or is gone.
func (ev *Eviction) Done() {
	if ev.Armed() {
		ev.pod.eviction = nil
		ev.deadline.Leave()
	}
}

// Emptying says whether it is one because its node is being emptied, which nobody was told of.
func (ev *Eviction) Emptying() bool { return Emptying(ev.why) }

// Emptying says the same of what a pod has to leave for.
func Emptying(why taints.Deadline) bool { return why.Taint == &emptying }

// Failed notes that the eviction could not be had, and will be tried again.
func (ev *Eviction) Failed() { ev.failed = true }

// decide says when, if at all, the pod is to be evicted.
func (p *Pods) decide(known *pod, object *v1.Pod, ours Ours, now time.Time) {
	ev := known.eviction
	seen, pod := p.of(known, object)
	why := seen.Deadline(p.matcher, pod, p.own, known.node.ours)
	switch {
	case p.WasEvicted(object):
	case object.DeletionTimestamp != nil: // nothing to decide, and no cancellation to report
		p.cancel(known, "")
	case known.node.ours && p.half != ByTaints && known.node.spares(object):
		p.todo = append(p.todo, Action{Do: Spare, Pod: known.ref, Reason: SparedWithoutTaints(object)})
		p.decide(known, object, ours, now) // taints of others may evict it all the same
	case ev == nil && (why.Forever || Spared(object) != ""):
	case ev == nil:
		known.eviction, known.node.found = &Eviction{pod: known}, true
		p.arm(Arm, known.eviction, why, now)
	case Spared(object) != "":
		p.cancel(known, Spared(object))
	case why.Forever:
		p.cancel(known, p.reason(ev, ours))
	case !ev.same(why, now):
		p.arm(Move, ev, why, now)
	case ev.delayed == NotShown || ev.delayed == NotSettled:
		// A look at the node or a taint of others may let it go now. Else it may wait for its backoff, and goes on to.
		p.todo = append(p.todo, Action{Do: Retry, Pod: known.ref, Eviction: ev})
	}
}

// of is what the pod's evictions are decided from, with the taints of its node that evict.
func (p *Pods) of(known *pod, object *v1.Pod) (Seen, Pod) {
	n, pod := known.node, Pod{Bound: known.bound, Tolerations: object.Spec.Tolerations}
	if p.half != ByTaints && SparedWithoutTaints(object) == "" {
		pod.Emptied = n.since
		if known.bound.After(n.since) {
			pod.Emptied = known.bound
		}
	}
	if p.half == Alone {
		return nil, pod
	}
	return n.taints, pod
}

func (p *Pods) arm(do Do, ev *Eviction, why taints.Deadline, now time.Time) {
	ev.why, ev.decided, ev.delayed = why, now, 0
	p.deadline.Put(&ev.deadline, why.At)
	ev.pod.overdue = ev.pod.overdue && !why.At.After(now)
	p.todo = append(p.todo, Action{Do: do, Pod: ev.pod.ref, Eviction: ev})
}

// same says whether nothing is new: of what is overdue, since when does not matter.
func (ev *Eviction) same(why taints.Deadline, now time.Time) bool {
	was := ev.why
	return same(was.Taint, why.Taint) && was.Toleration == why.Toleration && was.For == why.For &&
		(was.At.Equal(why.At) || !was.At.After(now) && !why.At.After(now))
}

func (p *Pods) cancel(known *pod, reason string) {
	if ev := known.eviction; ev != nil {
		if ev.Emptying() {
			reason = ""
		}
		ev.Done()
	}
	p.todo = append(p.todo, Action{Do: Cancel, Pod: known.ref, Reason: reason})
}

// reason is why an eviction is not wanted any more: what became of its taint.
func (p *Pods) reason(ev *Eviction, ours Ours) string {
	switch {
	case ev == nil || ev.Emptying():
		return ""
	case p.own(ev.why.Taint) && !ev.pod.node.ours && !ours.Evict && (!ours.Settling || len(ev.pod.node.taints) > 0):
		return ours.Why
	case ev.pod.node.taints.Has(ev.why.Taint, p.own):
		return "Tolerated"
	}
	return "TaintRemoved"
}
