package evictor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

func TestPodsAreMarkedOnceInAnOutage(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	c.Start(config())
	c.Fail("a-0")
	c.Advance(time.Minute)
	require.Len(t, says(c, "podNotReady"), 1)
	c.PodReady("a-0-p0", true) // its kubelet is alive, and only its leases do not arrive
	c.Advance(time.Minute)
	require.Len(t, says(c, "podNotReady"), 1, "a live kubelet is not fought")
	c.AddPod("late", "a-0")
	c.Advance(time.Second)
	require.Len(t, says(c, "podNotReady", "late"), 1, "one that was bound since is marked too")

	c.Recover("a-0")
	c.Advance(time.Minute)
	c.Fail("a-0")
	c.Advance(time.Minute)
	require.Len(t, says(c, "podNotReady", "a-0-p0"), 2, "the next outage is another one")

	c.Condition("a-1", v1.NodeReady, v1.ConditionFalse)
	c.Advance(time.Minute)
	require.Empty(t, says(c, "podNotReady", "a-1"), "its own kubelet says that it is not ready, and speaks for its pods")
}

func TestPodsAreNotMarkedWhenTheirKubeletSpeaksAgain(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	c.Start(config())
	c.Fail("a-0")
	c.Advance(2 * time.Minute)
	c.Restart() // which pods were marked is forgotten
	c.Advance(2*time.Minute + time.Second)
	c.Recover("a-0") // its pods are Ready again before the pass that notices
	c.Advance(time.Minute)
	require.Len(t, says(c, "podNotReady"), 1)
}

// Without taints, pods whose status cannot be written do not keep the node from being emptied.
func TestPodsThatCannotBeMarkedAreEvictedAllTheSame(t *testing.T) {
	cfg := config()
	cfg.TaintBasedEviction = false
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	c.Start(cfg)
	forbid(c, "podStatus")
	c.Fail("a-0")
	c.Advance(10 * time.Minute)
	require.Equal(t, []string{"305.000"}, times(says(c, `"evict"`)))
}

func TestNodesThatFallSilentTogetherAreUnknownBeforeAnyOfTheirPodsIsMarked(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 30), evictortest.PodsPerNode(3))
	var kinds []evictor.Kind
	c.Start(evictor.DefaultConfig(), evictor.Options{Observer: evictor.ObserverFunc(func(d evictor.Decision) {
		if d.Kind == evictor.ConditionsWritten || d.Kind == evictor.PodMarkedNotReady {
			kinds = append(kinds, d.Kind)
		}
	})})
	c.Fail("a-0", "a-1", "a-2", "a-3")
	c.Advance(2 * time.Minute)
	require.Len(t, kinds, 4+4*3)
	for i, kind := range kinds {
		require.Equal(t, i < 4, kind == evictor.ConditionsWritten, kinds)
	}
}
