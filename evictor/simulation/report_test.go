package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/internal/scenario"
	"github.com/evictkit/evictkit/zone"
)

// With taints only tolerations spare a pod, without them only a DaemonSet does.
func TestWhyPodsAreLeftDependsOnTheWayOfEviction(t *testing.T) {
	tolerating := []v1.Toleration{{Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute}}
	for _, test := range []struct {
		taints bool
		spec   PodSpec
		want   string
	}{
		{true, PodSpec{OwnerKind: "DaemonSet"}, LeftTurn},
		{true, PodSpec{Tolerations: tolerating}, LeftForever},
		{false, PodSpec{OwnerKind: "DaemonSet", Tolerations: tolerating}, LeftForever},
		{false, PodSpec{Tolerations: tolerating}, LeftTurn},
	} {
		c := New(&Clock{})
		for _, name := range []string{"a", "b"} {
			require.NoError(t, c.AddNode(name, zone.Key{Zone: "z"}))
		}
		require.NoError(t, c.AddPod(evictor.PodKey{Namespace: "default", Name: "p"}, "a", test.spec))
		_, r := playOn(t, c, &scenario.Scenario{
			Config: scenario.Config{TaintBasedEviction: &test.taints, NodeEvictionRate: ptr(0.0)},
			Events: []scenario.Event{{At: at(time.Minute), Fail: &scenario.Selector{Node: "a"}}},
			Until:  at(30 * time.Minute),
		})
		require.Equal(t, map[string]int{test.want: 1}, r.Left, test)
	}
}

// A node counts as tainted even if its taint was lifted because every zone was down.
func TestNodesThatCameBackAfterTheirTaintWasLiftedWereTainted(t *testing.T) {
	lines, r := play(t, &scenario.Scenario{
		Heartbeat: scenario.Heartbeat{Spread: ptr(scenario.SpreadNone)},
		Cluster:   scenario.Cluster{Zones: []scenario.Zone{{Name: "a", Nodes: 3, PodsPerNode: 2, TolerationSeconds: ptr(scenario.TolerationSeconds(3000))}}},
		Events: []scenario.Event{
			{At: at(time.Minute), Fail: &scenario.Selector{Node: "a-000"}},
			{At: at(3 * time.Minute), Fail: &scenario.Selector{Zone: ptr("a")}},
			{At: at(6 * time.Minute), Recover: &scenario.Selector{Zone: ptr("a")}},
		},
		Until: at(10 * time.Minute),
	})
	require.Contains(t, lines, `{"t":225.000,"kind":"taint","node":"a-000","key":"node.kubernetes.io/unreachable","effect":"NoExecute","op":"remove","reason":"Ready is Unknown"}`)
	require.Equal(t, 2, r.CameBackNodes)
	require.Equal(t, 4, r.CameBackPods)
}
