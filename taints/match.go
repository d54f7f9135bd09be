package taints

import v1 "k8s.io/api/core/v1"

// The numeric operators. k8s.io/api has constants for them only since 0.35.
const (
	operatorLt v1.TolerationOperator = "Lt"
	operatorGt v1.TolerationOperator = "Gt"
)

// Matcher says which tolerations match which taints. The package's functions use the zero Matcher. Most callers want
// [Matcher.Untolerated] first, to learn whether a pod may go to a node, [Matcher.Tolerate] for how long it would stay,
// and [Matcher.DeadlineOf] for when it has to leave. A Matcher is a plain value and safe to share. Its methods do not
// allocate and do not keep their arguments.
type Matcher struct {
	// NumericOperators turns on the operators Lt and Gt: the taint's value must be less, or greater, than the
	// toleration's. Both must be decimal int64 without plus sign or leading zeros. If NumericOperators is off, or a value
	// is not such a number, these operators match nothing. Clusters before 1.35 do not know them.
	NumericOperators bool
}

// Tolerates reports whether the toleration matches the taint, exactly as ToleratesTaint of k8s.io/api does: see
// "Matching" in the package comment. An unknown operator matches nothing.
//
// Like k8s.io/api it does not validate. The API server admits an empty key only with Exists, and Exists only without a
// value; here an empty key works with every operator, and Exists ignores the value.
func (m Matcher) Tolerates(toleration *v1.Toleration, taint *v1.Taint) bool {
	return keyMayMatch(toleration, taint) && (toleration.Effect == "" || toleration.Effect == taint.Effect) && m.matches(toleration, taint)
}

// keyMayMatch is checked first, because keys differ most often. Length and last byte tell most keys apart without a call,
// and the function is small enough to be inlined.
func keyMayMatch(toleration *v1.Toleration, taint *v1.Taint) bool {
	n := len(toleration.Key)
	return n == 0 || n == len(taint.Key) && toleration.Key[n-1] == taint.Key[n-1]
}

// matches reports whether key and operator match, given that the effect matches and keyMayMatch holds.
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

// Using returns the index of the first toleration that matches the taint, or -1: the one that counts.
func (m Matcher) Using(taint *v1.Taint, tolerations []v1.Toleration) int {
	for i := range tolerations {
		if m.Tolerates(&tolerations[i], taint) {
			return i
		}
	}
	return -1
}

// using is Using for a taint with this effect. Effects are compared as numbers, which the compiler can inline.
func (m Matcher) using(taint *v1.Taint, effect Effects, tolerations []v1.Toleration) int {
	for i := range tolerations {
		t := &tolerations[i]
		if keyMayMatch(t, taint) && (t.Effect == "" || effectOf(t.Effect) == effect) && m.matches(t, taint) {
			return i
		}
	}
	return -1
}

// Untolerated returns the first taint with one of the effects that no toleration matches, and false if there is none.
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
