// Package tolerationcases holds the taints and tolerations that benchmarks match: ours, and those beside upstream.
package tolerationcases

import v1 "k8s.io/api/core/v1"

func seconds(n int64) *int64 { return &n }

// decoded gives every taint and toleration strings of its own, as decoding makes them: equal constants
// share their bytes, and comparing those is cheaper than it ever is in earnest.
func decoded(taints []v1.Taint, tolerations []v1.Toleration) ([]v1.Taint, []v1.Toleration) {
	own := func(s *string) { *s = string(append([]byte(nil), *s...)) }
	for i := range taints {
		own(&taints[i].Key)
		own(&taints[i].Value)
		own((*string)(&taints[i].Effect))
	}
	for i := range tolerations {
		own(&tolerations[i].Key)
		own(&tolerations[i].Value)
		own((*string)(&tolerations[i].Effect))
		own((*string)(&tolerations[i].Operator))
	}
	return taints, tolerations
}

// Typical is a failed node of a dedicated pool; the pod carries two tolerations of its own and the two
// that admission adds.
func Typical() ([]v1.Taint, []v1.Toleration) {
	return decoded([]v1.Taint{
		{Key: "example.com/dedicated", Value: "batch", Effect: v1.TaintEffectNoExecute},
		{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute},
	}, []v1.Toleration{
		{Key: "example.com/dedicated", Operator: v1.TolerationOpEqual, Value: "batch"},
		{Key: v1.TaintNodeMemoryPressure, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule},
		{Key: v1.TaintNodeNotReady, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: seconds(300)},
		{Key: v1.TaintNodeUnreachable, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: seconds(300)},
	})
}

// Adverse is the worst of two by four: what matches comes last, and what does not has keys of the same length, or the same key and
// another effect or value.
func Adverse() ([]v1.Taint, []v1.Toleration) {
	return decoded([]v1.Taint{
		{Key: "example.com/dedicated-b", Value: "batch", Effect: v1.TaintEffectNoExecute},
		{Key: "example.com/dedicated-a", Value: "batch", Effect: v1.TaintEffectNoExecute},
	}, []v1.Toleration{
		{Key: "example.com/dedicated-a", Operator: v1.TolerationOpEqual, Value: "other", Effect: v1.TaintEffectNoExecute},
		{Key: "example.com/dedicated-b", Operator: v1.TolerationOpEqual, Value: "batch", Effect: v1.TaintEffectNoSchedule},
		{Key: "example.com/dedicated-a", Operator: v1.TolerationOpEqual, Value: "batch", TolerationSeconds: seconds(60)},
		{Key: "example.com/dedicated-b", Operator: v1.TolerationOpEqual, Value: "batch", Effect: v1.TaintEffectNoExecute, TolerationSeconds: seconds(30)},
	})
}
