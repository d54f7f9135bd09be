package pods

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// Try is what becomes of an eviction that is tried.
type Try struct {
	Outcome Outcome
	// Wait for how long, because of Delay. It is News when something else held it back before, and it is not only the turn.
	Wait  time.Duration
	Delay Delay
	News  bool
	// Reason is why it is dropped.
	Reason string
	// Why and since when the pod has to leave, as of now.
	Why Why
	Due time.Time
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
	Dropped                // nothing evicts it any more
	Wait                   // not now
	Apart                  // it waits with those that were refused: it belongs with one of them
	Proceed                // it may go on; the pod is to be evicted once Last says so
)

// Check is the first half of the last check: what the store shows now of the pod, nil for nothing.
func (p *Pods) Check(ev *Eviction, object *v1.Pod) Try {
	known := ev.pod
	if p.known[known.ref.Key] != known {
		return Try{}
	}
	if known.newer(object) {
		return p.NotShown(ev)
	}
	if !known.ref.Shows(object) || p.WasEvicted(object) {
		ev.Done()
		return Try{}
	}
	if why := Spared(object); why != "" {
		return ev.drop(why)
	}
	return Try{Outcome: Proceed}
}

// NotShown lets an eviction wait because the store shows an older version of its pod or node, or none. The node's next event has it
// looked at again.
func (p *Pods) NotShown(ev *Eviction) Try {
	ev.delayed, ev.pod.node.stale = NotShown, true
	return Try{Outcome: Wait, Wait: p.config.Ask, Delay: NotShown}
}

// Last is the second half, with the node as it is. apart says that the eviction waits with those that were refused already. Begin
// has been asked when the outcome is Proceed.
func (p *Pods) Last(ev *Eviction, object *v1.Pod, apart bool, ours Ours, permits Permits, now time.Time) Try {
	n := ev.pod.node
	n.stale = n.stale || ours.Evict != n.ours
	a := n.taints.Check(p.config.Matcher, ev.pod.asked(object), p.config.Own, ours.Evict, permits, now)
	if a.Why.Forever {
		try := ev.drop(p.reason(ev, ours))
		try.Round = n.stale
		return try
	}
	try := Try{Outcome: Wait, Wait: a.Wait, Delay: a.Delay, Why: p.whyOf(a.Why), Due: a.Why.At, Round: n.stale}
	switch {
	case a.Delay == NotDue:
		ev.due = a.Why.At
		return try
	case !a.Evict:
		try.News = ev.delayed != a.Delay && a.Delay != Overdue
		ev.delayed = a.Delay
		return try
	}
	try.Group = GroupOf(object)
	switch {
	case !apart && p.refusing.Has(try.Group, now):
		try.Outcome = Apart
	case !p.Begin(ev.pod.ref.Key): // its node is being emptied
		try.Wait = p.config.Soon
	default:
		ev.delayed = 0
		try.Outcome, try.Refused, try.Conflicts = Proceed, ev.refused, ev.conflicts
	}
	return try
}

func (ev *Eviction) drop(reason string) Try {
	ev.Done()
	return Try{Outcome: Dropped, Reason: reason}
}

// Refused notes that the API server refused an eviction of that group, which is not tried again until then.
func (p *Pods) Refused(ev *Eviction, group Group, until, now time.Time) {
	ev.refused++
	p.refusing.Add(group, until, now)
}

// Conflicted notes that the API server found what was known of the pod old.
func (ev *Eviction) Conflicted() { ev.conflicts++ }
