package evictor_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/simulation"
)

// A hybrid node is cut off and restarts meanwhile. Its pods tolerate unreachable for 30 minutes, as its provider advises, and
// not-ready for the 5 minutes that admission adds. It is back after 20 minutes, and its kubelet reports NotReady first. Nobody leaves
// unless that lasts longer than these 5 minutes.
func TestANodeThatRestartsWithinItsTolerationKeepsItsPods(t *testing.T) {
	seconds := int64(1800)
	node := simulation.Nodes{Names: []string{"dc1-003"}}
	config := evictor.DefaultConfig()
	config.Nodes.NodeMonitorGracePeriod, config.Nodes.LargeClusterSizeThreshold = 40*time.Second, 100_000
	for notReady, evicted := range map[time.Duration]time.Duration{0: 0, 15 * time.Second: 0, 4 * time.Minute: 0, 6 * time.Minute: 26 * time.Minute} {
		r, err := simulation.Play(context.Background(), simulation.Scenario{
			Config: config, NotReadyFor: notReady, Until: 50 * time.Minute,
			Zones: []simulation.Zone{{Name: "dc1", Nodes: 10, PodsPerNode: 3, Pod: simulation.PodFields{Tolerations: []simulation.Toleration{
				{Key: v1.TaintNodeUnreachable, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds},
			}}}},
			Events: []simulation.Event{{At: time.Minute, Fail: &node}, {At: 21 * time.Minute, Recover: &node}},
		})
		require.NoError(t, err)
		require.Equal(t, 1, r.TaintedNodes)
		require.Equal(t, evicted, r.FirstEviction, "not ready for %s", notReady)
	}
}

// The same as a user's test, beside a pod that does not tolerate not-ready at all: it leaves as soon as its node is that.
func TestAKubeletThatStartsSwapsTheTaint(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.NotReadyFor(15*time.Second))
	c.AddPod("stays", "a-0", evictortest.TolerateFor(v1.TaintNodeUnreachable, 1800), evictortest.TolerateFor(v1.TaintNodeNotReady, 300))
	c.AddPod("leaves", "a-0", evictortest.TolerateFor(v1.TaintNodeUnreachable, 1800))
	c.Start(evictor.DefaultConfig())
	c.Fail("a-0")
	c.Advance(20 * time.Minute)
	require.Empty(t, c.Evicted())
	c.Recover("a-0")
	c.Advance(10 * time.Second)
	require.Equal(t, []string{"leaves"}, c.Evicted())
	require.Contains(t, c.Taints("a-0"), v1.TaintNodeNotReady+":NoExecute")
	require.NotContains(t, c.Taints("a-0"), v1.TaintNodeUnreachable+":NoExecute")
	c.Advance(10 * time.Second)
	require.Empty(t, c.Taints("a-0"), "15s are over")
	c.Advance(time.Hour)
	require.Equal(t, []string{"leaves"}, c.Evicted())
}
