package taints

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// Begun is a taint of a node and when it began to count.
type Begun struct {
	Taint v1.Taint
	Start time.Time
}

// PlausibleStart is when a taint that is first seen now began to count: at its TimeAdded if that is plausible, else now. A
// TimeAdded that is absent, after now or before created, which is when the node was created, is not plausible; a zero
// created rules nothing out.
//
// It is for whoever did not watch the node before, after a restart for example. Whoever sees a taint appear knows its start.
func PlausibleStart(taint *v1.Taint, created, now time.Time) time.Time {
	if taint.TimeAdded == nil || taint.TimeAdded.After(now) || taint.TimeAdded.Time.Before(created) {
		return now
	}
	return taint.TimeAdded.Time
}

// Deadline is when a pod has to leave a node, and why. The zero Deadline has passed.
type Deadline struct {
	// Forever: nothing ends the stay. At is zero, For 0, Taint nil and Toleration -1.
	Forever bool
	// At is when the stay ends. It may have passed.
	At time.Time
	// For is how long the toleration used lasts, 0 when none matches. At is For after the taint's start or, if that is
	// later, after the pod was bound.
	For time.Duration
	// Taint is the one that decides; of several that end the stay at the same time, the first. It points into the list that
	// was asked about.
	Taint *v1.Taint
	// Toleration is the index of the toleration used for Taint, -1 when none matches it.
	Toleration int
}

// DeadlineOf says when a pod with these tolerations, bound at that time, has to leave a node whose taints began at different
// times. Under each NoExecute taint the pod may stay for as long as the toleration used lasts (the first in the pod's order
// that matches), or not at all when none matches, from the later of the taint's start and the pod's binding. The earliest of
// these ends is the deadline.
//
// Taints with other effects do not count, nor do those for which counts returns false; a nil counts counts all. counts must
// not keep the taint. DeadlineOf reads no clock and does not allocate.
func (m Matcher) DeadlineOf(begun []Begun, bound time.Time, tolerations []v1.Toleration, counts func(*v1.Taint) bool) Deadline {
	deadline := Deadline{Forever: true, Toleration: -1}
	for i := range begun {
		taint := &begun[i].Taint
		if taint.Effect != v1.TaintEffectNoExecute || counts != nil && !counts(taint) {
			continue
		}
		used, lasts := m.using(taint, NoExecuteEffect, tolerations), time.Duration(0)
		if used >= 0 {
			var forever bool
			if lasts, forever = lastsFor(&tolerations[used]); forever {
				continue
			}
		}
		from := begun[i].Start
		if bound.After(from) {
			from = bound
		}
		if at := from.Add(lasts); deadline.Forever || at.Before(deadline.At) {
			deadline = Deadline{At: at, For: lasts, Taint: taint, Toleration: used}
		}
	}
	return deadline
}

// DeadlineOf is Matcher.DeadlineOf of the zero Matcher.
func DeadlineOf(begun []Begun, bound time.Time, tolerations []v1.Toleration, counts func(*v1.Taint) bool) Deadline {
	return Matcher{}.DeadlineOf(begun, bound, tolerations, counts)
}
