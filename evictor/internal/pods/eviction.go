package pods

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/taints"
)

// Eviction is one that is armed, or was. Only Pods changes it.
type Eviction struct {
	pod       *pod
	why       Why
	due       time.Time // its deadline
	decided   time.Time // when that was
	delayed   Delay     // what held it back last; 0 for nothing
	refused   int       // how often the API server refused it
	conflicts int
}

// Why is what an eviction follows from: a taint, without its TimeAdded, the toleration that is used for it, -1 for none, and for how
// long that holds.
type Why struct {
	Taint      v1.Taint
	Own        bool
	Toleration int
	Tolerated  time.Duration
}

// Action is what the owner has to do, in order.
type Action struct {
	Do       Do
	Pod      Ref
	Eviction *Eviction // nil for Cancel
	Reason   string    // of Cancel; empty when it is not told
}

// Do is one of those that follow.
type Do uint8

// What to do about an eviction.
const (
	Arm    Do = iota + 1 // have it tried when it is due, and tell
	Move                 // the same, of one that is armed
	Retry                // have it tried now: what it waits for may be over
	Cancel               // have it tried no more
)

// Pod is which one, Node included.
func (ev *Eviction) Pod() Ref { return ev.pod.ref }

// Plan is why and when it falls due, and when that was decided.
func (ev *Eviction) Plan() (why Why, due, decided time.Time) { return ev.why, ev.due, ev.decided }

// Armed says whether it still is.
func (ev *Eviction) Armed() bool { return ev.pod.eviction == ev }

// Done notes that nothing evicts the pod any more, if it is this one that did: it was evicted, or is gone.
func (ev *Eviction) Done() {
	if ev.Armed() {
		ev.pod.eviction = nil
	}
}

// arm arms the eviction of a pod, or moves it when something has changed.
func (p *Pods) arm(known *pod, why Why, due, now time.Time) {
	do := Move
	ev := known.eviction
	if ev != nil && ev.why == why && (ev.due.Equal(due) || !ev.due.After(now) && !due.After(now)) {
		// When it is tried next is another matter: it may wait for its backoff. But if it waits for its node to be shown or watched,
		// a look at the node or a taint of others may let it go now.
		if ev.delayed != NotShown && ev.delayed != NotSettled {
			return
		}
		do = Retry
	} else {
		if ev == nil {
			do, ev = Arm, &Eviction{pod: known}
			known.eviction = ev
		}
		ev.why, ev.due, ev.decided, ev.delayed = why, due, now, 0
	}
	p.todo = append(p.todo, Action{Do: do, Pod: known.ref, Eviction: ev})
}

// unarm is cancel where something is armed.
func (p *Pods) unarm(known *pod, reason string) {
	if known.eviction != nil {
		p.cancel(known, reason)
	}
}

func (p *Pods) cancel(known *pod, reason string) {
	known.eviction = nil
	p.todo = append(p.todo, Action{Do: Cancel, Pod: known.ref, Reason: reason})
}

func (p *Pods) whyOf(d taints.Deadline) Why {
	why := Why{Taint: *d.Taint, Own: p.config.Own(d.Taint), Toleration: d.Toleration, Tolerated: d.For}
	why.Taint.TimeAdded = nil // two are the same, or not, without it
	return why
}

// reason is why an eviction is not wanted any more: what became of its taint.
func (p *Pods) reason(ev *Eviction, ours Ours) string {
	if ev == nil {
		return ""
	}
	n := ev.pod.node
	switch {
	case ev.why.Own && !n.ours && !ours.Evict && (!ours.Settling || n.Tainted()):
		return ours.Why
	case n.taints.Has(&ev.why.Taint, p.config.Own):
		return "Tolerated"
	}
	return "TaintRemoved"
}

// asked is what a deadline of the pod is decided from.
func (known *pod) asked(object *v1.Pod) Pod {
	return Pod{Bound: known.bound, Tolerations: object.Spec.Tolerations}
}
