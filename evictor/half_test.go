package evictor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// kinds counts the decisions by kind.
func kinds(decisions *[]evictor.Decision) map[evictor.Kind]int {
	count := map[evictor.Kind]int{}
	for _, d := range *decisions {
		count[d.Kind]++
	}
	return count
}

func noted(decisions *[]evictor.Decision) evictor.Observer {
	return evictor.ObserverFunc(func(d evictor.Decision) { *decisions = append(*decisions, d) })
}

// TaintEviction alone: nodes are not watched, written or reported. Our own taints are like foreign ones: they wait for
// no rate and no grace period, and a pause holds them back.
func TestTaintEvictionAlone(t *testing.T) {
	for _, period := range []time.Duration{0, 5 * time.Second} {
		cfg := config()
		cfg.Half, cfg.NodeMonitorPeriod, cfg.NodeEvictionRate = evictor.TaintEviction, period, 0
		var decisions []evictor.Decision
		c := evictortest.New(t, evictortest.Zone("a", 3))
		for _, node := range []string{"a-0", "a-1", "a-2"} {
			c.AddPod("p-"+node, node, evictortest.TolerateFor(v1.TaintNodeUnreachable, 60))
		}
		unreachable := v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute}
		c.Taint("a-0", unreachable) // before it starts
		e := c.Start(cfg, evictor.Options{Observer: noted(&decisions)})
		c.Fail("a-0", "a-1", "a-2")
		c.Advance(10 * time.Minute)
		require.Equal(t, []string{"p-a-0"}, c.Evicted(), "and nobody minds that all are silent")
		require.False(t, c.HasNoExecute("a-1"))
		require.True(t, c.HasNoExecute("a-0"), "it is not ours to lift")
		require.Empty(t, e.Zones())
		require.Equal(t, map[evictor.Kind]int{evictor.EvictionArmed: 1, evictor.PodEvicted: 1}, kinds(&decisions))

		c.Taint("a-1", unreachable)
		c.Taint("a-2", unreachable)
		c.Advance(30 * time.Second)
		e.Pause("upgrade")
		c.Untaint("a-2", unreachable.Key, unreachable.Effect)
		c.Advance(time.Minute)
		require.Equal(t, []string{"p-a-0"}, c.Evicted())
		e.Resume("upgrade")
		c.Advance(0)
		require.Equal(t, []string{"p-a-0", "p-a-1"}, c.Evicted(), "at once, at rate 0")
		c.DeleteNode("a-2")
		c.Advance(time.Minute)
		require.Equal(t, map[evictor.Kind]int{
			evictor.EvictionArmed: 3, evictor.EvictionDelayed: 1, evictor.EvictionCancelled: 1, evictor.PodEvicted: 2, evictor.GateChanged: 2,
		}, kinds(&decisions))
	}
}

// Lifecycle alone: nodes are watched, tainted and lifted as usual, and no eviction is armed because of taints.
func TestLifecycleAlone(t *testing.T) {
	cfg := config()
	cfg.Half = evictor.Lifecycle
	var decisions []evictor.Decision
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(1))
	e := c.Start(cfg, evictor.Options{Observer: noted(&decisions)})
	c.Fail("a-0")
	c.Taint("a-1", v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute})
	c.Advance(20 * time.Minute)
	require.True(t, c.HasNoExecute("a-0"))
	require.Empty(t, c.Evicted())
	count := kinds(&decisions)
	require.Positive(t, count[evictor.PodMarkedNotReady])
	require.Zero(t, count[evictor.EvictionArmed]+count[evictor.EvictionCancelled]+count[evictor.PodEvicted])
	c.Recover("a-0")
	c.Advance(time.Minute)
	require.False(t, c.HasNoExecute("a-0"))
	require.Len(t, e.Zones(), 1)
}

func TestNoSuchHalf(t *testing.T) {
	cfg := config()
	cfg.Half = evictor.TaintEviction + 1
	require.ErrorContains(t, cfg.Validate(), "half: Invalid value")
}
