package evictor_test

import (
	"context"
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

// newBudget makes a budget with these bounds over zones ("zone") and over all nodes.
func newBudget(t *testing.T, c *evictortest.Cluster, bounds ...budget.Bound) *budget.Budget[string, evictor.Member] {
	t.Helper()
	b, err := budget.New(budget.Config[string, evictor.Member]{
		Dimensions: map[string]func(evictor.Member) (string, bool){"zone": func(m evictor.Member) (string, bool) { return m.Domain.Zone, true }},
		Bad:        func(m evictor.Member) bool { return !m.Ready },
		Counts:     func(m evictor.Member) bool { return !m.Excluded },
		Bounds:     bounds, Clock: c.Clock(),
	})
	require.NoError(t, err)
	return b
}

// fast is a config in which no rate delays anything.
func fast() evictor.Config {
	cfg := config()
	cfg.NodeEvictionRate, cfg.SecondaryNodeEvictionRate, cfg.LargeClusterSizeThreshold = 1000, 1000, 0
	return cfg
}

func tainted(c *evictortest.Cluster, zone string, n int) (nodes []string) {
	for i := range n {
		if name := fmt.Sprintf("%s-%d", zone, i); c.HasNoExecute(name) {
			nodes = append(nodes, name)
		}
	}
	return nodes
}

// toldOf returns the decisions of that kind about a node.
func toldOf(e *evictor.Evictor, key string, kind evictor.Kind) (texts []string) {
	for _, d := range e.Explain(key) {
		if d.Kind == kind {
			texts = append(texts, d.String())
		}
	}
	return texts
}

// TestABudgetIsAskedBeforeEachTurn: two nodes of a zone may be acted on at a time, and the next one once one of them
// has recovered.
func TestABudgetIsAskedBeforeEachTurn(t *testing.T) {
	for _, cfg := range onBothGrids(fast()) {
		c := evictortest.New(t, evictortest.Zone("a", 8), evictortest.Zone("b", 8))
		b := newBudget(t, c, budget.Bound{Name: "two at a time", Per: "zone", Of: budget.Acting, Max: budget.Count(2)})
		e := c.Start(cfg, evictor.Options{Budget: b})
		c.Fail("a-0", "a-1", "a-2", "a-3", "b-0")
		c.Advance(5 * time.Minute)
		require.Len(t, tainted(c, "a", 8), 2)
		require.Len(t, tainted(c, "b", 8), 1)
		refused := "a-3"
		require.False(t, c.HasNoExecute(refused))
		require.Len(t, toldOf(e, refused, evictor.TurnRefused), 1, "it is told once")
		require.Contains(t, toldOf(e, refused, evictor.TurnRefused)[0], `its turn is refused: budget "two at a time" allows at most 2 in zone "a": 3 is too many`)
		require.Len(t, waiting(e), 2, "they wait on")
		c.Recover(tainted(c, "a", 8)[0])
		c.Advance(20 * time.Second)
		require.Len(t, tainted(c, "a", 8), 2)
		c.Recover("a-0", "a-1", "a-2", "a-3", "b-0")
		c.Advance(20 * time.Second)
		st, _ := b.Status("two at a time", "a")
		require.Zero(t, st.Used, "nothing is acted on any more")
	}
}

// A refusal costs no token of the zone: the node after the refused one has its turn at the same instant.
func TestARefusalCostsNoToken(t *testing.T) {
	cfg := config()
	cfg.NodeMonitorPeriod = 0
	taintedAt := func(c *evictortest.Cluster, b *budget.Budget[string, evictor.Member]) []string {
		c.Start(cfg, evictor.Options{Budget: b, Excluded: func(node *v1.Node) bool { return node.Name == "a-0" }})
		c.Fail("a-0", "a-1", "a-2", "a-3")
		c.Advance(5 * time.Minute)
		return times(says(c, "NoExecute", "add"))
	}
	c := evictortest.New(t, evictortest.Zone("a", 16))
	b, err := budget.New(budget.Config[string, evictor.Member]{Actionable: func(m evictor.Member) bool { return !m.Excluded }, Clock: c.Clock()})
	require.NoError(t, err)
	with := taintedAt(c, b)
	require.False(t, c.HasNoExecute("a-0"))
	without := taintedAt(evictortest.New(t, evictortest.Zone("a", 16)), nil)
	require.Equal(t, without[:3], with)
}

// Nodes that an earlier process has tainted count in the budget of the next one, which does not know about them.
func TestWhatAProcessBeforeHasTaintedCounts(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 8), evictortest.Zone("b", 8))
	bounds := []budget.Bound{
		{Name: "three at a time", Of: budget.Acting, Max: budget.Count(3)},
		{Name: "four in ten minutes", Of: budget.Recent, Within: 10 * time.Minute, Max: budget.Count(4)},
	}
	c.Start(fast(), evictor.Options{Budget: newBudget(t, c, bounds...)})
	c.Fail("a-0", "a-1", "a-2")
	c.Advance(2 * time.Minute)
	require.Len(t, tainted(c, "a", 8), 3)
	b := newBudget(t, c, bounds...)
	c.Start(fast(), evictor.Options{Budget: b})
	c.Fail("a-3", "a-4")
	c.Advance(2 * time.Minute)
	require.Len(t, tainted(c, "a", 8), 3)
	c.Recover("a-0", "a-1")
	c.Advance(time.Minute)
	require.Len(t, tainted(c, "a", 8), 2, "the fourth in ten minutes, and no fifth")
	c.Advance(8 * time.Minute)
	require.Len(t, tainted(c, "a", 8), 3, "ten minutes have passed since the first, the taints say so")
}

// An exceeded bound makes pending evictions wait, or cancels them, until it is kept.
func TestABoundThatIsExceededStopsWhatIsPending(t *testing.T) {
	for i := range 6 {
		pending, cfg := zone.Pending(i%3), fast()
		if i >= 3 {
			cfg.NodeMonitorPeriod = 0
		}
		c := evictortest.New(t, evictortest.Zone("a", 10), evictortest.Zone("b", 10))
		for i := range 10 {
			c.AddPod(fmt.Sprint("p", i), fmt.Sprint("a-", i), evictortest.TolerateFor(v1.TaintNodeUnreachable, 60))
		}
		e := c.Start(cfg, evictor.Options{
			Budget:   newBudget(t, c, budget.Bound{Name: "a storm", Of: budget.Bad, Max: budget.Percent(20), Quiet: time.Minute}),
			Exceeded: func(*budget.Refusal) zone.Pending { return pending },
		})
		c.Fail("a-0", "a-1", "a-2")
		c.Advance(50 * time.Second)
		require.Len(t, tainted(c, "a", 10), 3)
		c.Fail("b-0", "b-1", "b-2")
		c.Advance(10 * time.Minute)
		require.Empty(t, tainted(c, "b", 10), "the storm stops new ones")
		switch pending {
		case zone.GoOn:
			require.Len(t, c.Evicted(), 3)
			continue
		case zone.Wait:
			require.Len(t, tainted(c, "a", 10), 3)
			require.Contains(t, explained(e, "default/p0"), `eviction held back: ZonePolicy: budget "a storm" allows at most 4: 6 is too many`)
		case zone.Cancel:
			require.Empty(t, tainted(c, "a", 10))
			require.Contains(t, explained(e, "default/p0"), "eviction cancelled: ZonePolicy")
		}
		require.Empty(t, c.Evicted())
		require.Len(t, toldOf(e, "a-0", evictor.PendingChanged), 1)
		node, _ := e.Node("a-0")
		require.Equal(t, pending == zone.Wait, node.HeldBack != nil)
		c.Recover("b-0", "b-1", "b-2")
		c.Advance(10 * time.Minute)
		require.ElementsMatch(t, []string{"p0", "p1", "p2"}, c.Evicted(), "%s", pending)
	}
}

// A failed write gives its turn back to the budget, and so does a node that is gone.
func TestAFailedWriteGivesItsTurnBack(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 8))
	b := newBudget(t, c, budget.Bound{Name: "one at a time", Of: budget.Acting, Max: budget.Count(1)})
	e := c.Start(fast(), evictor.Options{Budget: b})
	c.FailWrites(func(write, object string) error {
		if write == "taints" && object == "a-0" {
			return context.DeadlineExceeded
		}
		return nil
	})
	c.Fail("a-0", "a-1")
	c.Advance(2 * time.Minute)
	require.Equal(t, []string{"a-1"}, tainted(c, "a", 8))
	c.FailWrites(nil)
	c.DeleteNode("a-1")
	c.Advance(2 * time.Minute)
	require.Equal(t, []string{"a-0"}, tainted(c, "a", 8))
	st, _ := b.Status("one at a time", "")
	require.EqualValues(t, 1, st.Used)
	require.NotEmpty(t, explained(e, "a-0"))
}

// TestATurnAfterAConflictEnds also when the node is ready by the time it is read again: its place is free.
func TestATurnAfterAConflictEnds(t *testing.T) {
	for _, cfg := range onBothGrids(fast()) {
		c := evictortest.New(t, evictortest.Zone("a", 8))
		b := newBudget(t, c, budget.Bound{Name: "one at a time", Of: budget.Acting, Max: budget.Count(1)})
		e := c.Start(cfg, evictor.Options{Budget: b})
		c.FailWrites(func(write, object string) error {
			if write == "taints" && object == "a-0" {
				c.Recover("a-0")
				return apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, object, errors.New("the object has been modified"))
			}
			return nil
		})
		c.Fail("a-0")
		c.Advance(2 * time.Minute)
		require.Len(t, toldOf(e, "a-0", evictor.WriteFailed), 1)
		st, _ := b.Status("one at a time", "")
		require.Zero(t, st.Used)
		c.Fail("a-1")
		c.Advance(2 * time.Minute)
		require.Equal(t, []string{"a-1"}, tainted(c, "a", 8))
	}
}

// Without taints, a node counts as acted on from its first eviction, even if it recovers before the others.
func TestATurnThatEvictedOnePodIsNotGivenBack(t *testing.T) {
	for _, recovers := range []bool{false, true} {
		cfg := withoutTaints(fast(), time.Minute)
		c := evictortest.New(t, evictortest.Zone("a", 8), evictortest.PodsPerNode(2))
		b := newBudget(t, c, budget.Bound{Name: "one an hour", Of: budget.Recent, Within: time.Hour, Max: budget.Count(1)})
		c.FailWrites(func(write, _ string) error {
			if write == "evict" && recovers {
				c.Recover("a-0")
			}
			return nil
		})
		e := c.Start(cfg, evictor.Options{Budget: b})
		c.Fail("a-0")
		c.Advance(3 * time.Minute)
		require.Len(t, c.EvictedFrom("a-0"), map[bool]int{false: 2, true: 1}[recovers])
		c.Fail("a-1")
		c.Advance(5 * time.Minute)
		require.Empty(t, c.EvictedFrom("a-1"))
		require.Len(t, toldOf(e, "a-1", evictor.TurnRefused), 1)
	}
}

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
		for _, cfg := range onBothGrids(fast()) {
			t.Run(fmt.Sprint(name, ", ", cfg.NodeMonitorPeriod), func(t *testing.T) {
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
	cfg := withoutTaints(fast(), time.Minute)
	c := evictortest.New(t, evictortest.Zone("a", 8), evictortest.PodsPerNode(1))
	b := newBudget(t, c, oneAtATime)
	c.Start(cfg, evictor.Options{Budget: b})
	c.Fail("a-1")
	c.Advance(3 * time.Minute)
	require.Equal(t, []string{"a-1-p0"}, c.Evicted())
	c.Fail("a-0")
	for range 2 {
		c.Advance(10 * time.Minute)
		require.Empty(t, c.EvictedFrom("a-0"), "a-1 has not come back")
		c.Restart()
	}
	c.Advance(time.Minute)
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
		onWrites(c, "taints", func(object string) error {
			return apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, object, errors.New("the object has been modified"))
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

// A bound whose dimension matches no node is reported once, after all nodes have been seen, and again when that changes.
func TestABoundThatMatchesNoNodeIsReported(t *testing.T) {
	for _, cfg := range onBothGrids(fast()) {
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
		var told diary
		c.Start(cfg, evictor.Options{Budget: b, Observer: &told, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		c.Advance(time.Minute)
		require.Empty(t, told.of(evictor.BoundsUnmatched), "there are no nodes")
		for i := range 3 {
			c.AddNode(fmt.Sprint("a-", i), zone.Key{Zone: "a"})
		}
		c.Advance(time.Hour)
		unmatched := told.of(evictor.BoundsUnmatched)
		require.Len(t, unmatched, 1)
		require.Contains(t, unmatched[0].String(), " budget: these bounds apply to no node: one of b, two of b")
		require.Contains(t, log.String(), "level=WARN msg=\"budget: these bounds")
		c.AddNode("b-0", zone.Key{Zone: "b"})
		c.Advance(time.Minute)
		unmatched = told.of(evictor.BoundsUnmatched)
		require.Len(t, unmatched, 2)
		require.Contains(t, unmatched[1].String(), " budget: each bound applies to some node now")
		c.DeleteNode("b-0")
		c.Advance(time.Minute)
		require.Len(t, told.of(evictor.BoundsUnmatched), 3)
		require.Equal(t, 2, strings.Count(log.String(), "level=WARN"))
	}
}
