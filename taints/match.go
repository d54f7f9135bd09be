package taints

import v1 "k8s.io/api/core/v1"

// The numeric operators. k8s.io/api names them only from 0.35 on.
const (
	operatorLt v1.TolerationOperator = "Lt"
	operatorGt v1.TolerationOperator = "Gt"
)

// Matcher says which tolerations match which taints. The zero Matcher is what the package's functions
// use. It is a value and safe to share, and none of its methods allocates or keeps what it is given.
type Matcher struct {
	// NumericOperators switches the operators Lt and Gt on: the taint's value must be less, or greater,
	// than the toleration's, both read as int64 in decimal without plus sign or leading zeros. Off, or
	// where a value is no such number, they match nothing. Clusters before 1.35 do not know them.
	NumericOperators bool
}

// Tolerates says whether the toleration matches the taint, exactly as ToleratesTaint of k8s.io/api does.
// The effect is empty or equal, the key is empty or equal, and the operator holds: Exists always, Equal
// (which an empty operator means) when the values are equal, Lt and Gt as NumericOperators says. An
// operator nobody knows matches nothing.
//
// Like k8s.io/api it does not validate: the API server admits an empty key only with Exists, and Exists
// only without a value, but here an empty key goes with every operator and Exists ignores the value.
func (m Matcher) Tolerates(toleration *v1.Toleration, taint *v1.Taint) bool {
	return keyMayMatch(toleration, taint) && (toleration.Effect == "" || toleration.Effect == taint.Effect) && m.matches(toleration, taint)
}

// keyMayMatch comes first, because keys differ most often. Their lengths and last bytes tell most of them
// apart without a call, and it is small enough to be inlined.
func keyMayMatch(toleration *v1.Toleration, taint *v1.Taint) bool {
	n := len(toleration.Key)
	return n == 0 || n == len(taint.Key) && toleration.Key[n-1] == taint.Key[n-1]
}

// matches says whether key and operator match, when the effect does and keyMayMatch holds.
func (m Matcher) matches(toleration *v1.Toleration, taint *v1.Taint) bool {
	if toleration.Key != "" && toleration.Key != taint.Key {
		return false
	}
	switch toleration.Operator {
	case v1.TolerationOpExists:
		return true
	case "", v1.TolerationOpEqual:
		return toleration.Value == taint.Value
	case operatorLt, operatorGt:
		return m.NumericOperators && compares(toleration, taint)
	}
	return false
}

// Using is the index of the toleration that is used for the taint, the first in the pod's order that
// matches, or -1. The order of a pod's tolerations therefore matters.
func (m Matcher) Using(taint *v1.Taint, tolerations []v1.Toleration) int {
	for i := range tolerations {
		if m.Tolerates(&tolerations[i], taint) {
			return i
		}
	}
	return -1
}

// using is Using for a taint whose effect is known to be the one in the set. Effects are compared as
// numbers, which the compiler can inline.
func (m Matcher) using(taint *v1.Taint, effect Effects, tolerations []v1.Toleration) int {
	for i := range tolerations {
		t := &tolerations[i]
		if keyMayMatch(t, taint) && (t.Effect == "" || effectOf(t.Effect) == effect) && m.matches(t, taint) {
			return i
		}
	}
	return -1
}

// Untolerated returns the first taint with one of the effects that no toleration matches, and false
// when there is none. Without taints, or for no effects, there is none.
func (m Matcher) Untolerated(taints []v1.Taint, tolerations []v1.Toleration, effects Effects) (v1.Taint, bool) {
	for i := range taints {
		effect := effectOf(taints[i].Effect)
		if effects&effect != 0 && m.using(&taints[i], effect, tolerations) < 0 {
			return taints[i], true
		}
	}
	return v1.Taint{}, false
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
