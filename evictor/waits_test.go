package evictor_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// An eviction that is due before its node has been watched for a grace period goes when that has passed. In exact mode
// no pass comes by, and a node that speaks has no deadline then.
func TestEvictionAfterARestartWaitsForItsGraceAndNoLongerInExactMode(t *testing.T) {
	cfg := config()
	cfg.NodeMonitorPeriod = 0
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.Heartbeats(10*time.Second, 10*time.Second))
	c.AddPod("p", "a-0", evictortest.TolerateFor(v1.TaintNodeNotReady, 100))
	c.Start(cfg)
	c.Advance(time.Minute)
	c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
	c.Advance(65 * time.Second)
	c.Restart() // at 125; p is due at 160
	c.Advance(2 * time.Minute)
	require.Equal(t, []string{"165.000"}, times(says(c, `"evict"`)))
}

// Kick asks again at once, also on behalf of the writes and evictions that were tried in vain.
func TestKickHurriesWhatWaitsForAPermission(t *testing.T) {
	cfg := config()
	cfg.GateInterval = time.Hour
	var closed error
	c := evictortest.New(t, evictortest.Zone("a", 6))
	c.AddPod("p", "a-0", evictortest.TolerateFor("one", 30))
	e := c.Start(cfg, evictor.Options{MayWrite: func() error { return closed }})
	c.Fail("a-1")
	c.Advance(time.Minute)
	require.True(t, c.HasNoExecute("a-1"))
	closed = errors.New("not the leader")
	c.Recover("a-1")
	c.Fail("a-2")
	c.Taint("a-0", v1.Taint{Key: "one", Effect: v1.TaintEffectNoExecute})
	c.Advance(2 * time.Minute)
	closed = nil
	e.Kick()
	c.Advance(0)
	require.Empty(t, c.Taints("a-1"))
	require.True(t, c.HasNoExecute("a-2"))
	require.Equal(t, []string{"p"}, c.Evicted())
}

// What a foreign taint made due under a pause leaves when the pause ends, whatever becomes of its failed node, at rate 0 too.
func TestOverdueEvictionGoesOnWhenItsNodeIsReady(t *testing.T) {
	cfg := config()
	cfg.RetryMax = time.Hour
	c := evictortest.New(t, evictortest.Zone("a", 3))
	e := c.Start(cfg)
	c.AddPod("p", "a-0", evictortest.TolerateFor("one", 30))
	c.Fail("a-0", "a-1", "a-2")
	c.Advance(time.Minute)
	e.Pause("maintenance")
	c.Taint("a-0", v1.Taint{Key: "one", Effect: v1.TaintEffectNoExecute})
	c.Advance(time.Minute)
	require.Empty(t, c.Evicted())
	e.Resume("maintenance")
	c.Advance(0)
	require.Equal(t, []string{"p"}, c.Evicted())
	c.Recover("a-0", "a-1", "a-2")
	c.Advance(10 * time.Second)
	require.Equal(t, []string{"p"}, c.Evicted())
}

// A node that reports Ready while verdicts are frozen leaves its queue once, and not with each report anew.
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

// A node that lost its taint before the store was seen to have it leaves its place under the cap after a grace period,
// also when nobody waits to taint it again.
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
