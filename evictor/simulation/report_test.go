package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation/internal/placement"
	"github.com/evictkit/evictkit/zone"
)

// With taints only tolerations spare a pod, without them nothing does. Pods of DaemonSets do not count.
func TestWhyPodsAreLeftDependsOnTheWayOfEviction(t *testing.T) {
	tolerating := []v1.Toleration{{Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute}}
	for _, test := range []struct {
		taints bool
		spec   podSpec
		want   map[string]int
	}{
		{true, podSpec{OwnerKind: "DaemonSet"}, map[string]int{}},
		{true, podSpec{}, map[string]int{leftStopped: 1}},
		{true, podSpec{Spec: placement.Spec{Tolerations: tolerating}}, map[string]int{leftForever: 1}},
		{false, podSpec{OwnerKind: "DaemonSet", Spec: placement.Spec{Tolerations: tolerating}}, map[string]int{}},
		{false, podSpec{Spec: placement.Spec{Tolerations: tolerating}}, map[string]int{leftStopped: 1}},
	} {
		c := newCluster(clockOf(nil))
		for _, name := range []string{"a", "b"} {
			require.NoError(t, c.AddNode(name, zone.Key{Zone: "z"}))
		}
		require.NoError(t, c.AddPod(evictor.PodKey{Namespace: "default", Name: "p"}, "a", test.spec))
		_, r := playOn(t, c, Scenario{
			Config:       configured(func(c *evictor.Config) { c.Nodes.TaintBasedEviction, c.Nodes.NodeEvictionRate = test.taints, 0 }),
			Events:       []Event{{At: time.Minute, Fail: named("a")}},
			Until:        30 * time.Minute,
			ReplaceAfter: -1,
		})
		require.Equal(t, test.want, r.Left, test)
	}
}

// A node counts as tainted even if its taint was lifted because every zone was down.
func TestNodesThatCameBackAfterTheirTaintWasLiftedWereTainted(t *testing.T) {
	lines, r := play(t, Scenario{
		LeasesTogether: true,
		Zones:          []Zone{{Name: "a", Nodes: 3, PodsPerNode: 2, TolerationSeconds: ptr(TolerationSeconds(3000))}},
		Events: []Event{
			{At: time.Minute, Fail: named("a-000")},
			{At: 3 * time.Minute, Fail: &Nodes{Zone: "a"}},
			{At: 6 * time.Minute, Recover: &Nodes{Zone: "a"}},
		},
		Until:        10 * time.Minute,
		ReplaceAfter: -1,
	})
	require.Contains(t, lines, `{"t":225.000,"kind":"taint","node":"a-000","key":"node.kubernetes.io/unreachable","effect":"NoExecute","op":"remove","reason":"Ready is Unknown"}`)
	require.Equal(t, 2, r.CameBackNodes)
	require.Equal(t, 4, r.CameBackPods)
}
