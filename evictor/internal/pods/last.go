package pods

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// Try is what becomes of an eviction that is tried.
type Try struct {
	Outcome Outcome
	Answer       // for how long to wait and why, and why the pod has to leave, as of now
	News    bool // something else held it back before, and now it is not only the turn
	Reason  string
	// Refused and Conflicts are how often the API server refused it or found it old, and Group with whom it may be refused.
	Refused, Conflicts int
	Group              Group
	// Round: the node's other pods have to be decided upon too, and no event may tell.
	Round bool
}

// Outcome is one of those that follow.
type Outcome uint8

// What becomes of a try.
const (
	Gone    Outcome = iota // the pod is, or is going
	Dropped                // nothing evicts it any more, for that Reason
	Wait                   // not now
	Apart                  // it waits with those that were refused: it belongs with one of them
	Proceed                // the pod is to be evicted; Begin was asked
)

// Check is the last check: object is what the store shows of the pod now, nil for nothing, and shown says that it shows the node as it
// is. apart says that the eviction waits with those that were refused already. Begin has been asked when the outcome is Proceed.
func (p *Pods) Check(ev *Eviction, object *v1.Pod, shown, apart bool, ours Ours, permits Permits, now time.Time) Try {
	known, n := ev.pod, ev.pod.node
	switch {
	case p.known[known.ref.Key] != known:
		return Try{}
	case !known.newer(object) && (!known.ref.Shows(object) || p.WasEvicted(object)):
		ev.Done()
		return Try{}
	case !known.newer(object) && Spared(object) != "":
		ev.Done()
		return Try{Outcome: Dropped, Reason: Spared(object), Answer: Answer{Why: ev.why}}
	case known.newer(object) || !shown:
		ev.delayed, n.stale = NotShown, true // the node's next event has it looked at again
		return Try{Outcome: Wait, Answer: Answer{Wait: permits.Ask, Delay: NotShown}}
	}
	n.stale = n.stale || ours.Evict != n.ours
	try := Try{Outcome: Wait, Round: n.stale, Refused: ev.refused, Conflicts: ev.conflicts, Group: GroupOf(object)}
	permits.Turn = permits.Turn && known.overdue // what falls due afterwards waits for nothing
	seen, pod := p.of(known, object)
	try.Answer = seen.Check(p.matcher, pod, p.own, ours.Evict, permits, now)
	switch {
	case try.Why.Forever:
		ev.Done()
		try.Outcome, try.Reason = Dropped, p.reason(ev, ours)
	case try.Delay == NotDue:
		ev.why.At = try.Why.At
		if ev.Armed() {
			p.deadline.Put(&ev.deadline, try.Why.At)
		}
	case !try.Evict:
		try.News = ev.delayed != try.Delay && try.Delay != Overdue
		ev.delayed = try.Delay
		known.overdue = known.overdue || try.Own && (try.Delay == MayHarm || try.Delay == Policy)
	case !apart && p.refusing.Has(try.Group, now):
		try.Outcome, ev.aside = Apart, true
	case !p.Begin(known.ref): // a try that was called off is still under way
		try.Wait = permits.Soon
	default:
		ev.delayed = 0
		try.Outcome = Proceed
	}
	return try
}

// Refused notes that the API server refused an eviction of that group, which is not tried again until then.
func (p *Pods) Refused(ev *Eviction, group Group, until, now time.Time) {
	ev.refused, ev.aside = ev.refused+1, true
	p.refusing.Add(group, until, now)
}

// maxConflicts is how often a pod whose node has its turn may be read again after a conflict.
const maxConflicts = 5

// Conflicted notes that the API server found what was known of the pod old.
func (ev *Eviction) Conflicted() {
	ev.conflicts++
	ev.failed = ev.failed || ev.conflicts > maxConflicts
}
