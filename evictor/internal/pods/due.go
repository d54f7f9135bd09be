package pods

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/taints"
)

// Delay is why an eviction waits though it is armed.
type Delay uint8

// The delays. A pod that is not due yet is not held back.
const (
	NotDue     Delay = iota + 1
	NotShown         // the store shows an older version of the pod or its node, or none
	NotSettled       // our own taint decides, and its node was not watched for a whole grace period, or has just reported Ready
	Overdue          // our own taint decides, it became due while nothing was permitted, and its node's turn has not come
	MayHarm          // taints and evictions are not permitted
	MayWrite         // writes are not permitted
	Policy           // our own taint decides, and the zone policy lets such evictions wait
)

var delays = [...]string{"", "NotDue", "NotShown", "NotSettled", "Overdue", "MayHarm", "MayWrite", "ZonePolicy"}

// String is the reason that observers are told.
func (d Delay) String() string { return delays[d] }

// Pod is what an eviction is decided from.
type Pod struct {
	Bound       time.Time
	Tolerations []v1.Toleration
	// Emptied is since when its node is emptied of it, whatever it tolerates, while we evict; zero where nodes are tainted.
	Emptied time.Time
}

// emptying is the taint of a node that is being emptied, which nobody writes.
var emptying v1.Taint

// Deadline is when the pod has to leave under the taints seen; our own count only if armed, which is while their node is
// failed, not held and watched for long enough.
func (s Seen) Deadline(m taints.Matcher, pod Pod, own func(*v1.Taint) bool, armed bool) taints.Deadline {
	if armed && !pod.Emptied.IsZero() {
		return taints.Deadline{At: pod.Emptied, Taint: &emptying, Toleration: -1}
	}
	if armed {
		return m.DeadlineOf(s, pod.Bound, pod.Tolerations, nil)
	}
	return m.DeadlineOf(s, pod.Bound, pod.Tolerations, func(t *v1.Taint) bool { return !own(t) })
}

// Permits is what holds evictions back at the moment.
type Permits struct {
	// Unsettled is how long our own taints of the node evict nobody yet, 0 when they may.
	Unsettled time.Duration
	// Harm and Write say that taints and evictions, or writes of any kind, are not permitted, and Ask after how long that
	// is asked again.
	Harm, Write bool
	Ask         time.Duration
	// Soon is when a pod is looked at again of which a try that was called off is still under way.
	Soon time.Duration
	// Policy: the zone policy lets evictions by our own taints wait.
	Policy bool
	// Turn: what our own taints evict from the node waits for its turn. That comes by itself, and so does the end of Policy; Again
	// is when it is looked at all the same.
	Turn  bool
	Again time.Duration
}

// Answer is what becomes of an eviction. When Why.Forever, nothing evicts the pod any more.
type Answer struct {
	// Evict it now, or else wait for Wait, because of Delay.
	Evict bool
	Wait  time.Duration
	Delay Delay
	// Why is what evicts the pod, or will, and Own that it is a taint of ours.
	Why taints.Deadline
	Own bool
}

// Check decides about an eviction whose time may have come. That their node is watched or has its turn holds back our own taints
// alone, never a pod that a taint of others evicts.
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
		switch others := s.Deadline(m, pod, own, false); {
		case others.Forever:
		case others.At.After(now):
			a.Wait = min(a.Wait, others.At.Sub(now))
		default:
			a.Why, a.Own = others, false
			a.Wait, a.Delay = p.permits(false)
		}
	}
	a.Evict = a.Delay == 0
	return a
}

// permits says what an eviction that is due waits for, if anything, and when it is looked at again.
func (p Permits) permits(own bool) (wait time.Duration, because Delay) {
	switch {
	case own && p.Unsettled > 0:
		return p.Unsettled, NotSettled
	case p.Harm:
		return p.Ask, MayHarm
	case own && p.Policy:
		return p.Again, Policy
	case own && p.Turn:
		return p.Again, Overdue
	case p.Write:
		return p.Ask, MayWrite
	}
	return 0, 0
}
