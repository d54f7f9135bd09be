package taints

import (
	"math"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
)

// The numeric operators, which k8s.io/api names only from 0.35 on.
const (
	operatorLt v1.TolerationOperator = "Lt"
	operatorGt v1.TolerationOperator = "Gt"
)

// Matcher says which tolerations match which taints. The zero Matcher is what the package's functions
// use; it is a value and safe to share.
type Matcher struct {
	// NumericOperators switches Lt and Gt on: both values are read as int64, and the taint's must be
	// less or greater than the toleration's. Off, or where a value is no number, they match nothing.
	NumericOperators bool
}

// Tolerates says whether the toleration matches the taint, by the rules of k8s.io/api: the effect is
// empty or equal; the key is empty (all keys, which needs the operator Exists) or equal; Equal, the
// default operator, compares the values, and Exists ignores them. An operator nobody knows matches
// nothing.
func (m Matcher) Tolerates(toleration *v1.Toleration, taint *v1.Taint) bool {
	// The keys differ most often, so they are compared first.
	if toleration.Key != taint.Key && toleration.Key != "" {
		return false
	}
	if toleration.Effect != "" && toleration.Effect != taint.Effect {
		return false
	}
	switch toleration.Operator {
	case v1.TolerationOpExists:
		return true
	case "", v1.TolerationOpEqual:
		return toleration.Key == taint.Key && toleration.Value == taint.Value
	case operatorLt, operatorGt:
		return m.NumericOperators && toleration.Key == taint.Key && m.compares(toleration, taint)
	}
	return false
}

func (m Matcher) compares(toleration *v1.Toleration, taint *v1.Taint) bool {
	bound, ok := number(toleration.Value)
	if !ok {
		return false
	}
	value, ok := number(taint.Value)
	if !ok {
		return false
	}
	if toleration.Operator == operatorLt {
		return value < bound
	}
	return value > bound
}

// number reads an int64 as the API validates it: no sign but minus, no leading zeros.
func number(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// Using is the index of the toleration used for the taint, the first in the pod's order that matches,
// or -1.
func (m Matcher) Using(taint *v1.Taint, tolerations []v1.Toleration) int {
	for i := range tolerations {
		if m.Tolerates(&tolerations[i], taint) {
			return i
		}
	}
	return -1
}

// Untolerated returns the first taint with one of the effects that no toleration matches, and false
// when there is none.
func (m Matcher) Untolerated(taints []v1.Taint, tolerations []v1.Toleration, effects Effects) (v1.Taint, bool) {
	for i := range taints {
		if effects.has(taints[i].Effect) && m.Using(&taints[i], tolerations) < 0 {
			return taints[i], true
		}
	}
	return v1.Taint{}, false
}

// Stay is how long a set of taints is tolerated. The zero Stay is "not at all".
type Stay struct {
	// Forever: nothing ends it; For is 0 and nothing else is set.
	Forever bool
	// For is how long, at least 0; 0 means it ends at once.
	For time.Duration
	// Taint is the one that decides, and points into the slice that was asked about.
	Taint *v1.Taint
	// Toleration is the index of the toleration used for it, -1 when none matches.
	Toleration int
}

// Tolerate says how long a pod with these tolerations may stay under the selected taints: at once no
// longer when one is not tolerated, else the least of the finite times of the tolerations used, else
// for ever. No taints are tolerated for ever.
func (m Matcher) Tolerate(selection Selection, tolerations []v1.Toleration) Stay {
	stay := Stay{Forever: true, Toleration: -1}
	for i := range selection.taints {
		taint := &selection.taints[i]
		if !selection.effects.has(taint.Effect) {
			continue
		}
		used := m.Using(taint, tolerations)
		if used < 0 {
			return Stay{Taint: taint, Toleration: -1}
		}
		d, forever := Seconds(&tolerations[used])
		if !forever && (stay.Forever || d < stay.For) {
			stay = Stay{For: d, Taint: taint, Toleration: used}
		}
	}
	return stay
}

// Seconds is the toleration's time: for ever without tolerationSeconds, 0 when they are zero or
// negative, and the longest duration there is when they are more than a duration holds.
func Seconds(toleration *v1.Toleration) (d time.Duration, forever bool) {
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

// Tolerates is Matcher.Tolerates of the zero Matcher.
func Tolerates(toleration *v1.Toleration, taint *v1.Taint) bool {
	return Matcher{}.Tolerates(toleration, taint)
}

// Using is Matcher.Using of the zero Matcher.
func Using(taint *v1.Taint, tolerations []v1.Toleration) int {
	return Matcher{}.Using(taint, tolerations)
}

// Untolerated is Matcher.Untolerated of the zero Matcher.
func Untolerated(taints []v1.Taint, tolerations []v1.Toleration, effects Effects) (v1.Taint, bool) {
	return Matcher{}.Untolerated(taints, tolerations, effects)
}

// Tolerate is Matcher.Tolerate of the zero Matcher.
func Tolerate(selection Selection, tolerations []v1.Toleration) Stay {
	return Matcher{}.Tolerate(selection, tolerations)
}
