package taints

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

func condition(kind v1.NodeConditionType, status v1.ConditionStatus) v1.NodeCondition {
	return v1.NodeCondition{Type: kind, Status: status}
}

func TestForConditions(t *testing.T) {
	for name, row := range map[string]struct {
		conditions    []v1.NodeCondition
		unschedulable bool
		want          []string
	}{
		"no conditions":         {nil, false, nil},
		"ready":                 {[]v1.NodeCondition{condition(v1.NodeReady, v1.ConditionTrue)}, false, nil},
		"not ready":             {[]v1.NodeCondition{condition(v1.NodeReady, v1.ConditionFalse)}, false, []string{"node.kubernetes.io/not-ready"}},
		"unreachable":           {[]v1.NodeCondition{condition(v1.NodeReady, v1.ConditionUnknown)}, false, []string{"node.kubernetes.io/unreachable"}},
		"a status nobody knows": {[]v1.NodeCondition{condition(v1.NodeReady, "Maybe"), condition(v1.NodeDiskPressure, "")}, false, nil},
		"memory":                {[]v1.NodeCondition{condition(v1.NodeMemoryPressure, v1.ConditionTrue)}, false, []string{"node.kubernetes.io/memory-pressure"}},
		"disk":                  {[]v1.NodeCondition{condition(v1.NodeDiskPressure, v1.ConditionTrue)}, false, []string{"node.kubernetes.io/disk-pressure"}},
		"network":               {[]v1.NodeCondition{condition(v1.NodeNetworkUnavailable, v1.ConditionTrue)}, false, []string{"node.kubernetes.io/network-unavailable"}},
		"pids":                  {[]v1.NodeCondition{condition(v1.NodePIDPressure, v1.ConditionTrue)}, false, []string{"node.kubernetes.io/pid-pressure"}},
		"no pressure, or unknown": {[]v1.NodeCondition{condition(v1.NodeMemoryPressure, v1.ConditionFalse), condition(v1.NodeDiskPressure, v1.ConditionUnknown),
			condition(v1.NodeNetworkUnavailable, v1.ConditionUnknown), condition(v1.NodePIDPressure, v1.ConditionFalse)}, false, nil},
		"a condition of others": {[]v1.NodeCondition{condition("KernelDeadlock", v1.ConditionTrue)}, false, nil},
		"cordoned":              {[]v1.NodeCondition{condition(v1.NodeReady, v1.ConditionTrue)}, true, []string{"node.kubernetes.io/unschedulable"}},
		"everything, in a fixed order": {[]v1.NodeCondition{condition(v1.NodePIDPressure, v1.ConditionTrue), condition(v1.NodeNetworkUnavailable, v1.ConditionTrue),
			condition(v1.NodeDiskPressure, v1.ConditionTrue), condition(v1.NodeMemoryPressure, v1.ConditionTrue), condition(v1.NodeReady, v1.ConditionUnknown)}, true,
			[]string{"node.kubernetes.io/unreachable", "node.kubernetes.io/memory-pressure", "node.kubernetes.io/disk-pressure",
				"node.kubernetes.io/network-unavailable", "node.kubernetes.io/pid-pressure", "node.kubernetes.io/unschedulable"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := ForConditions(row.conditions, row.unschedulable)
			var keys []string
			for i := range got {
				keys = append(keys, got[i].Key)
				require.Equal(t, v1.Taint{Key: got[i].Key, Effect: v1.TaintEffectNoSchedule}, got[i])
				require.True(t, OwnNoSchedule(&got[i]))
				require.False(t, OwnNoExecute(&got[i]))
			}
			require.Equal(t, row.want, keys)
		})
	}
}

func TestForReady(t *testing.T) {
	for status, want := range map[v1.ConditionStatus]string{
		v1.ConditionTrue: "", v1.ConditionFalse: "node.kubernetes.io/not-ready", v1.ConditionUnknown: "node.kubernetes.io/unreachable", "": "", "Maybe": "",
	} {
		taint, ok := ForReady(status)
		require.Equal(t, want != "", ok, status)
		require.Equal(t, want, taint.Key)
		require.Equal(t, ok, OwnNoExecute(&taint))
		require.False(t, OwnNoSchedule(&taint))
	}
}

func TestWhatIsNotOurs(t *testing.T) {
	for _, taint := range []v1.Taint{
		{},
		{Key: "example.com/dedicated", Effect: v1.TaintEffectNoExecute},
		{Key: "example.com/dedicated", Effect: v1.TaintEffectNoSchedule},
		{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectPreferNoSchedule},
		{Key: v1.TaintNodeMemoryPressure, Effect: v1.TaintEffectNoExecute},
		{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoExecute},
		{Key: v1.TaintNodeOutOfService, Effect: v1.TaintEffectNoExecute},
	} {
		require.False(t, OwnNoExecute(&taint), "%v", taint)
		require.False(t, OwnNoSchedule(&taint), "%v", taint)
	}
	require.True(t, OwnNoExecute(&v1.Taint{Key: v1.TaintNodeNotReady, Value: "any", Effect: v1.TaintEffectNoExecute}), "values do not matter")
	require.True(t, OwnNoSchedule(&v1.Taint{Key: v1.TaintNodeUnschedulable, Value: "any", Effect: v1.TaintEffectNoSchedule}))
}
