package evictor_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/evictortest"
)

// Without taints there is no wait for the store: a node that soon fails again is emptied on time.
func TestNodeThatFailsAgainIsEmptiedInTimeInExactMode(t *testing.T) {
	cfg := config()
	cfg.NodeMonitorPeriod, cfg.TaintBasedEviction, cfg.PodEvictionTimeout, cfg.NodeEvictionRate = 0, false, 10*time.Second, 1
	c := evictortest.New(t, evictortest.Zone("a", 3))
	c.Start(cfg)
	c.Advance(time.Minute)
	c.AddPod("one", "a-0")
	c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
	c.Advance(11 * time.Second)
	require.Equal(t, []string{"one"}, c.Evicted())
	c.Condition("a-0", v1.NodeReady, v1.ConditionTrue)
	c.Advance(time.Second)
	c.AddPod("two", "a-0")
	c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
	c.Advance(time.Minute)
	require.Equal(t, []string{"70.000", "82.000"}, times(says(c, `"evict"`)))
}

// A node waits for a grace period after its heartbeat clock restarted, and reports not Ready meanwhile. It is looked at
// when that grace period ends, and not a grace period after its report.
func TestGraceOfANodeThatSpeaksEndsInTimeInExactMode(t *testing.T) {
	cfg := config()
	cfg.NodeMonitorPeriod = 0
	c := evictortest.New(t, evictortest.Zone("a", 3))
	c.AddPod("p", "a-0", evictortest.TolerateFor(v1.TaintNodeUnreachable, 50), evictortest.TolerateFor(v1.TaintNodeNotReady, 50))
	e := c.Start(cfg)
	c.Fail("a-0")
	c.Advance(time.Minute)
	require.True(t, c.HasNoExecute("a-0"))
	e.SetObserverHealth(errors.New("blind"))
	e.SetObserverHealth(nil)
	c.Advance(20 * time.Second)
	c.Recover("a-0")
	c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
	c.Advance(2 * time.Minute)
	require.Equal(t, []string{"100.000"}, times(says(c, `"evict"`)))
}

// A node that reports not Ready is settled one grace period after a start, and not only when some other deadline
// passes.
func TestNodeThatSaysItIsNotReadySettlesInTimeInExactMode(t *testing.T) {
	cfg := config()
	cfg.NodeMonitorPeriod = 0
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	c.Start(cfg)
	c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
	c.Advance(293 * time.Second)
	c.Restart()
	c.Advance(2 * time.Minute)
	require.Equal(t, []string{"333.000"}, times(says(c, `"evict"`)))
}

// After a gap in which nobody listened, a node that reports not Ready waits for one more grace period, and no Step asks
// to be called at once meanwhile.
func TestNodeThatSaysItIsNotReadyWaitsAfterAGapInExactMode(t *testing.T) {
	cfg := config()
	cfg.NodeMonitorPeriod = 0
	c := evictortest.New(t, evictortest.Zone("a", 3))
	e := c.Start(cfg)
	c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
	c.Advance(2 * time.Minute)
	require.True(t, c.HasNoExecute("a-0"))
	c.Clock().Step(10 * time.Minute)
	next, err := e.Step(context.Background())
	require.NoError(t, err)
	require.True(t, next.After(c.Clock().Now()), "%v at %v", next, c.Clock().Now())
	require.Empty(t, says(c, "Unknown"))
}
