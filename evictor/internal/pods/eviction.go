package pods

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/internal/earliest"
	"github.com/evictkit/evictkit/taints"
)

// Eviction is an eviction that is armed, or was. Only this package changes it.
type Eviction struct {
	pod       *pod
	why       taints.Deadline // never Forever
	decided   time.Time       // when why was decided
	delayed   Delay           // what last held it back; 0 means nothing
	refused   int             // how often the API server refused it
	aside     bool            // it is among the refused evictions
	failed    bool            // a try failed, and there will be another
	conflicts int
	group     *group       // that it leaves with, nil for none; then it is not called off
	deadline  earliest.One // in Pods.deadline while it is armed
}

// Action is something that the owner must do; actions are done in order.
type Action struct {
	Do       Do
	Pod      Ref
	Eviction *Eviction // nil for Cancel and Spare
	Reason   string    // of Cancel and Spare; empty means not to report it
}

// Do is the kind of an Action.
type Do uint8

// What to do about an eviction.
const (
	Arm    Do = iota + 1 // schedule it for its deadline, and report it
	Move                 // schedule it for another deadline, and report it
	Retry                // try it now: what it waits for may be over
	Cancel               // cancel it
	Spare                // report that the pod stays
)

// Todo returns the actions since its last call. The list is valid until something else is decided.
func (p *Pods) Todo() []Action {
	todo := p.todo
	p.todo = p.todo[:0]
	return todo
}

// Pod returns the pod, Node included.
func (ev *Eviction) Pod() Ref { return ev.pod.ref }

// Why returns why and when the pod must leave, and when that was decided.
func (ev *Eviction) Why() (why taints.Deadline, decided time.Time) { return ev.why, ev.decided }

// Armed says whether it is still armed.
func (ev *Eviction) Armed() bool { return ev.pod.eviction == ev }

// Done disarms the eviction: the pod was evicted, or need not be any more. It does nothing if the eviction is not armed.
func (p *Pods) Done(ev *Eviction) {
	if ev.Armed() {
		ev.pod.eviction = nil
		ev.deadline.Leave()
		p.leftGroup(ev)
	}
}

// Emptying says whether it exists because its node is being emptied. Such evictions are not reported when armed.
func (ev *Eviction) Emptying() bool {
	_, member := ev.GoesWith()
	return Emptying(ev.why) && !member
}

// Emptying says whether why is that a node is being emptied.
func Emptying(why taints.Deadline) bool { return why.Taint == &emptying }

// Failed records that a try failed, and that there will be another.
func (ev *Eviction) Failed() { ev.failed = true }

// decide says when, if at all, the pod is to be evicted.
func (p *Pods) decide(known *pod, object *v1.Pod, ours Ours, now time.Time) {
	ev := known.eviction
	seen, pod := p.of(known, object)
	why := seen.Deadline(p.matcher, pod, p.own, known.node.ours)
	switch {
	case p.WasEvicted(object):
	case object.DeletionTimestamp != nil: // it goes anyway: cancel without a report
		p.cancel(known, "")
	case ev != nil && ev.group != nil: // it leaves, whatever has changed
	case p.by.Emptying && known.node.ours && known.node.spares(object):
		p.todo = append(p.todo, Action{Do: Spare, Pod: known.ref, Reason: SparedWithoutTaints(object)})
		p.decide(known, object, ours, now) // taints of others may still evict it
	case ev == nil && (why.Forever || Spared(object) != ""):
	case ev == nil:
		known.eviction, known.node.found = &Eviction{pod: known}, true
		p.arm(Arm, known.eviction, why, now)
	case Spared(object) != "":
		p.cancel(known, Spared(object))
	case why.Forever:
		p.cancel(known, p.reason(ev, ours, known.node.ours))
	case !ev.same(why, now):
		p.arm(Move, ev, why, now)
	case ev.delayed == NotShown || ev.delayed == NotSettled:
		// The node's new state, or a taint of others, may permit it now. An eviction held back by anything else keeps waiting.
		p.todo = append(p.todo, Action{Do: Retry, Pod: known.ref, Eviction: ev})
	}
}

// of returns what the pod's evictions are decided from: the taints of its node, if they can evict, and the pod.
func (p *Pods) of(known *pod, object *v1.Pod) (Seen, Pod) {
	n, pod := known.node, Pod{Bound: known.bound, Tolerations: object.Spec.Tolerations}
	if p.by.Emptying && SparedWithoutTaints(object) == "" {
		pod.Emptied = n.since
		if known.bound.After(n.since) {
			pod.Emptied = known.bound
		}
	}
	if !p.by.Taints {
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

// same says whether the decision is unchanged. Two deadlines that have both passed count as equal.
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
		p.Done(ev)
	}
	p.todo = append(p.todo, Action{Do: Cancel, Pod: known.ref, Reason: reason})
}

// reason returns why an eviction is no longer wanted: what became of its taint. evict says whether the decision took our
// own taints as evicting.
func (p *Pods) reason(ev *Eviction, ours Ours, evict bool) string {
	switch {
	case ev == nil || ev.Emptying():
		return ""
	case p.own(ev.why.Taint) && !evict && !ours.Evict && (!ours.Settling || len(ev.pod.node.taints) > 0):
		return ours.Why
	case ev.pod.node.taints.Has(ev.why.Taint, p.own):
		return "Tolerated"
	}
	return "TaintRemoved"
}
