package maintenance_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/maintenance"
	"github.com/evictkit/evictkit/zone"
)

func config(taintBased bool, period time.Duration) evictor.Config {
	cfg := evictor.DefaultConfig()
	cfg.Nodes.NodeMonitorPeriod, cfg.Nodes.TaintBasedEviction, cfg.Nodes.PodEvictionTimeout = period, taintBased, time.Minute
	return cfg
}

// start starts an evictor that believes announcements for half an hour.
func start(c *evictortest.Cluster, cfg evictor.Config) *evictor.Evictor {
	announced := &maintenance.Announced{For: 30 * time.Minute, Nodes: c.Clients().Nodes, Clock: c.Clock()}
	e := c.Start(cfg, evictor.Options{Hold: announced.Hold, Excluded: announced.Excluded})
	announced.Changed = e.NodeChanged
	c.Drive(announced.Step)
	return e
}

// While a node's conditions announce maintenance its silence costs it nothing, and it does not count in its domain. When
// the last of them goes, it is a failed node like any other.
func TestAnnouncedMaintenance(t *testing.T) {
	for _, period := range []time.Duration{0, 5 * time.Second} {
		c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(1))
		e := start(c, config(true, period))
		c.Condition("a-0", "MaintenancePlanned", v1.ConditionTrue)
		c.Condition("a-1", "DrainInProgress", v1.ConditionFalse)
		c.Advance(10 * time.Second)
		require.Equal(t, 3, e.Nodes().Zones()[0].Counts.Total)
		c.Fail("a-0", "a-1")
		c.Advance(5 * time.Minute)
		require.True(t, c.HasNoExecute("a-1"), "it announces nothing")
		require.Equal(t, []string{"node.kubernetes.io/unreachable:NoSchedule"}, c.Taints("a-0"), "new pods go elsewhere")
		require.Equal(t, zone.Counts{Total: 3, Bad: 1}, e.Nodes().Zones()[0].Counts)
		status, _ := e.Nodes().Node("a-0")
		require.Equal(t, "MaintenancePlanned", status.Held)
		require.Empty(t, c.EvictedFrom("a-0"))

		c.Condition("a-0", "MaintenanceInProgress", v1.ConditionTrue)
		c.Condition("a-0", "MaintenancePlanned", v1.ConditionFalse)
		c.Advance(5 * time.Minute)
		status, _ = e.Nodes().Node("a-0")
		require.Equal(t, "MaintenanceInProgress", status.Held)
		c.Condition("a-0", "MaintenanceInProgress", v1.ConditionUnknown)
		c.Advance(20 * time.Second)
		require.True(t, c.HasNoExecute("a-0"))
		require.Equal(t, zone.Counts{Total: 4, Bad: 2}, e.Nodes().Zones()[0].Counts)
	}
}

// A condition that nobody clears is believed for a time, and for as long again once it was cleared.
func TestAnnouncementEnds(t *testing.T) {
	for _, taintBased := range []bool{true, false} {
		for _, period := range []time.Duration{0, 5 * time.Second} {
			c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(1))
			e := start(c, config(taintBased, period))
			gone := func() bool { return c.HasNoExecute("a-0") || len(c.EvictedFrom("a-0")) > 0 }
			c.Condition("a-0", "Drained", v1.ConditionTrue)
			c.Fail("a-0")
			c.Advance(29 * time.Minute)
			require.False(t, gone())
			c.Advance(90 * time.Second)
			require.True(t, gone(), "taints %v, period %v", taintBased, period)
			status, _ := e.Nodes().Node("a-0")
			require.Empty(t, status.Held)
			c.Condition("a-0", "Drained", v1.ConditionFalse)
			c.Advance(time.Minute)
			c.Condition("a-0", "Drained", v1.ConditionTrue)
			c.Advance(time.Minute)
			require.False(t, c.HasNoExecute("a-0"), "announced anew: our taint is lifted")
		}
	}
}

// Maintenance that was planned longer ahead than an announcement is believed begins all the same. An earlier stage begins nothing.
func TestALaterStageIsBelievedAnew(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(1))
	start(c, config(true, 5*time.Second))
	c.Condition("a-0", "MaintenancePlanned", v1.ConditionTrue)
	c.Advance(time.Hour)
	c.Condition("a-0", "MaintenanceInProgress", v1.ConditionTrue)
	c.Fail("a-0")
	c.Advance(29 * time.Minute)
	require.False(t, c.HasNoExecute("a-0"))
	c.Condition("a-0", "MaintenanceInProgress", v1.ConditionFalse)
	c.Advance(2 * time.Minute)
	require.True(t, c.HasNoExecute("a-0"))
}

// What is announced late ends what has begun. Taints of others evict as ever.
func TestAnnouncedAfterTheTaint(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(2), evictortest.Tolerations(evictortest.TolerateFor(v1.TaintNodeUnreachable, 300)))
	e := start(c, config(true, 5*time.Second))
	c.Fail("a-0")
	for !c.HasNoExecute("a-0") {
		c.Advance(time.Second)
	}
	require.Len(t, e.Pods().Evictions(), 2)
	c.Condition("a-0", "GracefulNodeShutdownInProgress", v1.ConditionTrue)
	c.Advance(10 * time.Second)
	require.False(t, c.HasNoExecute("a-0"))
	require.Empty(t, e.Pods().Evictions())
	c.Taint("a-0", v1.Taint{Key: "theirs", Effect: v1.TaintEffectNoExecute})
	c.Advance(time.Second)
	require.Len(t, c.EvictedFrom("a-0"), 2)
}

// Another node of the same name announces for itself.
func TestANodeThatIsReplacedAnnouncesAnew(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4))
	e := start(c, config(true, 5*time.Second))
	c.Condition("a-0", "Drained", v1.ConditionTrue)
	c.Advance(20 * time.Minute)
	c.DeleteNode("a-0")
	c.AddNode("a-0", zone.Key{Zone: "a"})
	c.Condition("a-0", "Drained", v1.ConditionTrue)
	c.Advance(20 * time.Minute)
	status, _ := e.Nodes().Node("a-0")
	require.Equal(t, "Drained", status.Held)
	c.Advance(11 * time.Minute)
	status, _ = e.Nodes().Node("a-0")
	require.Empty(t, status.Held)
}

// Each of the Conditions announces, and the list is the caller's to change.
func TestConditions(t *testing.T) {
	for i, condition := range maintenance.Conditions() {
		c := evictortest.New(t, evictortest.Zone("a", 2))
		e := start(c, config(true, 5*time.Second))
		c.Condition("a-0", condition, v1.ConditionTrue)
		c.Advance(10 * time.Second)
		status, _ := e.Nodes().Node("a-0")
		require.EqualValues(t, condition, status.Held)
		maintenance.Conditions()[i] = ""
	}
	require.Len(t, maintenance.Conditions(), 5)
	require.NotContains(t, maintenance.Conditions(), v1.NodeConditionType(""))
}
