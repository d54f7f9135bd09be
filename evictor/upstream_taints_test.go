package evictor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// Upstream's tests about taints and labels; see upstream_test.go.

const (
	unready     = "node.kubernetes.io/not-ready"
	unreachable = "node.kubernetes.io/unreachable"
)

func bothEffects(key string) []string { return []string{key + ":NoExecute", key + ":NoSchedule"} }

// TestApplyNoExecuteTaints and TestApplyNoExecuteTaintsToUnreachableNode: taints are added and lifted with their
// conditions, and none is added for a condition that is missing by the time of its turn. What had failed before the start
// is watched for a grace first.
func TestUpstreamsApplyNoExecuteTaints(t *testing.T) {
	u := newUpstreams(t, upstreamsConfig())
	u.node("node0", "zone1", longAgo, v1.ConditionUnknown)
	u.node("node1", "zone1", longAgo, v1.ConditionTrue)
	u.node("node2", "zone1", longAgo, v1.ConditionFalse)
	u.node("node3", "zone1", longAgo, v1.ConditionTrue)
	u.node("node4", "zone1", longAgo, v1.ConditionTrue)
	for _, name := range []string{"node1", "node2", "node3", "node4"} {
		u.reporting[name] = true
	}
	u.pass(50 * time.Second)
	require.Equal(t, []string{unreachable + ":NoSchedule"}, u.taints("node0"))
	require.Equal(t, []string{unready + ":NoSchedule"}, u.taints("node2"))
	u.pass(5 * time.Second)
	u.reporting["node4"] = false
	u.pass(5 * time.Second)
	require.Equal(t, bothEffects(unreachable), u.taints("node0"))
	require.Empty(t, u.taints("node1"))
	require.Equal(t, bothEffects(unready), u.taints("node2"))
	require.Empty(t, u.taints("node4"), "its report is within the grace period")

	u.says("node2", v1.ConditionTrue)
	u.pass(5 * time.Second)
	require.Empty(t, u.taints("node2"), "well again")

	u.says("node3", v1.ConditionFalse)
	u.conditions("node3", v1.NodeCondition{Type: v1.NodeMemoryPressure, Status: v1.ConditionUnknown})
	u.pass(5 * time.Second)
	require.Empty(t, u.taints("node3"), "it does not say any more")
	u.says("node3", v1.ConditionTrue)

	u.pass(40 * time.Second)
	require.Equal(t, bothEffects(unreachable), u.taints("node4"), "and now it is not")
	require.Empty(t, u.taints("node1"))
	u.says("node4", v1.ConditionTrue)
	u.pass(5 * time.Second)
	require.Empty(t, u.taints("node4"))
}

// TestApplyNoExecuteTaintsToNodesEnqueueTwice: a node that waits, recovers and waits again delays no other. The rate
// makes them wait.
func TestUpstreamsNodeThatWaitsTwice(t *testing.T) {
	cfg := upstreamsConfig()
	cfg.NodeEvictionRate = 0.1
	u := newUpstreams(t, cfg)
	for name, says := range map[string]v1.ConditionStatus{"node0": v1.ConditionUnknown, "node1": v1.ConditionTrue, "node2": v1.ConditionFalse, "node6": v1.ConditionTrue} {
		u.node(name, "zone1", longAgo, says)
	}
	u.reporting["node1"], u.reporting["node2"], u.reporting["node6"] = true, true, true
	u.pass(5 * time.Second)
	u.says("node0", v1.ConditionTrue)
	u.reporting["node0"] = true
	u.pass(5 * time.Second)
	for name, says := range map[string]v1.ConditionStatus{"node3": v1.ConditionUnknown, "node4": v1.ConditionTrue, "node5": v1.ConditionFalse} {
		u.node(name, "zone1", longAgo, says)
	}
	u.reporting["node4"], u.reporting["node5"] = true, true
	u.pass(5 * time.Second)
	u.pass(time.Minute)
	require.Empty(t, u.taints("node0"))
	require.Equal(t, bothEffects(unready), u.taints("node2"))
	require.Equal(t, bothEffects(unreachable), u.taints("node3"))
	require.Equal(t, bothEffects(unready), u.taints("node5"))
}

// TestSwapUnreachableNotReadyTaints: an unreachable node that reports not Ready gets the other taint, and back again.
func TestUpstreamsSwapOfTaints(t *testing.T) {
	u := newUpstreams(t, upstreamsConfig())
	u.node("node0", "zone1", longAgo, v1.ConditionUnknown)
	u.node("node1", "zone1", longAgo, v1.ConditionTrue)
	u.reporting["node1"] = true
	u.pass(55 * time.Second)
	require.Equal(t, bothEffects(unreachable), u.taints("node0"))
	u.says("node0", v1.ConditionFalse)
	u.pass(5 * time.Second)
	require.Equal(t, bothEffects(unready), u.taints("node0"))
	u.pass(time.Minute)
	require.Equal(t, bothEffects(unreachable), u.taints("node0"))
}

// TestTaintsNodeByCondition: a node has NoSchedule taints for the conditions that it reports. There are no NoExecute
// taints here, because the rate is 0.
func TestUpstreamsTaintsByCondition(t *testing.T) {
	cfg := upstreamsConfig()
	cfg.NodeEvictionRate = 0
	u := newUpstreams(t, cfg)
	u.node("node0", "zone1", longAgo, v1.ConditionTrue)
	u.node("node1", "zone1", longAgo, v1.ConditionTrue)
	u.reporting["node0"], u.reporting["node1"] = true, true
	u.pass(5 * time.Second)
	for _, row := range []struct {
		says []v1.NodeCondition
		want []string
	}{
		{[]v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}, {Type: v1.NodeNetworkUnavailable, Status: v1.ConditionTrue}}, []string{"node.kubernetes.io/network-unavailable:NoSchedule"}},
		{[]v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}, {Type: v1.NodeNetworkUnavailable, Status: v1.ConditionFalse}}, []string{}},
		{[]v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}, {Type: v1.NodeMemoryPressure, Status: v1.ConditionTrue}, {Type: v1.NodeDiskPressure, Status: v1.ConditionTrue}, {Type: v1.NodePIDPressure, Status: v1.ConditionUnknown}}, []string{"node.kubernetes.io/disk-pressure:NoSchedule", "node.kubernetes.io/memory-pressure:NoSchedule"}},
		{[]v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionFalse}}, []string{unready + ":NoSchedule"}},
		{[]v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionUnknown}}, []string{unreachable + ":NoSchedule"}},
		{[]v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}, []string{}},
	} {
		u.conditions("node0", row.says...)
		u.pass(5 * time.Second)
		require.Equal(t, row.want, u.taints("node0"))
	}
}

// TestReconcileNodeLabels: the deprecated labels follow the stable ones, and nothing else is touched.
func TestUpstreamsReconcileLabels(t *testing.T) {
	const region, stableOS, stableArch, betaOS, betaArch = v1.LabelTopologyRegion, v1.LabelOSStable, v1.LabelArchStable, "beta.kubernetes.io/os", "beta.kubernetes.io/arch"
	both := map[string]string{stableOS: "linux", stableArch: "amd64", betaOS: "linux", betaArch: "amd64"}
	for name, row := range map[string][2]map[string]string{
		"none":            {{}, {}},
		"none of them":    {{region: "region1"}, {region: "region1"}},
		"missing":         {{stableOS: "linux", stableArch: "amd64"}, both},
		"others":          {{stableOS: "linux", stableArch: "amd64", betaOS: "windows", betaArch: "arm"}, both},
		"deprecated only": {{betaOS: "windows"}, {betaOS: "windows"}},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstreams(t, upstreamsConfig())
			u.node("node0", "", longAgo, v1.ConditionTrue)
			u.nodes["node0"].Labels = row[0]
			u.pass(5 * time.Second)
			require.Equal(t, row[1], u.nodes["node0"].Labels)
		})
	}
}
