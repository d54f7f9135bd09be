package taints

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

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
