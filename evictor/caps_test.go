package evictor_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// Zones share what a cap over all of them leaves: a zone with many failed nodes does not starve the others.
func TestCapsStarveNoZone(t *testing.T) {
	for _, failed := range []int{0, 2} {
		cfg := config()
		cfg.MaxNodesPerSecond, cfg.MaxFailedNodes = 0.05, failed
		c := evictortest.New(t, evictortest.Zone("a", 12), evictortest.Zone("b", 12))
		c.Start(cfg)
		c.Fail("a-0", "a-1", "a-2", "a-3", "a-4", "b-0")
		c.Advance(80 * time.Second) // 45 for the verdicts, then one every 20
		require.True(t, c.HasNoExecute("a-0"))
		require.True(t, c.HasNoExecute("b-0"))
	}
}

// A cap so low that its next token never comes does not make the evictor spin.
func TestCapWhoseTokenNeverComes(t *testing.T) {
	cfg := config()
	cfg.MaxNodesPerSecond = 1e-12
	c := evictortest.New(t, evictortest.Zone("a", 6))
	e, err := evictor.New(cfg, c.Clients(), evictor.Options{Clock: c.Clock()})
	require.NoError(t, err)
	c.Feed(e)
	c.Fail("a-0", "a-1")
	for range 20 {
		c.Advance(5 * time.Second)
		next, err := e.Step(context.Background())
		require.NoError(t, err)
		require.Equal(t, c.Clock().Now().Add(5*time.Second), next)
	}
	require.True(t, c.HasNoExecute("a-0"))
	require.False(t, c.HasNoExecute("a-1"))
}

func TestCaps(t *testing.T) {
	cfg := config()
	cfg.MaxFailedNodes, cfg.MaxNodesPerSecond = 3, 0.05
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.Zone("b", 4), evictortest.Zone("c", 1))
	c.Start(cfg)
	c.Fail("a-0", "a-1", "b-0", "b-1")
	c.Advance(5 * time.Minute)
	require.Equal(t, []string{"45.000", "65.000", "85.000"}, times(says(c, "NoExecute", "add")), "one in 20 seconds, three at most")
	c.Recover("a-0")
	c.Advance(30 * time.Second)
	require.Len(t, says(c, "NoExecute", "add"), 4, "room for the fourth")
}

// Pods that became overdue during a pause are on nodes that are tainted already, so the cap on failed nodes does not
// hold them.
func TestCapOnFailedNodesLetsTheOverdueGo(t *testing.T) {
	cfg := config()
	cfg.MaxFailedNodes = 1
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(1))
	e := c.Start(cfg)
	c.Fail("a-0", "a-1") // a-1 waits for a-0 to recover
	c.Advance(5 * time.Minute)
	e.Pause("maintenance")
	c.Advance(5 * time.Minute)
	e.Resume("maintenance")
	c.Advance(time.Minute)
	require.Equal(t, []string{"a-0-p0"}, c.Evicted())
	require.False(t, c.HasNoExecute("a-1"))
}

// Nodes that were emptied before every zone went down must be emptied again, and do not count meanwhile.
func TestEveryZoneDownMakesRoomUnderTheCap(t *testing.T) {
	cfg := config()
	cfg.MaxFailedNodes, cfg.TaintBasedEviction = 1, false
	c := evictortest.New(t, evictortest.Zone("a", 2), evictortest.PodsPerNode(1))
	c.Start(cfg)
	c.Fail("a-0")
	c.Advance(6 * time.Minute)
	require.Equal(t, []string{"a-0-p0"}, c.Evicted())
	c.Fail("a-1")
	c.Advance(2 * time.Minute)
	c.AddPod("late", "a-0")
	c.Recover("a-1")
	c.Advance(15 * time.Minute)
	require.Equal(t, []string{"a-0-p0", "late"}, c.Evicted())
}

// A node whose taint was removed before the store showed it frees its place under the cap after a grace period, even if
// no node waits to be tainted.
func TestTaintThatIsNeverSeenLeavesItsPlaceUnderTheCap(t *testing.T) {
	for _, period := range []time.Duration{0, 5 * time.Second} {
		cfg := config()
		cfg.NodeMonitorPeriod, cfg.MaxFailedNodes = period, 1
		c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.PodsPerNode(1))
		e := c.Start(cfg)
		c.FailWrites(func(write, object string) error {
			switch {
			case write != "podStatus" || object != "default/a-0-p0":
			case !c.HasNoExecute("a-0"):
				return errors.New("unavailable") // so that the pod is marked after the node is tainted, in one go
			default:
				e.Hold("a-0", "a technician is there")
				c.Untaint("a-0", v1.TaintNodeUnreachable, v1.TaintEffectNoExecute)
			}
			return nil
		})
		c.Fail("a-0")
		e.Pause("maintenance")
		c.Advance(time.Minute)
		e.Resume("maintenance")
		c.Advance(time.Minute)
		require.NotEmpty(t, says(c, `"taint"`, "a-0", "NoExecute"))
		require.False(t, c.HasNoExecute("a-0"))
		c.Fail("a-1")
		c.Advance(2 * time.Minute)
		require.True(t, c.HasNoExecute("a-1"), period)
	}
}
