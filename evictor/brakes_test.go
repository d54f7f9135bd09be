package evictor_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/zone"
)

func toleratesFor(key string, seconds *int64) v1.Toleration {
	return v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: seconds}
}

func lasts(s int64) *int64 { return &s }

// A brake on evictions must not open dead nodes to new pods: the scheduler looks at NoSchedule taints alone.
func TestBrakesKeepNoScheduleTaints(t *testing.T) {
	var pause gate.Pause
	pause.Pause("incident")
	for name, brake := range map[string]gate.Gate{
		"pause":   &pause,
		"breaker": gate.Breaker(func(zone.Key) error { return errors.New("too many") }),
		"gate": gate.Func(func(_ context.Context, act gate.Act) error {
			if act.Do == gate.Harm {
				return errors.New("no harm")
			}
			return nil
		}),
	} {
		t.Run(name, func(t *testing.T) {
			c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.PodsPerNode(1))
			c.Start(evictor.DefaultConfig(), evictor.Options{Gate: brake})
			c.Advance(2 * time.Minute)
			c.Fail("a-0")
			c.Condition("a-1", v1.NodeMemoryPressure, v1.ConditionTrue)
			c.Cordon("a-2", true)
			c.Advance(2 * time.Minute)
			assert.Contains(t, c.Taints("a-0"), unreachable+":NoSchedule")
			assert.Contains(t, c.Taints("a-1"), "node.kubernetes.io/memory-pressure:NoSchedule")
			assert.Contains(t, c.Taints("a-2"), "node.kubernetes.io/unschedulable:NoSchedule")
			assert.False(t, c.HasNoExecute("a-0"))
		})
	}
}

func TestHoldLeavesNoScheduleTaints(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.PodsPerNode(1))
	e := c.Start(evictor.DefaultConfig())
	c.Advance(time.Minute)
	c.Fail("a-0")
	c.Condition("a-1", v1.NodeDiskPressure, v1.ConditionTrue)
	c.Advance(2 * time.Minute)
	e.Nodes().Hold("a-0", "under repair")
	e.Nodes().Hold("a-1", "under repair")
	c.Advance(time.Minute)
	assert.False(t, c.HasNoExecute("a-0"))
	assert.Contains(t, c.Taints("a-0"), unreachable+":NoSchedule")
	assert.Contains(t, c.Taints("a-1"), "node.kubernetes.io/disk-pressure:NoSchedule")
}

// Off for twenty minutes of the thirty that it tolerates, then its kubelet reports NotReady for 15 s: nobody leaves. The
// toleration of not-ready, 300 s by admission, has not run for a second.
func TestSwapBetweenDifferentTolerations(t *testing.T) {
	type phase struct {
		ready v1.ConditionStatus // "": silent
		for_  time.Duration
	}
	for _, c := range []struct {
		name                  string
		notReady, unreachable *int64
		phases                []phase
	}{
		{"unreachable 1800, not-ready 300", lasts(300), lasts(1800), []phase{{"", 20 * time.Minute}, {v1.ConditionFalse, 15 * time.Second}, {v1.ConditionTrue, time.Hour}}},
		{"not-ready for ever, unreachable 300", nil, lasts(300), []phase{{v1.ConditionFalse, 3 * time.Hour}, {"", 90 * time.Second}, {v1.ConditionTrue, time.Hour}}},
		{"not-ready 7200, unreachable 60", lasts(7200), lasts(60), []phase{{v1.ConditionFalse, time.Hour}, {"", 80 * time.Second}, {v1.ConditionTrue, time.Hour}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster := evictortest.New(t, evictortest.Zone("a", 5), evictortest.Zone("b", 5))
			cluster.Start(evictor.DefaultConfig())
			cluster.AddPod("x", "a-0", toleratesFor(unready, c.notReady), toleratesFor(unreachable, c.unreachable))
			cluster.Advance(time.Minute)
			silent := false
			for _, p := range c.phases {
				switch {
				case p.ready == "":
					cluster.Fail("a-0")
				default:
					if silent {
						cluster.Recover("a-0")
					}
					cluster.Condition("a-0", v1.NodeReady, p.ready)
				}
				silent = p.ready == ""
				cluster.Advance(p.for_)
			}
			assert.Empty(t, cluster.Evicted())
		})
	}
}

// While the conditions of a node cannot be written its taint is not sent. A Gate that has refused turns since is asked again.
func TestGateIsAskedAgainWhenNothingWasSent(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.PodsPerNode(1))
	start := c.Clock().Now()
	c.Start(evictor.DefaultConfig(), evictor.Options{Gate: gate.Func(func(_ context.Context, act gate.Act) error {
		if act.Do == gate.Turn && c.Clock().Now().Sub(start) >= 4*time.Minute {
			return &gate.Refused{Reason: "closed"}
		}
		return nil
	})})
	c.FailWrites(func(write, _ string) error {
		if write == "conditions" && c.Clock().Now().Sub(start) < 10*time.Minute {
			return errors.New("boom")
		}
		return nil
	})
	c.Advance(2 * time.Minute)
	c.Fail("a-0")
	c.Advance(20 * time.Minute)
	assert.False(t, c.HasNoExecute("a-0"))
	assert.Empty(t, c.Evicted())
}

// Without taints, too, a node whose conditions cannot be written is not emptied, whatever the error. Once they can be, nodes
// are emptied at their zone's rate.
func TestUnwritableNodeIsNotEmptied(t *testing.T) {
	for _, boom := range []error{errors.New("boom"), apierrors.NewConflict(v1.Resource("nodes"), "", errors.New("changed"))} {
		c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.PodsPerNode(1))
		c.Start(withoutTaints(config(), 5*time.Minute))
		c.FailWrites(func(write, _ string) error {
			if write == "conditions" {
				return boom
			}
			return nil
		})
		c.Advance(time.Minute)
		c.Fail("a-0", "a-1")
		c.Advance(20 * time.Minute)
		require.Empty(t, c.Evicted())
		c.FailWrites(nil)
		for len(c.Evicted()) == 0 {
			c.Advance(time.Second)
		}
		c.Advance(8 * time.Second)
		require.Len(t, c.Evicted(), 1)
		c.Advance(10 * time.Second)
		require.Len(t, c.Evicted(), 2)
	}
}

// Nobody wrote down when a swap was. After a restart it counts from when Ready became Unknown, or from the restart.
func TestSwapAndRestart(t *testing.T) {
	for name, row := range map[string]struct {
		first, second func(c *evictortest.Cluster)
		notReady      int64
		unreachable   int64
		counted       time.Duration // from the restart on, a minute after the swap
	}{
		"Unknown": {
			func(c *evictortest.Cluster) { c.Condition("a-0", v1.NodeReady, v1.ConditionFalse) }, func(c *evictortest.Cluster) { c.Fail("a-0") },
			3600, 200, 140 * time.Second,
		},
		"False": {
			func(c *evictortest.Cluster) { c.Fail("a-0") }, func(c *evictortest.Cluster) {
				c.Recover("a-0")
				c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
			},
			200, 3600, 200 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := evictortest.New(t, evictortest.Zone("a", 6))
			c.AddPod("p", "a-0", toleratesFor(unready, &row.notReady), toleratesFor(unreachable, &row.unreachable))
			start(c, config())
			c.Advance(time.Minute)
			row.first(c)
			c.Advance(5 * time.Minute)
			row.second(c)
			for len(says(c, "NoExecute", "add")) < 2 {
				c.Advance(time.Second)
			}
			c.Advance(time.Minute)
			c.Restart()
			c.Advance(row.counted - 2*time.Second)
			require.Empty(t, c.Evicted())
			c.Advance(3 * time.Second)
			require.Equal(t, []string{"p"}, c.Evicted())
		})
	}
}
