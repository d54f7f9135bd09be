package pods

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// Try is what becomes of an eviction that is tried.
type Try struct {
	Outcome Outcome
	Answer         // as of now
	News    bool   // what holds it back has changed, and is not just the turn: report it
	Reason  string // of Dropped
	// Refused and Conflicts are how often the API server refused the eviction, or answered with a conflict. Group is the
	// group of pods that a refusal applies to.
	Refused, Conflicts int
	Group              Group
	// Err is the program's refusal, if Delay is MayEvict. Refusals is how often in a row it has refused before, and Kicks is
	// Pods.Kicks.
	Err             error
	Refusals, Kicks int
	// GoesWith is the condemned pod that it goes with, if Goes. The first is the one that goes before it.
	GoesWith Ref
	Goes     bool
	first    Ref
	// Round says that the node's other pods must be decided about too; no event need come that would trigger it.
	Round bool
}

// Outcome is the outcome of a try.
type Outcome uint8

// The outcomes.
const (
	Gone    Outcome = iota // the pod is gone or going
	Dropped                // nothing evicts it any more; Reason says why
	Wait                   // not now
	Apart                  // wait, for Wait, among the refused evictions: it, or one of its group, was refused
	Ask                    // ask the program, then check again
	Proceed                // evict the pod; Begin was called
)

// Check is the last check before an eviction. object is what the store shows of the pod now, nil for nothing; shown says
// that it shows the node, not older than last seen; apart says that the eviction already waits among the refused ones. If
// the outcome is Proceed, Begin was called and End must follow.
func (p *Pods) Check(ev *Eviction, object *v1.Pod, shown, apart bool, ours Ours, permits Permits, now time.Time) Try {
	known, n := ev.pod, ev.pod.node
	switch {
	case p.known[known.ref.Key] != known:
		return Try{}
	case !known.newer(object) && (!known.ref.Shows(object) || p.WasEvicted(object)):
		p.Done(ev)
		return Try{}
	case !known.newer(object) && Spared(object) != "":
		p.Done(ev)
		with, goes := ev.GoesWith()
		return Try{Outcome: Dropped, Reason: Spared(object), Answer: Answer{Why: ev.why}, GoesWith: with, Goes: goes}
	case known.newer(object) || !shown && ev.group == nil:
		ev.delayed, n.stale = NotShown, true // so the node's next event begins a round
		return Try{Outcome: Wait, Answer: Answer{Wait: permits.Ask, Delay: NotShown}}
	}
	n.stale = n.stale || ours.Evict != n.ours
	try := Try{Outcome: Wait, Round: n.stale, Refused: ev.refused, Conflicts: ev.conflicts, Group: GroupOf(object)}
	if ev.group != nil {
		try.GoesWith, try.Goes = ev.GoesWith()
		try.Answer, permits.Unasked = ev.checkTogether(permits), false
	} else {
		permits.Turn = permits.Turn && known.overdue // pods that became due later do not wait for the turn
		seen, pod := p.of(known, object)
		try.Answer = seen.Check(p.matcher, pod, p.own, ours.Evict, permits, now)
	}
	switch {
	case try.Why.Forever:
		p.Done(ev)
		try.Outcome, try.Reason = Dropped, p.reason(ev, ours, ours.Evict)
	case try.Delay == NotDue:
		ev.why.At = try.Why.At
		if ev.Armed() {
			p.deadline.Put(&ev.deadline, try.Why.At)
		}
	case !try.Evict:
		p.held(ev, &try)
	case p.refused(ev, &try, object, apart, now):
	case permits.Unasked && !p.evicting[known.ref.Key]:
		try.Outcome, try.Refusals, try.Kicks = Ask, p.refusals(known.ref.Key), p.Kicks
	case ev.group == nil && p.company(ev, &try, permits):
	case !p.Begin(known.ref): // a try that was cancelled is still in flight
		try.Wait = permits.Soon
	default:
		ev.delayed = 0
		try.Outcome = Proceed
		delete(p.withheld, known.ref.Key)
	}
	return try
}

// refused says whether an earlier refusal, by the API server or by the program, still holds the eviction back.
func (p *Pods) refused(ev *Eviction, try *Try, object *v1.Pod, apart bool, now time.Time) bool {
	one, group, w := p.refusing.Left(only(object.UID), now), p.refusing.Left(try.Group, now), p.withholds(ev.pod, now)
	switch {
	case one > 0: // and it has been armed again or moved since
		try.Wait = one
	case !apart && group > 0:
	case ev.group == nil && w != nil:
		try.Wait, try.Delay, try.Err, try.News = w.until.Sub(now), w.by, w.err, w.tell(ev.pod.node)
		ev.delayed = w.by
	default:
		return false
	}
	if ev.aside = true; !apart {
		try.Outcome = Apart
	}
	return true
}

// held notes what holds an eviction back that is due. Unless it is just the turn, it is news once.
func (p *Pods) held(ev *Eviction, try *Try) {
	try.News = ev.delayed != try.Delay && try.Delay != Overdue && try.Delay != Together
	if ev.delayed = try.Delay; try.News {
		p.ReportAnew(ev.pod.ref.Key)
	}
	ev.pod.overdue = ev.pod.overdue || try.Own && (try.Delay == MayHarm || try.Delay == MayWrite || try.Delay == Policy)
}

// Refused records that the API server refused an eviction of that group, whose others wait until then. With asked, the API
// server named the time itself; then the pod waits until then even if its eviction is armed again.
func (p *Pods) Refused(ev *Eviction, group Group, until time.Time, asked bool, now time.Time) {
	ev.refused, ev.aside = ev.refused+1, true
	p.refusing.Add(group, until, now)
	if asked {
		p.refusing.Add(only(ev.pod.ref.UID), until, now)
	}
}

// maxConflicts is how many conflicts a try may meet before it counts as failed for its node's turn.
const maxConflicts = 5

// Conflicted records that the API server answered with a conflict.
func (ev *Eviction) Conflicted() {
	ev.conflicts++
	ev.failed = ev.failed || ev.conflicts > maxConflicts
}
