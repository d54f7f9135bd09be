package parts

import (
	"slices"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/utils/ptr"

	"github.com/evictkit/evictkit/taints"
)

// numbers are values that are, or nearly are, decimal int64s.
var numbers = []string{"", "0", "-0", "1", "-1", "007", "+9", "9", "10", " 1", "0x1", "1e3", "1_0", "9223372036854775807", "9223372036854775808",
	"-9223372036854775808", "-9223372036854775809", "99999999999999999999", "one", "١"}

func someTaints(s *script, most int) []v1.Taint {
	list := make([]v1.Taint, s.below(most+1))
	for i := range list {
		list[i] = v1.Taint{
			Key: pick(s, "a", "b", ""), Value: pick(s, numbers...),
			Effect: pick(s, v1.TaintEffectNoExecute, v1.TaintEffectNoExecute, v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, "Other"),
		}
	}
	return list
}

func someTolerations(s *script, most int) []v1.Toleration {
	list := make([]v1.Toleration, s.below(most+1))
	for i := range list {
		list[i] = v1.Toleration{
			Key: pick(s, "a", "b", ""), Value: pick(s, numbers...),
			Operator: pick(s, v1.TolerationOpExists, v1.TolerationOpEqual, "", v1.TolerationOpLt, v1.TolerationOpGt, "lt"),
			Effect:   pick(s, "", v1.TaintEffectNoExecute, v1.TaintEffectNoSchedule, "Other"),
		}
		if s.oneIn(2) {
			list[i].TolerationSeconds = ptr.To(pick[int64](s, 300, 0, -1, 60))
		}
	}
	return list
}

// requireSameMatch compares each pair, and then which tolerations are used for all taints together.
func requireSameMatch(t *testing.T, on []v1.Taint, by []v1.Toleration, numeric bool) (tolerated bool) {
	for i := range on {
		for j := range by {
			require.Equal(t, by[j].ToleratesTaint(logr.Discard(), &on[i], numeric), taints.Tolerates(&by[j], &on[i], numeric), "%+v %+v %v", on[i], by[j], numeric)
		}
	}
	tolerated, used := helper.GetMatchingTolerations(logr.Discard(), on, by)
	ours, all := []v1.Toleration{}, true
	for i := range on {
		if j := slices.IndexFunc(by, func(by v1.Toleration) bool { return taints.Tolerates(&by, &on[i], numeric) }); j >= 0 {
			ours = append(ours, by[j])
		} else {
			all = false
		}
	}
	require.Equal(t, tolerated, all)
	if tolerated {
		require.Equal(t, used, ours)
	}
	// The scheduler and the taint eviction controller look only at taints with certain effects.
	for _, effects := range [][]v1.TaintEffect{{v1.TaintEffectNoExecute}, {v1.TaintEffectNoExecute, v1.TaintEffectNoSchedule}} {
		var some []v1.Taint
		for _, taint := range on {
			if slices.Contains(effects, taint.Effect) {
				some = append(some, taint)
			}
		}
		want, _ := helper.GetMatchingTolerations(logr.Discard(), some, by)
		if len(effects) == 1 {
			stay := taints.Tolerate(on, by, numeric)
			require.Equal(t, want, stay.Forever || stay.Toleration >= 0, "%+v %+v", on, by)
		} else {
			_, untolerated := taints.Untolerated(on, by, numeric)
			require.Equal(t, want, !untolerated, "%+v %+v", on, by)
		}
	}
	return tolerated
}

func TestTolerationsAreUpstreams(t *testing.T) {
	for _, numeric := range []bool{false, true} {
		featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.TaintTolerationComparisonOperators, numeric)
		for _, value := range numbers {
			for _, bound := range numbers {
				for _, operator := range []v1.TolerationOperator{v1.TolerationOpLt, v1.TolerationOpGt, v1.TolerationOpEqual, v1.TolerationOpExists} {
					requireSameMatch(t, []v1.Taint{{Key: "a", Value: value}}, []v1.Toleration{{Key: "a", Value: bound, Operator: operator}}, numeric)
				}
			}
		}
		tolerated := 0
		for seed := range uint64(60_000) {
			s := seeded(seed, 40)
			if requireSameMatch(t, someTaints(s, 3), someTolerations(s, 5), numeric) {
				tolerated++
			}
		}
		require.Greater(t, tolerated, 10_000, "too few match")
	}
}

func FuzzTolerations(f *testing.F) {
	f.Add("k", "Exists", "", "NoExecute", "k", "v", "NoExecute", false)
	f.Add("", "Equal", "v", "", "k", "v", "NoSchedule", false)
	f.Add("k", "Lt", "-9223372036854775808", "", "k", "9223372036854775807", "NoExecute", true)
	f.Fuzz(func(t *testing.T, key, operator, value, effect, taintKey, taintValue, taintEffect string, numeric bool) {
		taint := v1.Taint{Key: taintKey, Value: taintValue, Effect: v1.TaintEffect(taintEffect)}
		toleration := v1.Toleration{Key: key, Operator: v1.TolerationOperator(operator), Value: value, Effect: v1.TaintEffect(effect)}
		require.Equal(t, toleration.ToleratesTaint(logr.Discard(), &taint, numeric), taints.Tolerates(&toleration, &taint, numeric))
	})
}
