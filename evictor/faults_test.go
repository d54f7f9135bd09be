package evictor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/zone"
)

// The last check of one pod sees a taint before its event comes; the event still has to arm the others.
func TestTaintSeenByALastCheckArmsTheOtherPods(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 2))
	c.AddPod("p0", "a-0", evictortest.TolerateFor("one", 30))
	c.AddPod("p1", "a-0", evictortest.TolerateFor("one", 30))
	c.AddPod("late", "a-0", evictortest.TolerateFor("one", 600))
	c.Start(config())
	c.Taint("a-0", v1.Taint{Key: "one", Effect: v1.TaintEffectNoExecute})
	second := false
	c.FailWrites(func(write, object string) error {
		if write == "evict" && !second {
			second = true
			c.Taint("a-0", v1.Taint{Key: "two", Effect: v1.TaintEffectNoExecute})
		}
		return nil
	})
	c.Advance(time.Minute)
	require.Equal(t, []string{"p0", "p1", "late"}, c.Evicted())
	require.Equal(t, []string{"30.000"}, times(says(c, `"evict"`, "late")))
}

// A pod that was bound long after a taint began is not taken for an old one because the node changed at
// the same time.
func TestPodThatArrivesWithAnotherTaintHasItsWholeToleration(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 2))
	c.Start(config())
	c.Taint("a-0", v1.Taint{Key: "one", Effect: v1.TaintEffectNoExecute})
	c.Advance(100 * time.Second)
	c.AddPod("p", "a-0", evictortest.TolerateFor("one", 60), v1.Toleration{Key: "two", Operator: v1.TolerationOpExists})
	c.Taint("a-0", v1.Taint{Key: "two", Effect: v1.TaintEffectNoExecute})
	c.Advance(2 * time.Minute)
	require.Equal(t, []string{"160.000"}, times(says(c, `"evict"`)))
}

// What is overdue after a pause is on nodes that are tainted already: the cap on those does not hold it.
func TestCapOnFailedNodesLetsTheOverdueGo(t *testing.T) {
	cfg := config()
	cfg.MaxFailedNodes = 1
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(1))
	e := c.Start(cfg)
	c.Fail("a-0", "a-1") // a-1 waits for a-0 to come back
	c.Advance(5 * time.Minute)
	e.Pause("maintenance")
	c.Advance(5 * time.Minute)
	e.Resume("maintenance")
	c.Advance(time.Minute)
	require.Equal(t, []string{"a-0-p0"}, c.Evicted())
	require.False(t, c.HasNoExecute("a-1"))
}

// A queue that outlived its empty zone knows whether a pause began or ended meanwhile.
func TestZoneThatReturnsKnowsOfThePause(t *testing.T) {
	for _, paused := range []bool{true, false} {
		c := evictortest.New(t, evictortest.Zone("a", 1), evictortest.Zone("b", 4))
		e := c.Start(config())
		c.Advance(time.Minute)
		if paused {
			e.Pause("maintenance")
		}
		c.Advance(10 * time.Second)
		c.DeleteNode("a-0")
		c.Advance(5 * time.Second)
		if paused {
			e.Resume("maintenance")
		} else {
			e.Pause("maintenance")
		}
		c.Advance(0)
		c.AddNode("a-0", zone.Key{Zone: "a"})
		c.Advance(5 * time.Second)
		c.Fail("a-0")
		c.Advance(2 * time.Minute)
		require.Equal(t, paused, c.HasNoExecute("a-0"))
		e.Resume("maintenance")
		c.Advance(time.Minute)
		require.True(t, c.HasNoExecute("a-0"))
	}
}
