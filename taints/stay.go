package taints

import (
	"math"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Stay is how long a set of taints is tolerated, and why no longer. The zero Stay is "not at all".
type Stay struct {
	// Forever: nothing ends the stay. For is 0, Taint nil and Toleration -1.
	Forever bool
	// For is how long the stay lasts from when the taints began, at least 0. Unless Forever, 0 means
	// that it ends at once.
	For time.Duration
	// Taint is the one that decides; of equal ones the first. It points into the slice that was asked
	// about.
	Taint *v1.Taint
	// Toleration is the index of the toleration used for Taint, -1 when none matches it.
	Toleration int
}

// Tolerate says how long a pod with these tolerations may stay under the taints that evict. For each
// taint the first toleration in the pod's order that matches is used. A taint that none matches ends the
// stay at once; otherwise it is the least of the finite times of the tolerations used, and for ever when
// there is none. No taints are tolerated for ever. It does not allocate.
func (m Matcher) Tolerate(selection Selection, tolerations []v1.Toleration) Stay {
	stay := Stay{Forever: true, Toleration: -1}
	for i := range selection.taints {
		taint := &selection.taints[i]
		if taint.Effect != v1.TaintEffectNoExecute {
			continue
		}
		used := m.using(taint, NoExecuteEffect, tolerations)
		if used < 0 {
			return Stay{Taint: taint, Toleration: -1}
		}
		d, forever := lastsFor(&tolerations[used])
		if !forever && (stay.Forever || d < stay.For) {
			stay = Stay{For: d, Taint: taint, Toleration: used}
		}
	}
	return stay
}

// lastsFor is how long the toleration lasts: for ever without tolerationSeconds, 0 when they are zero or
// negative, and the longest duration there is, 292 years, when they are more than a duration holds.
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

// Tolerate is Matcher.Tolerate of the zero Matcher.
func Tolerate(selection Selection, tolerations []v1.Toleration) Stay {
	return Matcher{}.Tolerate(selection, tolerations)
}
