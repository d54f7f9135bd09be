package evictor_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

func TestBadObserverFreezesVerdicts(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	e := c.Start(config())
	e.SetObserverHealth(errors.New("the watch is broken"))
	c.Fail("a-0")
	c.Advance(10 * time.Minute)
	require.Empty(t, says(c, "Unknown"))
	e.SetObserverHealth(nil)
	c.Advance(39 * time.Second)
	require.Empty(t, says(c, "Unknown"), "all clocks started anew")
	c.Advance(10 * time.Second)
	require.NotEmpty(t, says(c, "Unknown"))
}

// What waited when the observer went blind waits for one more grace period, and so does a pod that is then bound to an
// emptied node.
func TestObserverThatReturnsTaintsNobodyBeforeAGrace(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 16))
	e := c.Start(config())
	c.Fail("a-0", "a-1", "a-2", "a-3", "a-4", "a-5", "a-6", "a-7")
	c.Advance(50 * time.Second)
	require.Len(t, says(c, "NoExecute", "add"), 1, "seven wait")
	e.SetObserverHealth(errors.New("the watch is broken"))
	c.Advance(153 * time.Second)
	e.SetObserverHealth(nil)
	c.Advance(39 * time.Second)
	require.Len(t, says(c, "NoExecute", "add"), 1)
	c.Advance(20 * time.Second)
	require.Equal(t, []string{"45.000", "250.000", "260.000"}, times(says(c, "NoExecute", "add")), "the wait cost no tokens")
}

func TestObserverThatReturnsEmptiesNobodyBeforeAGrace(t *testing.T) {
	cfg := config()
	cfg.TaintBasedEviction = false
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(1))
	e := c.Start(cfg)
	c.Fail("a-0")
	c.Advance(6 * time.Minute)
	require.Len(t, c.Evicted(), 1)
	e.SetObserverHealth(errors.New("the watch is broken"))
	c.Advance(time.Minute)
	e.SetObserverHealth(nil)
	c.AddPod("late", "a-0")
	c.Advance(39 * time.Second)
	require.Len(t, c.Evicted(), 1)
	c.Advance(20 * time.Second)
	require.Len(t, c.Evicted(), 2)
}

// The same while a node is being emptied: its other pods wait.
func TestObserverThatReturnsWhileANodeIsEmptiedStopsIt(t *testing.T) {
	cfg := config()
	cfg.TaintBasedEviction = false
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(3))
	e := c.Start(cfg)
	c.FailWrites(func(write, object string) error {
		if object == "default/a-0-p0" && write == "evict" {
			e.SetObserverHealth(errors.New("the watch is broken"))
			e.SetObserverHealth(nil)
		}
		return nil
	})
	c.Fail("a-0")
	c.Advance(305*time.Second + 39*time.Second)
	require.Equal(t, []string{"a-0-p0"}, c.Evicted())
	c.Advance(6 * time.Minute)
	require.Len(t, c.Evicted(), 3)
}

// The same for a node whose turn has come: its taint is about to be written.
func TestObserverThatReturnsDuringATurnVoidsIt(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3))
	e := c.Start(config())
	blind := false
	c.FailWrites(func(write, object string) error {
		if write == "conditions" && !blind {
			blind = true
			e.SetObserverHealth(errors.New("the watch is broken"))
			e.SetObserverHealth(nil)
		}
		return nil
	})
	c.Fail("a-0")
	c.Advance(80 * time.Second)
	require.True(t, blind, "at 45")
	require.Contains(t, c.Taints("a-0"), "node.kubernetes.io/unreachable:NoSchedule")
	require.False(t, c.HasNoExecute("a-0"))
	c.Advance(30 * time.Second)
	require.Equal(t, []string{"90.000"}, times(says(c, "NoExecute", "add")))
}

// Exact mode does not spin either while nodes wait for a grace period and verdicts are frozen.
func TestBadObserverInExactModeWaits(t *testing.T) {
	cfg := config()
	cfg.NodeMonitorPeriod = 0
	c := evictortest.New(t, evictortest.Zone("a", 4))
	e := c.Start(cfg)
	c.Fail("a-0")
	c.Advance(time.Minute)
	e.SetObserverHealth(errors.New("the watch is broken"))
	e.SetObserverHealth(nil) // a-0 must be seen failed for one more grace period
	c.Advance(10 * time.Second)
	e.SetObserverHealth(errors.New("the watch is broken"))
	c.Advance(29 * time.Second)
	for range 3 { // at the end of that grace period, when there can be no verdicts
		c.Clock().Step(time.Second)
		next, err := e.Step(context.Background())
		require.NoError(t, err)
		require.True(t, next.IsZero() || next.After(c.Clock().Now()), next)
	}
	e.SetObserverHealth(nil)
	c.Advance(time.Minute)
	require.True(t, c.HasNoExecute("a-0"))
}

// A node that reports Ready while verdicts are frozen leaves its queue once, not at each report.
func TestNodeThatReportsReadyWhileVerdictsAreFrozenIsNotQueuedAgain(t *testing.T) {
	for _, period := range []time.Duration{0, 5 * time.Second} {
		cfg := config()
		cfg.NodeMonitorPeriod, cfg.NodeEvictionRate = period, 0.001
		c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.Heartbeats(10*time.Second, 10*time.Second))
		told := map[evictor.Kind]int{}
		e := c.Start(cfg, evictor.Options{Observer: evictor.ObserverFunc(func(d evictor.Decision) {
			if d.Node == "a-1" {
				told[d.Kind]++
			}
		})})
		c.Fail("a-0", "a-1")
		c.Advance(time.Minute)
		e.SetObserverHealth(errors.New("blind"))
		c.Recover("a-1")
		c.Advance(10 * time.Minute)
		require.Equal(t, 1, told[evictor.NodeQueued], period)
		require.Equal(t, 1, told[evictor.NodeDequeued], period)
	}
}

// What became overdue while the observer was blind leaves node by node, as after a pause, once its nodes have been
// watched again.
func TestOverdueAfterABadObserverLeavesNodeByNode(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 9), evictortest.PodsPerNode(1))
	e := c.Start(config())
	c.Fail("a-0", "a-1", "a-2", "a-3")
	c.Advance(2 * time.Minute)
	require.Len(t, says(c, "NoExecute", "add"), 4)
	e.SetObserverHealth(errors.New("blind"))
	c.Advance(10 * time.Minute)
	e.SetObserverHealth(nil)
	c.Advance(39 * time.Second)
	require.Empty(t, c.Evicted())
	c.Advance(2 * time.Minute)
	require.Equal(t, []string{"765.000", "775.000", "785.000", "795.000"}, times(says(c, `"evict"`)))
}
