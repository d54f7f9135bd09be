package taints

import v1 "k8s.io/api/core/v1"

// The numeric operators. k8s.io/api has constants for them only since 0.35.
const (
	operatorLt v1.TolerationOperator = "Lt"
	operatorGt v1.TolerationOperator = "Gt"
)

// Tolerates reports whether the toleration matches the taint, exactly as ToleratesTaint of k8s.io/api does: see
// "Matching" in the package comment. An unknown operator matches nothing.
//
// Like k8s.io/api it does not validate. The API server admits an empty key only with Exists, and Exists only without a
// value; here an empty key works with every operator, and Exists ignores the value.
func Tolerates(toleration *v1.Toleration, taint *v1.Taint, numeric bool) bool {
	return keyMayMatch(toleration, taint) && (toleration.Effect == "" || toleration.Effect == taint.Effect) && matches(toleration, taint, numeric)
}

// keyMayMatch is checked first, because keys differ most often. Length and last byte tell most keys apart without a call,
// and the function is small enough to be inlined. BenchmarkTolerate2x4Plain is the plain form.
func keyMayMatch(toleration *v1.Toleration, taint *v1.Taint) bool {
	n := len(toleration.Key)
	return n == 0 || n == len(taint.Key) && toleration.Key[n-1] == taint.Key[n-1]
}

// matches reports whether key and operator match, given that the effect does and keyMayMatch holds.
func matches(toleration *v1.Toleration, taint *v1.Taint, numeric bool) bool {
	if toleration.Key != "" && toleration.Key != taint.Key {
		return false
	}
	switch toleration.Operator {
	case v1.TolerationOpExists:
		return true
	case "", v1.TolerationOpEqual:
		return toleration.Value == taint.Value
	case operatorLt, operatorGt:
		return numeric && compares(toleration, taint)
	}
	return false
}

// using returns the index of the first toleration that matches the taint, or -1: the one that counts.
func using(taint *v1.Taint, tolerations []v1.Toleration, numeric bool) int {
	for i := range tolerations {
		if t := &tolerations[i]; keyMayMatch(t, taint) && (t.Effect == "" || t.Effect == taint.Effect) && matches(t, taint, numeric) {
			return i
		}
	}
	return -1
}

// Untolerated returns the first NoSchedule or NoExecute taint that no toleration matches, and false if there is none. Such a
// taint keeps the pod from being bound to the node. It leaves out PreferNoSchedule, which only makes a node less attractive:
// see PreferNoSchedule.
func Untolerated(taints []v1.Taint, tolerations []v1.Toleration, numeric bool) (v1.Taint, bool) {
	for i := range taints {
		switch taints[i].Effect {
		case v1.TaintEffectNoSchedule, v1.TaintEffectNoExecute:
			if using(&taints[i], tolerations, numeric) < 0 {
				return taints[i], true
			}
		}
	}
	return v1.Taint{}, false
}

// PreferNoSchedule counts the PreferNoSchedule taints that no toleration matches. kube-scheduler's plugin TaintToleration
// has this number as its score, and prefers the node with the smallest.
func PreferNoSchedule(taints []v1.Taint, tolerations []v1.Toleration, numeric bool) (count int) {
	for i := range taints {
		if taints[i].Effect == v1.TaintEffectPreferNoSchedule && using(&taints[i], tolerations, numeric) < 0 {
			count++
		}
	}
	return count
}
