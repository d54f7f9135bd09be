package taints

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// The cases of upstream's tests of taint eviction and of tainting by condition; see MIGRATING.md.

// Upstream's TestFilterNoExecuteTaints.
func TestUpstreamsFilterOfNoExecute(t *testing.T) {
	both := []v1.Taint{{Key: "one", Value: "one", Effect: v1.TaintEffectNoExecute}, {Key: "two", Value: "two", Effect: v1.TaintEffectNoSchedule}}
	require.Equal(t, Stay{Taint: &both[0], Toleration: -1}, Tolerate(NoExecute(both), nil))
	one := []v1.Toleration{{Key: "one", Operator: v1.TolerationOpExists}}
	require.True(t, Tolerate(NoExecute(both), one).Forever, "the other does not evict")
}

// Upstream's TestGetMinTolerationTime: how long each taint is tolerated; nil means for ever.
func TestUpstreamsLeastToleration(t *testing.T) {
	for name, row := range map[string]struct {
		seconds []*int64
		want    Stay // without Taint
	}{
		"no toleration":             {nil, Stay{Toleration: -1}},
		"for ever":                  {[]*int64{nil}, Stay{Forever: true, Toleration: -1}},
		"one second and two":        {[]*int64{seconds(1), seconds(2)}, Stay{For: time.Second}},
		"one second and for ever":   {[]*int64{seconds(1), nil}, Stay{For: time.Second}},
		"for ever and one second":   {[]*int64{nil, seconds(1)}, Stay{For: time.Second, Toleration: 1}},
		"one second and not at all": {[]*int64{seconds(1), seconds(0)}, Stay{Toleration: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			taints := []v1.Taint{{Key: "k0", Effect: v1.TaintEffectNoExecute}, {Key: "k1", Effect: v1.TaintEffectNoExecute}}[:max(1, len(row.seconds))]
			var tolerations []v1.Toleration
			for i, s := range row.seconds {
				tolerations = append(tolerations, v1.Toleration{Key: fmt.Sprint("k", i), Operator: v1.TolerationOpExists, TolerationSeconds: s})
			}
			got := Tolerate(NoExecute(taints), tolerations)
			got.Taint = nil
			require.Equal(t, row.want, got)
		})
	}
}

// Upstream's TestTaintsNodeByCondition: a node that had other conditions before ends up with exactly these taints.
func TestUpstreamsTaintsByCondition(t *testing.T) {
	ready := condition(v1.NodeReady, v1.ConditionTrue)
	for name, row := range map[string]struct {
		conditions []v1.NodeCondition
		want       string
	}{
		"no network":    {[]v1.NodeCondition{ready, condition(v1.NodeNetworkUnavailable, v1.ConditionTrue)}, v1.TaintNodeNetworkUnavailable},
		"not ready":     {[]v1.NodeCondition{condition(v1.NodeReady, v1.ConditionFalse)}, v1.TaintNodeNotReady},
		"ready unknown": {[]v1.NodeCondition{condition(v1.NodeReady, v1.ConditionUnknown)}, v1.TaintNodeUnreachable},
		"nothing amiss": {[]v1.NodeCondition{ready, condition(v1.NodeNetworkUnavailable, v1.ConditionFalse)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			others := v1.Taint{Key: "dedicated", Value: "gpu", Effect: v1.TaintEffectNoSchedule}
			for _, before := range []string{v1.TaintNodeNetworkUnavailable, v1.TaintNodeNotReady, v1.TaintNodeUnreachable, "dedicated"} {
				have := []v1.Taint{others}
				if before != others.Key {
					have = append(have, v1.Taint{Key: before, Effect: v1.TaintEffectNoSchedule})
				}
				want := []v1.Taint{others}
				if row.want != "" {
					want = append(want, v1.Taint{Key: row.want, Effect: v1.TaintEffectNoSchedule})
				}
				got := Diff(have, ForConditions(row.conditions, false), OwnNoSchedule).Apply(have, time.Unix(0, 0))
				require.Equal(t, want, got, "after %s", before)
			}
		})
	}
}
