package evictor_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/zone"
)

var oneAtATime = budget.Bound{Name: "one at a time", Of: budget.Acting, Max: budget.Count(1)}

// used is what oneAtATime counts.
func used(t *testing.T, b *budget.Budget[string, evictor.Member]) int64 {
	t.Helper()
	st, ok := b.Status("one at a time", "")
	require.True(t, ok)
	return st.Used
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
		for _, period := range []time.Duration{0, 5 * time.Second} {
			t.Run(fmt.Sprint(name, ", ", period), func(t *testing.T) {
				cfg := fast()
				cfg.NodeMonitorPeriod = period
				c := evictortest.New(t, evictortest.Zone("a", 8))
				b := newBudget(t, c, oneAtATime)
				c.Start(cfg, evictor.Options{Budget: b})
				c.Fail("a-0")
				c.Advance(2 * time.Minute)
				require.Equal(t, []string{"a-0"}, tainted(c, "a", 8))
				c.Start(cfg, evictor.Options{MayWrite: func() error { return errors.New("another leads") }})
				row.meanwhile(c)
				c.Advance(time.Minute)
				require.EqualValues(t, 1, used(t, b), "nobody has told the budget")
				c.Start(cfg, evictor.Options{Budget: b})
				row.next(t, c)
				c.Advance(time.Minute)
				require.Zero(t, used(t, b))
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
	cfg := fast()
	cfg.TaintBasedEviction, cfg.PodEvictionTimeout = false, time.Minute
	c := evictortest.New(t, evictortest.Zone("a", 8), evictortest.PodsPerNode(1))
	b := newBudget(t, c, oneAtATime)
	c.Start(cfg, evictor.Options{Budget: b})
	c.Fail("a-1")
	c.Advance(3 * time.Minute)
	require.Equal(t, []string{"a-1-p0"}, c.Evicted())
	c.Restart()
	c.Fail("a-0")
	c.Advance(10 * time.Minute)
	require.Empty(t, c.EvictedFrom("a-0"), "a-1 has not come back")
	c.Recover("a-1")
	c.Advance(time.Minute)
	require.Equal(t, []string{"a-0-p0"}, c.EvictedFrom("a-0"))
	c.Restart()
	c.Recover("a-0")
	c.Advance(time.Minute)
	require.Zero(t, used(t, b))
}

// So does a turn that the last one had asked for and not used.
func TestAReservationOutlivesItsEvictor(t *testing.T) {
	for _, recovers := range []bool{false, true} {
		c := evictortest.New(t, evictortest.Zone("a", 8))
		b := newBudget(t, c, oneAtATime)
		c.Start(fast(), evictor.Options{Budget: b})
		c.FailWrites(func(write, object string) error {
			if write == "taints" {
				return apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, object, errors.New("the object has been modified"))
			}
			return nil
		})
		c.Fail("a-0")
		c.Advance(time.Minute)
		require.Empty(t, tainted(c, "a", 8))
		require.EqualValues(t, 1, used(t, b), "it keeps its turn")
		c.FailWrites(nil)
		want := "a-0"
		if recovers {
			c.Recover("a-0")
			c.Fail("a-1")
			want = "a-1"
		}
		c.Restart()
		c.Advance(2 * time.Minute)
		require.Equal(t, []string{want}, tainted(c, "a", 8))
		c.Recover(want)
		c.Advance(time.Minute)
		require.Zero(t, used(t, b))
	}
}

// What others do to a node in the same Budget is neither taken over nor ended.
func TestAnothersActionInTheBudget(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 8))
	b := newBudget(t, c, oneAtATime)
	e := c.Start(fast(), evictor.Options{Budget: b})
	theirs, err := b.As("drain").Reserve("a-0")
	require.NoError(t, err)
	require.True(t, theirs.Commit())
	c.Fail("a-0")
	c.Advance(2 * time.Minute)
	require.Empty(t, tainted(c, "a", 8))
	require.Contains(t, explained(e, "a-0"), "may not be acted on: budget: the member is acted on already")
	b.As("drain").Set("their own", evictor.Member{})
	c.Restart()
	c.Recover("a-0")
	c.Advance(time.Minute)
	require.True(t, theirs.End(), "it is theirs")
	require.Equal(t, 9, b.Len())
}

// A bound whose dimension matches no node is reported once, after all nodes have been seen, and again when that changes.
func TestABoundThatMatchesNoNodeIsReported(t *testing.T) {
	for _, period := range []time.Duration{0, 5 * time.Second} {
		cfg := fast()
		cfg.NodeMonitorPeriod = period
		c := evictortest.New(t)
		b, err := budget.New(budget.Config[string, evictor.Member]{
			Dimensions: map[string]func(evictor.Member) (string, bool){
				"zone": func(m evictor.Member) (string, bool) { return m.Domain.Zone, true },
				"b":    func(m evictor.Member) (string, bool) { return "", m.Domain.Zone == "b" },
			},
			Bounds: []budget.Bound{
				{Name: "one of a zone", Per: "zone", Of: budget.Acting, Max: budget.Count(1)}, {Name: "one of b", Per: "b", Of: budget.Acting, Max: budget.Count(1)},
				{Name: "two of b", Per: "b", Of: budget.Acting, Max: budget.Count(2)}, oneAtATime,
			},
			Clock: c.Clock(),
		})
		require.NoError(t, err)
		var log strings.Builder
		var told []string
		c.Start(cfg, evictor.Options{
			Budget: b, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Observer: evictor.ObserverFunc(func(d evictor.Decision) {
				if d.Kind == evictor.BoundsUnmatched {
					told = append(told, d.String()[len("00:00:00 "):])
				}
			}),
		})
		c.Advance(time.Minute)
		require.Empty(t, told, "there are no nodes")
		for i := range 3 {
			c.AddNode(fmt.Sprint("a-", i), zone.Key{Zone: "a"})
		}
		c.Advance(time.Hour)
		require.Equal(t, []string{"budget: no node is in a group to which these bounds apply: one of b, two of b"}, told)
		require.Contains(t, log.String(), "level=WARN msg=\"budget: no node")
		c.AddNode("b-0", zone.Key{Zone: "b"})
		c.Advance(time.Minute)
		require.Len(t, told, 2)
		require.Equal(t, "budget: each bound applies to some node now", told[1])
		c.DeleteNode("b-0")
		c.Advance(time.Minute)
		require.Len(t, told, 3)
		require.Equal(t, 2, strings.Count(log.String(), "level=WARN"))
	}
}
