package guard_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/gate"
)

// Nodes that an earlier process has tainted count in the budget of the next one, which knows nothing about them.
func TestWhatAnEarlierProcessHasTaintedCounts(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 8), evictortest.Zone("b", 8))
	bounds := []budget.Bound{
		{Name: "three at a time", Of: budget.Acting, Max: budget.Count(3)},
		{Name: "four in ten minutes", Of: budget.Recent, Within: 10 * time.Minute, Max: budget.Count(4)},
	}
	start(t, c, fast(), newBudget(t, c, bounds...))
	c.Fail("a-0", "a-1", "a-2")
	c.Advance(2 * time.Minute)
	require.Len(t, tainted(c, "a", 8), 3)
	start(t, c, fast(), newBudget(t, c, bounds...))
	c.Fail("a-3", "a-4")
	c.Advance(2 * time.Minute)
	require.Len(t, tainted(c, "a", 8), 3)
	c.Recover("a-0", "a-1")
	c.Advance(time.Minute)
	require.Len(t, tainted(c, "a", 8), 2, "the fourth in ten minutes, and no fifth")
	c.Advance(8 * time.Minute)
	require.Len(t, tainted(c, "a", 8), 3, "ten minutes have passed since the first, the taints say so")
}

// A new evictor on the same Budget continues what the last one began, whatever has become of it meanwhile.
func TestABudgetOutlivesItsEvictor(t *testing.T) {
	untaint := func(c *evictortest.Cluster) {
		c.Untaint("a-0", v1.TaintNodeUnreachable, v1.TaintEffectNoExecute)
	}
	unchanged := func(*evictortest.Cluster) {}
	nothing := func(*testing.T, *evictortest.Cluster) {}
	comesBack := func(c *evictortest.Cluster) { c.Recover("a-0") }
	for name, row := range map[string]struct {
		meanwhile func(*evictortest.Cluster)             // while no evictor uses the budget
		next      func(*testing.T, *evictortest.Cluster) // while the new one does
		members   int
	}{
		"it recovers later":                    {unchanged, func(_ *testing.T, c *evictortest.Cluster) { comesBack(c) }, 8},
		"it has recovered":                     {comesBack, nothing, 8},
		"another leader has lifted its taints": {func(c *evictortest.Cluster) { comesBack(c); untaint(c) }, nothing, 8},
		"it is gone":                           {func(c *evictortest.Cluster) { c.DeleteNode("a-0") }, nothing, 7},
		"it has lost its taint, and gets it back": {untaint, func(t *testing.T, c *evictortest.Cluster) {
			t.Helper()
			c.Advance(2 * time.Minute)
			require.Equal(t, []string{"a-0"}, tainted(c, "a", 8))
			comesBack(c)
		}, 8},
	} {
		for _, cfg := range onBothGrids(fast()) {
			t.Run(fmt.Sprint(name, ", ", cfg.Nodes.NodeMonitorPeriod), func(t *testing.T) {
				c := evictortest.New(t, evictortest.Zone("a", 8))
				b := newBudget(t, c, oneAtATime)
				start(t, c, cfg, b)
				c.Fail("a-0")
				c.Advance(2 * time.Minute)
				require.Equal(t, []string{"a-0"}, tainted(c, "a", 8))
				c.Start(cfg, evictor.Options{Gate: gate.Leader(func() error { return errors.New("another leads") })})
				row.meanwhile(c)
				c.Advance(time.Minute)
				require.EqualValues(t, 1, used(t, b, "one at a time", ""), "nobody has told the budget")
				start(t, c, cfg, b)
				row.next(t, c)
				c.Advance(time.Minute)
				require.Zero(t, used(t, b, "one at a time", ""))
				require.Equal(t, row.members, b.Len())
				c.Fail("a-1")
				c.Advance(2 * time.Minute)
				require.Equal(t, []string{"a-1"}, tainted(c, "a", 8))
			})
		}
	}
}

// Without taints the budget alone knows which node was emptied: it counts until the node is ready, or is emptied anew.
func TestABudgetOutlivesItsEvictorWithoutTaints(t *testing.T) {
	cfg := withoutTaints(fast(), time.Minute)
	c := evictortest.New(t, evictortest.Zone("a", 8), evictortest.PodsPerNode(1))
	b := newBudget(t, c, oneAtATime)
	start(t, c, cfg, b)
	c.Fail("a-1")
	c.Advance(3 * time.Minute)
	require.Equal(t, []string{"a-1-p0"}, c.Evicted())
	c.Fail("a-0")
	for range 2 {
		c.Advance(10 * time.Minute)
		require.Empty(t, c.EvictedFrom("a-0"), "a-1 has not come back")
		start(t, c, cfg, b)
	}
	c.Advance(time.Minute)
	c.Recover("a-1")
	c.Advance(time.Minute)
	require.Equal(t, []string{"a-0-p0"}, c.EvictedFrom("a-0"))
	start(t, c, cfg, b)
	c.Recover("a-0")
	c.Advance(time.Minute)
	require.Zero(t, used(t, b, "one at a time", ""))
}

// So does a turn that the last one had asked for and not used.
func TestAReservationOutlivesItsEvictor(t *testing.T) {
	for _, recovers := range []bool{false, true} {
		c := evictortest.New(t, evictortest.Zone("a", 8))
		b := newBudget(t, c, oneAtATime)
		start(t, c, fast(), b)
		c.FailWrites(func(write, object string) error {
			if write != "taints" {
				return nil
			}
			return apierrors.NewInternalError(errors.New("etcd: request timed out"))
		})
		c.Fail("a-0")
		c.Advance(time.Minute)
		require.Empty(t, tainted(c, "a", 8))
		require.EqualValues(t, 1, used(t, b, "one at a time", ""), "it keeps its turn")
		c.FailWrites(nil)
		want := "a-0"
		if recovers {
			c.Recover("a-0")
			c.Fail("a-1")
			want = "a-1"
		}
		start(t, c, fast(), b)
		c.Advance(2 * time.Minute)
		require.Equal(t, []string{want}, tainted(c, "a", 8))
		c.Recover(want)
		c.Advance(time.Minute)
		require.Zero(t, used(t, b, "one at a time", ""))
	}
}

// What may have been written keeps its reservation for a grace period, and no longer if the store never shows it.
func TestWhatIsNeverShownIsGivenBackInTheEnd(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 8))
	b := newBudget(t, c, oneAtATime)
	start(t, c, fast(), b)
	c.FailWrites(func(write, object string) error {
		if write == "taints" && object == "a-0" {
			return apierrors.NewInternalError(errors.New("etcd: request timed out"))
		}
		return nil
	})
	c.Fail("a-0", "a-1")
	c.Advance(2 * time.Minute)
	c.Evictor().Nodes().Hold("a-0", "being repaired")
	c.Advance(30 * time.Second)
	require.Empty(t, tainted(c, "a", 8), "its taint may be on its way")
	c.Advance(30 * time.Second)
	require.Equal(t, []string{"a-1"}, tainted(c, "a", 8))
}
