package evictor_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

func TestDeadlinesMoveBothWays(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 2))
	c.AddPod("p", "a-0", evictortest.TolerateFor("drain", 100))
	c.Start(config())
	c.Taint("a-0", v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute})
	c.Advance(50 * time.Second)
	c.Tolerate("p", evictortest.TolerateFor("drain", 200))
	c.Advance(60 * time.Second)
	require.Empty(t, c.Evicted(), "lengthened")
	c.Tolerate("p", evictortest.TolerateFor("drain", 120))
	c.Advance(11 * time.Second)
	require.Equal(t, []string{"120.000"}, times(says(c, `"evict"`)), "shortened")
	require.Empty(t, says(c, `"cancel"`), "moving is not cancelling")
}

func TestTolerationRemovedWhileWaiting(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 2))
	c.AddPod("p", "a-0", evictortest.TolerateFor("drain", 100))
	c.Start(config())
	c.Taint("a-0", v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute})
	c.Advance(20 * time.Second)
	c.Tolerate("p")
	c.Advance(0)
	require.Equal(t, []string{"20.000"}, times(says(c, `"evict"`)))
}

func TestFiniteTaintRemovedLeavesTheForeverOne(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 2))
	forever := v1.Toleration{Key: "soft", Operator: v1.TolerationOpExists}
	c.AddPod("p", "a-0", forever, evictortest.TolerateFor("hard", 60))
	c.Start(config())
	c.Taint("a-0", v1.Taint{Key: "soft", Effect: v1.TaintEffectNoExecute})
	c.Taint("a-0", v1.Taint{Key: "hard", Effect: v1.TaintEffectNoExecute})
	c.Advance(30 * time.Second)
	c.Untaint("a-0", "hard", v1.TaintEffectNoExecute)
	c.Advance(10 * time.Minute)
	require.Empty(t, c.Evicted())
	require.Len(t, says(c, `"cancel"`), 1)
}

func TestOddSeconds(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 2))
	c.AddPod("negative", "a-0", evictortest.TolerateFor("k", -1))
	c.AddPod("zero", "a-0", evictortest.TolerateFor("k", 0))
	c.AddPod("huge", "a-0", evictortest.TolerateFor("k", 9e18))
	c.AddPod("value", "a-0", v1.Toleration{Key: "k", Operator: v1.TolerationOpExists, Value: "ignored", Effect: v1.TaintEffectNoExecute})
	c.Start(config())
	c.Taint("a-0", v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute})
	c.Taint("a-1", v1.Taint{Key: "k", Effect: "Unheard"})
	c.Advance(24 * time.Hour)
	require.ElementsMatch(t, []string{"negative", "zero"}, c.Evicted())
}

// A deadline is kept if it moved away and back, and only the last check saw it away.
func TestDeadlineThatMovesAwayAndBackIsKept(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 1))
	c.AddPod("p", "a-0", evictortest.TolerateFor("k", 100))
	c.Taint("a-0", v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute})
	e, err := evictor.New(config(), c.Clients(), evictor.Options{Clock: c.Clock()}) // the test feeds it
	require.NoError(t, err)
	step := func(d time.Duration) {
		c.Advance(d)
		_, err := e.Step(context.Background())
		require.NoError(t, err)
	}
	step(0)
	c.Tolerate("p", evictortest.TolerateFor("k", 1000))
	step(110 * time.Second)
	c.Tolerate("p", evictortest.TolerateFor("k", 100))
	e.PodChanged(evictor.PodKey{Namespace: "default", Name: "p"})
	step(time.Second)
	require.Equal(t, []string{"p"}, c.Evicted())
}

// A pod that was bound long after a taint was added is not mistaken for an old one because the node changed at the same
// time.
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

// The last check of one pod sees a taint before its event comes. The event must still arm the others.
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
