package evictor_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/evictortest"
)

// noExecute returns when nodes got a NoExecute taint of ours.
func noExecute(c *evictortest.Cluster) []string {
	return times(says(c, "NoExecute", `"add"`))
}

func TestWithoutTaintsATimeoutEndsAtAPass(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3))
	start(c, withoutTaints(config(), time.Minute))
	c.Condition("a-0", v1.NodeReady, v1.ConditionFalse) // since the pass of 5
	c.Advance(67 * time.Second)
	c.AddPod("late", "a-0")
	c.Advance(time.Minute)
	require.Equal(t, []string{"70.000"}, times(says(c, `"evict"`)))
}

func TestATokenIsHandedOutWhenItIsDue(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 10))
	cfg := config()
	cfg.Nodes.NodeEvictionRate = 0.3
	start(c, cfg)
	c.Fail("a-0", "a-1", "a-2")
	c.Advance(2 * time.Minute)
	require.Equal(t, []string{"45.000", "48.333", "51.667"}, noExecute(c), "on no grid of ticks")
}

func TestANodeIsServedOnce(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 10))
	start(c, config())
	c.Advance(61 * time.Second)
	c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
	c.Advance(9 * time.Second)
	require.Equal(t, []string{"65.000"}, noExecute(c))
	c.Fail("a-0", "a-1", "a-2") // the pass that queues the others swaps the taints of a-0
	c.Advance(2 * time.Minute)
	require.Len(t, says(c, "NoExecute", `"add"`, "a-0", "unreachable"), 1)
	require.Equal(t, []string{"115.000", "125.000"}, times(append(says(c, "NoExecute", `"add"`, "a-1"), says(c, "NoExecute", `"add"`, "a-2")...)))
}

func TestNodesOfAPassWaitInTheOrderOfTheirNames(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 10))
	start(c, config())
	c.Fail("a-7", "a-2", "a-9", "a-0", "a-4")
	c.Advance(2 * time.Minute)
	for i, node := range []string{"a-0", "a-2", "a-4", "a-7", "a-9"} {
		require.Equal(t, []string{fmt.Sprintf("%d.000", 45+10*i)}, times(says(c, "NoExecute", `"add"`, node)), node)
	}
}

func TestANodeKeepsItsTurn(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 10))
	start(c, config())
	c.Fail("a-7", "a-8", "a-9")
	c.Advance(15 * time.Second)
	c.Fail("a-0", "a-1") // found two passes later, while the others wait
	c.Advance(2 * time.Minute)
	var served []string
	for _, node := range []string{"a-7", "a-8", "a-9", "a-0", "a-1"} {
		served = append(served, times(says(c, "NoExecute", `"add"`, node))...)
	}
	require.Equal(t, []string{"45.000", "55.000", "65.000", "75.000", "85.000"}, served)
}

func TestANodeThatNeedsNoTaintCostsNoToken(t *testing.T) {
	for _, end := range []func(c *evictortest.Cluster){
		func(c *evictortest.Cluster) { c.Recover("a-1") },
		func(c *evictortest.Cluster) { c.DeleteNode("a-1") },
	} {
		c := evictortest.New(t, evictortest.Zone("a", 10))
		start(c, config())
		c.Fail("a-0", "a-1", "a-2")
		c.Advance(51 * time.Second)
		end(c)
		c.Advance(time.Minute)
		require.Equal(t, []string{"45.000", "55.000"}, noExecute(c))
		require.True(t, c.HasNoExecute("a-2"), "with the token that a-1 was waiting for")
	}
}

func TestTheRateOfAPassHoldsForItsNodes(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 5))
	cfg := config()
	cfg.Nodes.LargeClusterSizeThreshold = 1
	start(c, cfg)
	c.Fail("a-0", "a-1", "a-2") // at one pass the zone is Partial, its rate 0.01
	c.Advance(3 * time.Minute)
	require.Equal(t, []string{"45.000", "145.000"}, noExecute(c))
}

func TestEveryZoneDownLiftsWhatItsPassSwaps(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1), evictortest.Tolerations(evictortest.TolerateFor(v1.TaintNodeUnreachable, 60), evictortest.TolerateFor(v1.TaintNodeNotReady, 3600)))
	start(c, config())
	c.Advance(61 * time.Second)
	c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
	c.Advance(10 * time.Second)
	require.True(t, c.HasNoExecute("a-0"))
	c.Fail("a-0", "a-1", "a-2")
	c.Advance(time.Minute)
	require.Len(t, says(c, "AllZonesDisrupted"), 1)
	require.Equal(t, times(says(c, "AllZonesDisrupted")), times(says(c, `"condition"`, `"a-0"`, `"Ready"`, `"Unknown"`)), "the pass that would swap")
	require.False(t, c.HasNoExecute("a-0"))
	c.Advance(10 * time.Minute)
	require.Empty(t, c.Evicted())
}

func TestAPassComesBeforeTheEvictionsOfItsInstant(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 2), evictortest.PodsPerNode(1), evictortest.Tolerations(evictortest.TolerateFor(v1.TaintNodeUnreachable, 60)))
	start(c, config())
	c.Fail("a-0")
	c.Advance(68 * time.Second)
	require.Equal(t, []string{"45.000"}, noExecute(c))
	c.Fail("a-1")
	c.Advance(10 * time.Minute)
	require.Equal(t, []string{"105.000"}, times(says(c, "AllZonesDisrupted")), "when a-0-p0 is due")
	require.Empty(t, c.Evicted())
	require.Len(t, says(c, `"cancel"`), 1)
}

func TestAHealthyZoneThatGoesAwayLeavesTheOthersDown(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 2), evictortest.Zone("b", 1))
	start(c, config())
	c.Fail("a-0", "a-1")
	c.Advance(time.Minute)
	require.NotEmpty(t, noExecute(c))
	require.Empty(t, says(c, "AllZonesDisrupted"))
	c.DeleteNode("b-0")
	c.Advance(10 * time.Second)
	require.Len(t, says(c, "AllZonesDisrupted"), 1)
	require.False(t, c.HasNoExecute("a-0"))
	require.False(t, c.HasNoExecute("a-1"))
}

func TestTaintsThatAreDueTogetherAreOneWrite(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3))
	start(c, config())
	c.Fail("a-0")
	writes := 0
	c.FailWrites(func(write, _ string) error {
		if write == "taints" {
			writes++
		}
		return nil
	})
	c.Advance(2 * time.Minute)
	require.Len(t, c.Taints("a-0"), 2)
	require.Equal(t, 1, writes)
}
