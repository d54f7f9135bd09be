package taints

import (
	"math"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Begun is a node's taint, and when it began.
type Begun struct {
	Taint v1.Taint
	Start time.Time
	// Outage is for not-ready and unreachable (NoExecute), if one has replaced the other: when the outage began. Start is then
	// when the taint replaced the other. Zero means that the outage began at Start.
	Outage time.Time
}

// PlausibleStart returns when a taint that you see for the first time now began: at its TimeAdded if that is plausible,
// else now. A TimeAdded is not plausible if it is missing, after now, or before created, the creation time of the node.
// A zero created means that it is not known. A TimeAdded that points to the zero time is not missing.
//
// Use it if you did not watch the node before, for example after a restart. If you saw the taint appear, you know its
// start.
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
	// At is when the stay ends: For after the taint's start (or its outage's, see DeadlineOf) or the pod's binding, whichever
	// is later. It may have passed. Tolerate knows no start and leaves it zero.
	At time.Time
	// For is how long the toleration lasts that decides, 0 if none matches. It is never negative.
	For time.Duration
	// Taint is the taint that decides, the first of them if several end the stay at the same time. It points into the
	// slice that was given.
	Taint *v1.Taint
	// Toleration is the index of the toleration that decides, -1 if none matches.
	Toleration int
}

// Tolerate returns how long a pod with these tolerations may stay under taints that began together, by the rule in the
// package comment. Taints that do not evict (NoExecute) do not count. Without any that do, the stay is for ever. The
// first taint that no toleration matches decides before all others, while DeadlineOf takes what ends at the same time in
// order. More than 292 years, the longest Duration, count as that.
func Tolerate(taints []v1.Taint, tolerations []v1.Toleration, numeric bool) Deadline {
	stay := Deadline{Forever: true, Toleration: -1}
	for i := range taints {
		taint := &taints[i]
		if taint.Effect != v1.TaintEffectNoExecute {
			continue
		}
		used := using(taint, tolerations, numeric)
		if used < 0 {
			return Deadline{Taint: taint, Toleration: -1}
		}
		if lasts, forever := lastsFor(&tolerations[used]); !forever && (stay.Forever || lasts < stay.For) {
			stay = Deadline{For: lasts, Taint: taint, Toleration: used}
		}
	}
	return stay
}

// DeadlineOf returns when a pod with these tolerations, bound at that time, has to leave a node whose taints began at
// different times. Under each NoExecute taint, the pod may stay as long as its first matching toleration lasts, or not
// at all if none matches, counted from the taint's start or the pod's binding, whichever is later. The earliest of
// these ends is the deadline.
//
// A node whose taint changes from not-ready to unreachable, or back, is in the same outage, of which the pod may tolerate the
// two for different times. It has to leave when its toleration of the present taint has lasted since the change, or when the
// longer of both has lasted since the outage began, whichever is first; at once if it does not tolerate the present taint.
//
// Taints with other effects do not count, nor do those for which counts returns false. A nil counts means that all
// count. counts must not keep the taint. DeadlineOf reads no clock. From 4,096 pairs of a taint and a toleration on, it
// builds an index; below, it allocates nothing. Lt, Gt and unknown operators are not in the index.
func DeadlineOf(begun []Begun, bound time.Time, tolerations []v1.Toleration, counts func(*v1.Taint) bool, numeric bool) Deadline {
	deadline, many := Deadline{Forever: true, Toleration: -1}, indexOf(len(begun), tolerations, numeric)
	for i := range begun {
		taint := &begun[i].Taint
		if taint.Effect != v1.TaintEffectNoExecute || counts != nil && !counts(taint) {
			continue
		}
		if ends := endsBy(&begun[i], bound, tolerations, many, numeric); !ends.Forever && (deadline.Forever || ends.At.Before(deadline.At)) {
			deadline = ends
		}
	}
	return deadline
}

// endsBy returns when the stay ends by one taint.
func endsBy(begun *Begun, bound time.Time, tolerations []v1.Toleration, many *index, numeric bool) Deadline {
	taint := &begun.Taint
	used, lasts, forever := first(taint, tolerations, many, numeric)
	if forever {
		return Deadline{Forever: true}
	}
	ends := Deadline{At: later(begun.Start, bound).Add(lasts), For: lasts, Taint: taint, Toleration: used}
	other := replaced(taint)
	if other == nil || lasts == 0 || begun.Outage.IsZero() {
		return ends
	}
	was, longer, forever := first(other, tolerations, many, numeric)
	if longer <= lasts {
		was, longer = used, lasts
	}
	if at := later(begun.Outage, bound).Add(longer); !forever && at.Before(ends.At) {
		ends.At, ends.For, ends.Toleration = at, longer, was
	}
	return ends
}

// first returns the index of the first toleration that matches, -1 if none does, and how long it lasts.
func first(taint *v1.Taint, tolerations []v1.Toleration, many *index, numeric bool) (used int, lasts time.Duration, forever bool) {
	if many != nil {
		used = many.using(taint)
	} else {
		used = using(taint, tolerations, numeric)
	}
	if used >= 0 {
		lasts, forever = lastsFor(&tolerations[used])
	}
	return used, lasts, forever
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

var (
	whileNotReady    = v1.Taint{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoExecute}
	whileUnreachable = v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute}
)

// replaced returns the other of not-ready and unreachable, nil if the taint is neither.
func replaced(taint *v1.Taint) *v1.Taint {
	switch taint.Key {
	case v1.TaintNodeNotReady:
		return &whileUnreachable
	case v1.TaintNodeUnreachable:
		return &whileNotReady
	}
	return nil
}

// lastsFor returns how long the toleration lasts: for ever without tolerationSeconds, 0 if they are zero or negative, and
// the longest Duration, 292 years, if they are more than that.
func lastsFor(toleration *v1.Toleration) (d time.Duration, forever bool) {
	switch s := toleration.TolerationSeconds; {
	case s == nil:
		return 0, true
	case *s <= 0:
		return 0, false
	case *s > math.MaxInt64/int64(time.Second):
		return math.MaxInt64, false
	default:
		return time.Duration(*s) * time.Second, false
	}
}
