package evictor_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/zone"
)

// marked returns, in order, the nodes of zone a whose pod is not Ready.
func marked(c *evictortest.Cluster, nodes int) (names []string) {
	for i := range nodes {
		node := fmt.Sprint("a-", i)
		c.Clients().Pods.PodsOnNode(node, func(pod *v1.Pod) bool {
			if pod.Status.Conditions[0].Status != v1.ConditionTrue {
				names = append(names, node)
			}
			return true
		})
	}
	return names
}

func sparing(period time.Duration) evictor.Config {
	cfg := config()
	cfg.MaxMarkedNodes, cfg.MarkAllAfter, cfg.NodeMonitorPeriod, cfg.UnhealthyZoneThreshold = 2, 10*time.Minute, period, 0.4
	return cfg
}

// In a partially disrupted zone, the evictor marks the pods of only some nodes at once. It marks those of the others when
// a place is free, when the zone is better, when it has been disrupted for long, or when it is lost as a whole.
func TestFewNodesAreMarkedInAPartialDisruption(t *testing.T) {
	for _, period := range []time.Duration{0, 5 * time.Second} {
		for name, row := range map[string]struct {
			then func(c *evictortest.Cluster)
			want []string
		}{
			"one is back":     {func(c *evictortest.Cluster) { c.Recover("a-0") }, []string{"a-1", "a-2"}},
			"one is gone":     {func(c *evictortest.Cluster) { c.DeleteNode("a-1") }, []string{"a-0", "a-2"}},
			"the zone clears": {func(c *evictortest.Cluster) { c.Recover("a-0", "a-1") }, []string{"a-2", "a-3"}},
			"it takes long":   {func(c *evictortest.Cluster) { c.Advance(9 * time.Minute) }, []string{"a-0", "a-1", "a-2", "a-3"}},
			"all are lost":    {func(c *evictortest.Cluster) { c.Fail("a-4", "a-5") }, []string{"a-0", "a-1", "a-2", "a-3", "a-4", "a-5"}},
			"a restart":       {func(c *evictortest.Cluster) { c.Restart() }, []string{"a-0", "a-1"}},
			"two others fell": {func(c *evictortest.Cluster) { c.Fail("a-4") }, []string{"a-0", "a-1"}},
		} {
			c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.Zone("b", 3), evictortest.PodsPerNode(1))
			var waits []string
			c.Start(sparing(period), evictor.Options{Observer: evictor.ObserverFunc(func(d evictor.Decision) {
				if d.Kind == evictor.MarkingWaits {
					waits = append(waits, d.String())
				}
			})})
			c.Advance(time.Minute)
			c.Fail("a-0", "a-1", "a-2", "a-3")
			c.Advance(time.Minute)
			require.Equal(t, []string{"a-0", "a-1"}, marked(c, 6))
			require.Len(t, waits, 2)
			require.Contains(t, waits[0], "its pods stay Ready for now: zone :a marks the pods of only so many nodes at once")
			row.then(c)
			c.Advance(70 * time.Second)
			require.Equal(t, row.want, marked(c, 6), "%s, period %v", name, period)
		}
	}
}

// A policy may say so of any domain, and that no pods at all are marked.
func TestAPolicyThatMarksNobody(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.PodsPerNode(1))
	most := -1
	c.Start(config(), evictor.Options{Policy: zone.PolicyFunc(func(s zone.Situation) zone.Ruling {
		r := zone.DefaultPolicy().Decide(s)
		r.MaxMarked = most
		return r
	})})
	c.Fail("a-0")
	c.Advance(5 * time.Minute)
	require.Empty(t, marked(c, 6))
	most = 1
	c.Fail("a-1") // so that the policy is asked
	c.Advance(time.Minute)
	require.Equal(t, []string{"a-0"}, marked(c, 6))
}
