package evictor_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/zone"
)

// A pause that begins between a node's turn and its taint stops the taint, and loses neither.
func TestPauseBetweenTheTurnAndTheTaint(t *testing.T) {
	for _, taintBased := range []bool{true, false} {
		cfg := config()
		cfg.TaintBasedEviction, cfg.PodEvictionTimeout = taintBased, 40*time.Second
		c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
		e := c.Start(cfg)
		c.FailWrites(func(write, object string) error {
			if write == "conditions" {
				e.Pause("maintenance")
			}
			return nil
		})
		c.Fail("a-0")
		c.Advance(2 * time.Minute)
		require.NotEmpty(t, e.Paused())
		require.Empty(t, c.Taints("a-0"), "nothing is tainted after Pause has returned")
		require.Empty(t, c.Evicted())
		e.Resume("maintenance")
		c.Advance(30 * time.Second)
		require.Contains(t, c.Taints("a-0"), "node.kubernetes.io/unreachable:NoSchedule")
		require.Equal(t, taintBased, c.HasNoExecute("a-0"))
		require.Equal(t, !taintBased, len(c.Evicted()) == 1)
	}
}

// The same while a conflict delays the write.
func TestPauseDuringAConflictLosesNoTurn(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4))
	e := c.Start(config())
	conflict := true
	c.FailWrites(func(write, object string) error {
		if write == "taints" && object == "a-1" && c.Clock().Since(evictortest.Epoch) > 50*time.Second && conflict {
			conflict = false
			e.Pause("maintenance")
			return apierrors.NewConflict(v1.Resource("nodes"), object, errors.New("changed"))
		}
		return nil
	})
	c.Fail("a-0", "a-1") // the turn of a-1 comes at 55
	c.Advance(2 * time.Minute)
	require.NotEmpty(t, e.Paused())
	require.False(t, c.HasNoExecute("a-1"))
	e.Resume("maintenance")
	c.Advance(30 * time.Second)
	require.True(t, c.HasNoExecute("a-1"))
}

// What a pause held back is written in the same order on every run.
func TestOrderAfterAPauseIsTheSameOnEveryRun(t *testing.T) {
	var first []string
	for range 5 {
		c := evictortest.New(t, evictortest.Zone("a", 30))
		e := c.Start(config())
		e.Pause("maintenance")
		for i := range 12 {
			c.Fail(fmt.Sprintf("a-%d", i))
		}
		c.Advance(2 * time.Minute)
		e.Resume("maintenance")
		c.Advance(0)
		if first == nil {
			first = c.Timeline()
			require.Len(t, says(c, "NoSchedule"), 12)
		}
		require.Equal(t, first, c.Timeline())
	}
}

// Nodes without overdue evictions do not go on waiting for a turn for them.
func TestWhatIsNotOverdueAnyMoreTakesNoTurns(t *testing.T) {
	for what, end := range map[string]func(c *evictortest.Cluster, e *evictor.Evictor, node string){
		"recovered": func(c *evictortest.Cluster, _ *evictor.Evictor, node string) { c.Recover(node) },
		"recovered while nothing can be written": func(c *evictortest.Cluster, _ *evictor.Evictor, node string) {
			c.SetAPIDown(true)
			c.Recover(node)
		},
		"held": func(_ *evictortest.Cluster, e *evictor.Evictor, node string) { e.Hold(node, "repair") },
	} {
		c := evictortest.New(t, evictortest.Zone("a", 12), evictortest.PodsPerNode(1))
		e := c.Start(config())
		nodes := []string{"a-0", "a-1", "a-2", "a-3"}
		c.Fail(nodes...)
		c.Advance(2 * time.Minute)
		e.Pause("maintenance")
		c.Advance(8 * time.Minute)
		e.Resume("maintenance")
		c.Advance(0)
		require.Len(t, e.Waiting(), 3, what)
		for _, node := range nodes {
			end(c, e, node)
		}
		c.Advance(5 * time.Second)
		require.Empty(t, e.Waiting(), what)
	}
}

// An eviction by a foreign taint that fell due during a pause happens when the pause ends, whatever became of its
// failed node, even at rate 0.
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
