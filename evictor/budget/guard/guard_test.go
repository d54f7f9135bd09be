package guard_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/evictor/budget/guard"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/gate"
)

type nodeBudget = budget.Budget[string, guard.Member]

// newBudget makes a budget with these bounds over zones ("zone"), racks ("rack") and all nodes.
func newBudget(t *testing.T, c *evictortest.Cluster, bounds ...budget.Bound) *nodeBudget {
	t.Helper()
	b, err := budget.New(budget.Config[string, guard.Member]{
		Dimensions: map[string]func(guard.Member) (string, bool){
			"zone": func(m guard.Member) (string, bool) { return m.Domain.Zone, true },
			"rack": func(m guard.Member) (string, bool) { rack, has := m.Labels["rack"]; return rack, has },
		},
		Bad:        func(m guard.Member) bool { return !m.Ready },
		Counts:     func(m guard.Member) bool { return !m.Excluded },
		Actionable: func(m guard.Member) bool { return m.Labels["pet"] == "" },
		Bounds:     bounds, Clock: c.Clock(),
	})
	require.NoError(t, err)
	return b
}

// fast is a config in which no rate delays anything.
func fast() evictor.Config {
	cfg := evictor.DefaultConfig()
	cfg.Nodes.NodeMonitorGracePeriod = 40 * time.Second
	cfg.Nodes.NodeEvictionRate, cfg.Nodes.SecondaryNodeEvictionRate, cfg.Nodes.LargeClusterSizeThreshold = 1000, 1000, 0
	return cfg
}

func onBothGrids(cfg evictor.Config) []evictor.Config {
	exact := cfg
	exact.Nodes.NodeMonitorPeriod = 0
	return []evictor.Config{exact, cfg}
}

func withoutTaints(cfg evictor.Config, timeout time.Duration) evictor.Config {
	cfg.Nodes.TaintBasedEviction, cfg.Nodes.PodEvictionTimeout = false, timeout
	return cfg
}

// start starts an evictor with a guard of its own.
func start(t *testing.T, c *evictortest.Cluster, cfg evictor.Config, b *nodeBudget, options ...evictor.Options) {
	t.Helper()
	startWith(t, c, cfg, b, guard.Options{}, options...)
}

func startWith(t *testing.T, c *evictortest.Cluster, cfg evictor.Config, b *nodeBudget, with guard.Options, options ...evictor.Options) {
	t.Helper()
	g, err := guard.New(b, cfg.Nodes, with)
	require.NoError(t, err)
	o := evictor.Options{}
	if len(options) > 0 {
		o = options[0]
	}
	o.Clock = c.Clock()
	c.Start(cfg, g.On(o))
}

func tainted(c *evictortest.Cluster, zone string, n int) (nodes []string) {
	for i := range n {
		if name := fmt.Sprintf("%s-%d", zone, i); c.HasNoExecute(name) {
			nodes = append(nodes, name)
		}
	}
	return nodes
}

// told returns the decisions of that kind about a node or pod.
func told(c *evictortest.Cluster, key, kind string) (texts []string) {
	for _, d := range c.Explain(key) {
		if d.Kind == kind {
			texts = append(texts, d.String())
		}
	}
	return texts
}

var oneAtATime = budget.Bound{Name: "one at a time", Of: budget.Acting, Max: budget.Count(1)}

func used(t *testing.T, b *nodeBudget, bound, group string) int64 {
	t.Helper()
	st, ok := b.Status(bound, group)
	require.True(t, ok)
	return st.Used
}

// A breaker sees what happens before anybody asks: a process that does not lead yet, and a zone that has stopped, ask nothing.
func TestABreakerLooksBeforeTheFirstTurn(t *testing.T) {
	for _, leads := range []bool{true, false} {
		c := evictortest.New(t, evictortest.Zone("a", 10), evictortest.Zone("b", 10))
		b := newBudget(t, c, budget.Bound{Name: "quiet", Per: "zone", Of: budget.Bad, Max: budget.Percent(20), Quiet: 10 * time.Minute})
		cfg := fast()
		cfg.Nodes.SecondaryNodeEvictionRate = 0 // once most of a zone has failed
		start(t, c, cfg, b, evictor.Options{Gate: gate.Leader(func() error {
			if !leads {
				return errors.New("another one leads")
			}
			return nil
		})})
		fail := []string{"a-0", "a-1", "a-2", "a-3", "a-4", "a-5"}
		c.Fail(fail...)
		c.Advance(2 * time.Minute)
		c.Recover(fail[1:]...)
		c.Advance(time.Minute)
		leads = true
		c.Evictor().Kick()
		c.Advance(5 * time.Minute)
		require.Empty(t, tainted(c, "a", 10))
		c.Advance(10 * time.Minute)
		require.Equal(t, []string{"a-0"}, tainted(c, "a", 10))
	}
}

// Two nodes of a zone may be acted on at a time, and the next one once one of them has recovered. A refusal is told once.
func TestABudgetIsAskedBeforeEachTurn(t *testing.T) {
	for _, cfg := range onBothGrids(fast()) {
		c := evictortest.New(t, evictortest.Zone("a", 8), evictortest.Zone("b", 8))
		b := newBudget(t, c, budget.Bound{Name: "two at a time", Per: "zone", Of: budget.Acting, Max: budget.Count(2)})
		start(t, c, cfg, b)
		c.Fail("a-0", "a-1", "a-2", "a-3", "b-0")
		c.Advance(5 * time.Minute)
		require.Len(t, tainted(c, "a", 8), 2)
		require.Len(t, tainted(c, "b", 8), 1)
		require.False(t, c.HasNoExecute("a-3"))
		require.Len(t, told(c, "a-3", "TurnRefused"), 1, "it is told once")
		require.Contains(t, told(c, "a-3", "TurnRefused")[0], `budget "two at a time" allows at most 2 in zone "a": 3 is too many`)
		require.Len(t, c.Evictor().Nodes().Waiting(), 2, "they wait on")
		c.Recover(tainted(c, "a", 8)[0])
		c.Advance(20 * time.Second)
		require.Len(t, tainted(c, "a", 8), 2)
		c.Recover("a-0", "a-1", "a-2", "a-3", "b-0")
		c.Advance(20 * time.Second)
		require.Zero(t, used(t, b, "two at a time", "a"), "nothing is acted on any more")
	}
}

// Nodes that fail in one pass count before the first of them has its turn.
func TestVerdictsOfAPassCountBeforeItsTurns(t *testing.T) {
	for _, cfg := range onBothGrids(fast()) {
		c := evictortest.New(t, evictortest.Zone("a", 10))
		start(t, c, cfg, newBudget(t, c, budget.Bound{Name: "a fifth", Of: budget.Bad, Max: budget.Percent(20)}))
		c.Fail("a-0", "a-1", "a-2")
		c.Advance(10 * time.Minute)
		require.Empty(t, tainted(c, "a", 10))
		c.Recover("a-1")
		c.Advance(time.Minute)
		require.Equal(t, []string{"a-0", "a-2"}, tainted(c, "a", 10))
	}
}

// A node whose new bound refuses it is told of that. A refusal costs no token, and the next node has its turn.
func TestAnotherBoundIsTold(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 16))
	cfg := evictor.DefaultConfig()
	c.LabelNode("a-0", map[string]string{"pet": "yes"})
	start(t, c, cfg, newBudget(t, c, oneAtATime))
	c.Fail("a-0", "a-1")
	c.Advance(2 * time.Minute)
	require.Equal(t, []string{"a-1"}, tainted(c, "a", 16))
	c.LabelNode("a-0", nil)
	c.Advance(10 * time.Second)
	c.Recover("a-1")
	c.Advance(10 * time.Second)
	require.Equal(t, []string{"a-0"}, tainted(c, "a", 16))
	texts := told(c, "a-0", "TurnRefused")
	require.Len(t, texts, 2)
	require.Contains(t, texts[0], "Actionable")
	require.Contains(t, texts[1], `"one at a time"`)
}

// Another Gate is asked first: what it refuses is not reserved.
func TestTheGuardIsAskedLast(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 8))
	b := newBudget(t, c, oneAtATime)
	start(t, c, fast(), b, evictor.Options{Gate: gate.Func(func(_ context.Context, act gate.Act) error {
		if act.Do == gate.Turn && act.Node == "a-0" {
			return errors.New("not this one")
		}
		return nil
	})})
	c.Fail("a-0")
	c.Advance(2 * time.Minute)
	require.Zero(t, used(t, b, "one at a time", ""))
}

// A node that moves to another rack counts there; what is excluded does not count; what is held is a Member's, too.
func TestAMemberFollowsItsNode(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 8), evictortest.NodeLabels(func(string) map[string]string { return map[string]string{"rack": "r1"} }))
	held := map[string]bool{}
	b, err := budget.New(budget.Config[string, guard.Member]{
		Dimensions: map[string]func(guard.Member) (string, bool){"rack": func(m guard.Member) (string, bool) { return m.Labels["rack"], true }},
		Counts:     func(m guard.Member) bool { return !m.Excluded && !m.Held },
		Bounds:     []budget.Bound{{Name: "one of a rack", Per: "rack", Of: budget.Acting, Max: budget.Count(1)}}, Clock: c.Clock(),
	})
	require.NoError(t, err)
	start(t, c, fast(), b, evictor.Options{
		Excluded: func(node *v1.Node) bool { return node.Name == "a-7" },
		Hold:     func(node *v1.Node) (string, bool) { return "mine", held[node.Name] },
	})
	c.Fail("a-0", "a-1")
	c.Advance(2 * time.Minute)
	require.Equal(t, []string{"a-0"}, tainted(c, "a", 8))
	c.LabelNode("a-0", map[string]string{"rack": "r2"})
	c.Advance(20 * time.Second)
	require.Equal(t, []string{"a-0", "a-1"}, tainted(c, "a", 8))
	require.EqualValues(t, 1, used(t, b, "one of a rack", "r2"))
	st, _ := b.Status("one of a rack", "r1")
	require.EqualValues(t, 6, st.Total)
	held["a-5"] = true
	c.LabelNode("a-5", map[string]string{"rack": "r1", "changed": "yes"})
	c.Advance(20 * time.Second)
	st, _ = b.Status("one of a rack", "r1")
	require.EqualValues(t, 5, st.Total)
}

// While a bound is exceeded, evictions by our own taints wait if the program says so; those by others' go on. Then they leave
// node by node, at the zone's rate.
func TestABoundThatIsExceededStopsWhatIsPending(t *testing.T) {
	for i, cfg := range append(onBothGrids(fast()), onBothGrids(fast())...) {
		wait := i >= 2
		cfg.Nodes.NodeEvictionRate = 0.1
		c := evictortest.New(t, evictortest.Zone("a", 10), evictortest.Zone("b", 10))
		for i := range 10 {
			c.AddPod(fmt.Sprint("p", i), fmt.Sprint("a-", i), evictortest.TolerateFor(v1.TaintNodeUnreachable, 150))
		}
		c.AddPod("foreign", "b-9", evictortest.TolerateFor("mine", 60))
		startWith(t, c, cfg, newBudget(t, c, budget.Bound{Name: "more", Of: budget.Bad, Max: budget.Percent(25)}, budget.Bound{Name: "a storm", Of: budget.Bad, Max: budget.Percent(20), Quiet: time.Minute}), guard.Options{
			Exceeded: func(by *budget.Refusal) bool { return wait && by.Bound == "a storm" },
		})
		c.Fail("a-0", "a-1", "a-2")
		c.Advance(80 * time.Second)
		require.Len(t, tainted(c, "a", 10), 3)
		c.Fail("b-0", "b-1", "b-2")
		c.Taint("b-9", v1.Taint{Key: "mine", Effect: v1.TaintEffectNoExecute})
		c.Advance(10 * time.Minute)
		require.Empty(t, tainted(c, "b", 10), "the storm stops new ones")
		require.Contains(t, c.Evicted(), "foreign")
		if !wait {
			require.Len(t, c.Evicted(), 4)
			continue
		}
		require.Len(t, tainted(c, "a", 10), 3)
		require.Contains(t, told(c, "default/p0", "EvictionDelayed")[0], `budget "a storm" allows at most 4: 6 is too many`)
		require.Equal(t, []string{"foreign"}, c.Evicted())
		c.Recover("b-0", "b-1", "b-2")
		left := 1
		for range 600 {
			c.Advance(time.Second)
			require.LessOrEqual(t, len(c.Evicted()), left+1, "node by node")
			left = len(c.Evicted())
		}
		require.ElementsMatch(t, []string{"foreign", "p0", "p1", "p2"}, c.Evicted())
	}
}

// A write that surely failed gives its turn back, and so does a node that is gone.
func TestAFailedWriteGivesItsTurnBack(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 8))
	b := newBudget(t, c, oneAtATime)
	start(t, c, fast(), b)
	c.FailWrites(func(write, object string) error {
		if write == "taints" && object == "a-0" {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, object, errors.New("a webhook"))
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
	require.EqualValues(t, 1, used(t, b, "one at a time", ""))
}

// A turn after a conflict ends also when the node is ready by the time it is read again: its place is free.
func TestATurnAfterAConflictEnds(t *testing.T) {
	for _, cfg := range onBothGrids(fast()) {
		c := evictortest.New(t, evictortest.Zone("a", 8))
		b := newBudget(t, c, oneAtATime)
		c.FailWrites(func(write, object string) error {
			if write == "taints" && object == "a-0" {
				c.Recover("a-0")
				return apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, object, errors.New("the object has been modified"))
			}
			return nil
		})
		start(t, c, cfg, b)
		c.Fail("a-0")
		c.Advance(2 * time.Minute)
		require.Len(t, told(c, "a-0", "WriteFailed"), 1)
		require.Zero(t, used(t, b, "one at a time", ""))
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
		start(t, c, cfg, b)
		c.Fail("a-0")
		c.Advance(3 * time.Minute)
		require.Len(t, c.EvictedFrom("a-0"), map[bool]int{false: 2, true: 1}[recovers])
		c.Fail("a-1")
		c.Advance(5 * time.Minute)
		require.Empty(t, c.EvictedFrom("a-1"))
		require.Len(t, told(c, "a-1", "TurnRefused"), 1)
	}
}

// A Guard of which only the Gate was taken refuses every turn, and says why.
func TestAGuardThatSeesNoNodesRefuses(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 8))
	g, err := guard.New(newBudget(t, c, oneAtATime), fast().Nodes, guard.Options{})
	require.NoError(t, err)
	c.Start(fast(), evictor.Options{Gate: g.On(evictor.Options{}).Gate})
	c.Fail("a-0")
	c.Advance(2 * time.Minute)
	require.Empty(t, tainted(c, "a", 8))
	require.Contains(t, told(c, "a-0", "TurnRefused")[0], "no such member")
}

func TestFaultsOfTheArgumentsAreNamed(t *testing.T) {
	_, err := guard.New(nil, fast().Nodes, guard.Options{FalseAlarmWithin: -1})
	require.ErrorContains(t, err, "guard: [budget: Required")
	require.ErrorContains(t, err, "falseAlarmWithin: Invalid")
	_, err = guard.New(nil, fast().Nodes, guard.Options{})
	require.Error(t, err)
}

// Without a Clock the evictor has the budget's; one more than an hour apart refuses every turn, and says why.
func TestOneClock(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 8))
	g, err := guard.New(newBudget(t, c, oneAtATime), fast().Nodes, guard.Options{})
	require.NoError(t, err)
	require.Equal(t, c.Clock(), g.On(evictor.Options{}).Clock)

	over := testingclock.NewFakePassiveClock(c.Clock().Now().Add(time.Hour + time.Minute))
	forgotten, err := budget.New(budget.Config[string, guard.Member]{Clock: over, Bounds: []budget.Bound{oneAtATime}})
	require.NoError(t, err)
	g, err = guard.New(forgotten, fast().Nodes, guard.Options{})
	require.NoError(t, err)
	c.Start(fast(), g.On(evictor.Options{Clock: c.Clock()}))
	c.Fail("a-0")
	c.Advance(2 * time.Minute)
	require.Empty(t, tainted(c, "a", 8))
	require.Contains(t, told(c, "a-0", "TurnRefused")[0], "guard: the Clock of budget.Config is")
}
