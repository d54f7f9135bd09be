package pods

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/taints"
)

// Delay is why an armed eviction waits.
type Delay uint8

// The delays. All but NotDue hold back an eviction that is due.
const (
	NotDue     Delay = iota + 1
	NotShown         // the store shows an older version of the pod, or not its node as last seen
	NotSettled       // our own taint decides, and the node was not watched for a whole grace period or has just reported Ready
	Overdue          // our own taint decides; it became due while that was not permitted, and the node's turn has not come
	MayEvict         // the program refuses this eviction
	Together         // one of the pods that go with it may not leave, or has not left yet
	MayHarm          // taints and evictions are not permitted
	MayWrite         // writes are not permitted
	Policy           // our own taint decides, and the zone policy makes such evictions wait
)

var delays = [...]string{"", "NotDue", "NotShown", "NotSettled", "Overdue", "MayEvict", "Together", "MayHarm", "MayWrite", "ZonePolicy"}

// String returns the reason as observers see it.
func (d Delay) String() string { return delays[d] }

// Pod is what an eviction is decided from.
type Pod struct {
	Bound       time.Time
	Tolerations []v1.Toleration
	// Emptied is since when it must leave a node that is being emptied, whatever it tolerates; zero if it is not to.
	Emptied time.Time
}

// emptying stands for the taint of a node that is being emptied. It is never written.
var emptying v1.Taint

// Deadline returns when the pod must leave under the taints seen. Our own taints, and emptying, count only if armed: the
// node has failed, is not held, and was watched for long enough.
func (s Seen) Deadline(m taints.Matcher, pod Pod, own func(*v1.Taint) bool, armed bool) taints.Deadline {
	if armed && !pod.Emptied.IsZero() {
		return taints.Deadline{At: pod.Emptied, Taint: &emptying, Toleration: -1}
	}
	if armed {
		return m.DeadlineOf(s, pod.Bound, pod.Tolerations, nil)
	}
	return m.DeadlineOf(s, pod.Bound, pod.Tolerations, func(t *v1.Taint) bool { return !own(t) })
}

// Permits says what holds back evictions at the moment.
type Permits struct {
	// Unsettled is how long our own taints on the node must not evict yet; 0 means that they may.
	Unsettled time.Duration
	// NoHarm says that taints and evictions are refused, NoWrite that all writes are. Ask is how long to wait before asking
	// again.
	NoHarm, NoWrite bool
	Ask             time.Duration
	// Soon is how long to wait for a cancelled try of the same pod that is still in flight.
	Soon time.Duration
	// Waits says that the zone policy makes evictions by our own taints wait.
	Waits bool
	// Turn says that overdue evictions by our own taints wait for the node's turn. The turn, or the end of Waits, triggers
	// the next try; Again is how long to wait for it at most.
	Turn  bool
	Again time.Duration
	// Unasked says that the program has yet to permit this very eviction, and to say who goes with the pod.
	Unasked bool
	// With are the pods that go with it.
	With []Member
}

// Answer is what becomes of an eviction. If Why.Forever is set, nothing evicts the pod any more.
type Answer struct {
	// Evict says to evict now; otherwise wait for Wait, because of Delay.
	Evict bool
	Wait  time.Duration
	Delay Delay
	// Why is what evicts the pod, now or later. Own says that it is our own taint, or emptying.
	Why taints.Deadline
	Own bool
}

// Check decides about an eviction that may be due. Unsettled, Waits and Turn hold back only evictions by our own taints; a
// pod that a taint of others evicts does not wait for them.
func (s Seen) Check(m taints.Matcher, pod Pod, own func(*v1.Taint) bool, armed bool, p Permits, now time.Time) Answer {
	why := s.Deadline(m, pod, own, armed)
	if why.Forever {
		return Answer{Why: why}
	}
	a := Answer{Why: why, Own: own(why.Taint)}
	if why.At.After(now) {
		a.Wait, a.Delay = why.At.Sub(now), NotDue
		return a
	}
	if a.Wait, a.Delay = p.permits(a.Own); a.Own && a.Delay != 0 {
		switch others := s.Check(m, pod, own, false, p, now); {
		case others.Why.Forever:
		case others.Delay == NotDue:
			a.Wait = min(a.Wait, others.Wait)
		default:
			return others
		}
	}
	a.Evict = a.Delay == 0
	return a
}

// permits says what an eviction that is due waits for, if anything, and for how long.
func (p Permits) permits(own bool) (wait time.Duration, because Delay) {
	switch {
	case own && p.Unsettled > 0:
		return p.Unsettled, NotSettled
	case p.NoHarm:
		return p.Ask, MayHarm
	case own && p.Waits:
		return p.Again, Policy
	case own && p.Turn:
		return p.Again, Overdue
	case p.NoWrite:
		return p.Ask, MayWrite
	}
	return 0, 0
}
