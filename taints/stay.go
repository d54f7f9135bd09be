package taints

import (
	"math"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Stay is how long a pod tolerates a set of taints, and why no longer. The zero Stay means "not at all".
type Stay struct {
	// Forever: nothing ends the stay. For is 0, Taint nil and Toleration -1.
	Forever bool
	// For is how long the stay lasts after the taints began, never negative. Unless Forever, 0 means that it ends at
	// once.
	For time.Duration
	// Taint is the taint that decides, the first of them if several end the stay at the same time. It points into the
	// slice given to Tolerate.
	Taint *v1.Taint
	// Toleration is the index of the toleration that matches Taint, -1 if none does.
	Toleration int
}

// Tolerate returns how long a pod with these tolerations may stay under these taints, by the rule in the package
// comment. Taints that do not evict (NoExecute) do not count; without any that do, the stay is for ever. Tolerate does
// not allocate.
func (m Matcher) Tolerate(taints []v1.Taint, tolerations []v1.Toleration) Stay {
	stay := Stay{Forever: true, Toleration: -1}
	for i := range taints {
		taint := &taints[i]
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

// Tolerate is Matcher.Tolerate of the zero Matcher.
func Tolerate(taints []v1.Taint, tolerations []v1.Toleration) Stay {
	return Matcher{}.Tolerate(taints, tolerations)
}
