package evictor_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/zone"
)

func TestForeignTaintsGoOnWhileEveryZoneIsDown(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 2), evictortest.PodsPerNode(1))
	c.Start(config())
	c.Fail("a-0", "a-1")
	c.Advance(2 * time.Minute)
	require.NotEmpty(t, says(c, "AllZonesDisrupted"))
	c.Taint("a-0", v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute})
	c.Advance(0)
	require.Equal(t, []string{"a-0-p0"}, c.Evicted())
}

// In exact mode, where passes come only when a verdict may change, a node that is deleted may be the last healthy one.
func TestLastNodeThatIsWellGoesInExactMode(t *testing.T) {
	cfg := config()
	cfg.NodeMonitorPeriod = 0
	c := evictortest.New(t, evictortest.Zone("a", 1), evictortest.Zone("b", 2))
	e := c.Start(cfg)
	c.Fail("b-0", "b-1")
	c.Advance(2 * time.Minute)
	require.True(t, c.HasNoExecute("b-0"))
	c.DeleteNode("a-0")
	c.Advance(0)
	require.True(t, e.AllZonesDown())
	require.False(t, c.HasNoExecute("b-0"))
	require.Len(t, e.Zones(), 1)
}

// A live kubelet's heartbeats do not delay a node that must have reported not Ready for a grace period.
func TestNodeThatSaysItIsNotReadyIsTaintedOneGraceAfterEveryZoneWasDown(t *testing.T) {
	cfg := config()
	cfg.NodeMonitorPeriod = 0
	c := evictortest.New(t, evictortest.Zone("a", 2))
	c.Start(cfg)
	c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
	c.Fail("a-1")
	c.Advance(2 * time.Minute)
	c.Recover("a-1")
	c.Advance(30 * time.Second)
	c.Advance(time.Minute)
	require.Equal(t, []string{"160.000"}, times(says(c, "NoExecute", "a-0", "add"))[1:])
}

// An eviction is cancelled with the real reason: the taint stays while its node is watched for one more grace period.
func TestWatchingAnewIsNoRemovalOfATaint(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	var reasons []string
	e := c.Start(config(), evictor.Options{Observer: evictor.ObserverFunc(func(d evictor.Decision) {
		if d.Kind == evictor.EvictionCancelled {
			reasons = append(reasons, d.Reason)
		}
	})})
	c.Fail("a-0")
	c.Advance(2 * time.Minute)
	e.SetObserverHealth(errors.New("blind"))
	e.SetObserverHealth(nil)
	c.Advance(20 * time.Second)
	require.True(t, c.HasNoExecute("a-0"))
	require.Equal(t, []string{"NotSettled"}, reasons)
}

func TestEveryZoneDown(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 2), evictortest.Zone("b", 2), evictortest.PodsPerNode(1))
	c.Start(config())
	c.Fail("a-0", "a-1")
	c.Advance(2 * time.Minute)
	require.True(t, c.HasNoExecute("a-0"))
	c.Fail("b-0", "b-1")
	c.Advance(2 * time.Minute)
	require.Equal(t, []string{"165.000"}, times(says(c, "AllZonesDisrupted")))
	require.False(t, c.HasNoExecute("a-0"), "lifted while every zone is down")
	require.Equal(t, []string{"165.000", "165.000"}, times(says(c, `"cancel"`)))
	require.Len(t, says(c, `"podNotReady"`), 2, "none of b is marked: it went down with the last zone")
	c.Recover("b-0")
	c.Advance(30 * time.Second)
	require.Equal(t, []string{"245.000"}, times(says(c, `"cluster"`, "Normal")))
	require.False(t, c.HasNoExecute("a-0"), "one more grace period")
	c.Advance(30 * time.Second)
	require.Equal(t, []string{"45.000", "55.000", "290.000", "290.000", "300.000"}, times(says(c, "NoExecute", "add")))
	require.Empty(t, c.Evicted())
}

func TestNewcomerEndsAllDown(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 2))
	c.Start(config())
	c.Fail("a-0", "a-1")
	c.Advance(2 * time.Minute)
	require.NotEmpty(t, says(c, "AllZonesDisrupted"))
	c.AddNode("n-0", zone.Key{Zone: "n"})
	c.Advance(10 * time.Second)
	require.NotEmpty(t, says(c, `"cluster"`, "Normal"))
}
