package evictor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/zone"
)

// reportsAfterConditions writes nodes whose kubelets report right after we have declared them silent.
type reportsAfterConditions struct {
	nodelifecycle.NodeWriter
	report func(node string)
}

func (w reportsAfterConditions) UpdateConditions(ctx context.Context, node *v1.Node, conditions []v1.NodeCondition) error {
	err := w.NodeWriter.UpdateConditions(ctx, node, conditions)
	w.report(node.Name)
	return err
}

// Between the writes of one turn the kubelet may report Ready. Then there is nothing to taint any more.
func TestReportDuringATurnVoidsIt(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3))
	clients := c.Clients()
	clients.NodeWriter = reportsAfterConditions{clients.NodeWriter, func(node string) { c.Recover(node) }}
	s := stepped(t, c, config(), clients)
	c.Fail("a-0")
	s.run(time.Minute)
	require.NotEmpty(t, says(c, `"condition"`))
	require.Empty(t, says(c, "NoExecute"))
	require.Empty(t, c.Taints("a-0"))
}

// lostAnswers writes nodes, and keeps the conditions of one back: its writes fail, and arrive later.
type lostAnswers struct {
	nodelifecycle.NodeWriter
	node   string
	arrive func() error
}

func (w *lostAnswers) UpdateConditions(ctx context.Context, node *v1.Node, conditions []v1.NodeCondition) error {
	if write := func() error { return w.NodeWriter.UpdateConditions(ctx, node, conditions) }; node.Name != w.node {
		return write()
	} else {
		w.arrive = write
	}
	return errors.New("no answer")
}

// While the Gate answers about another node, the store begins to show the conditions of a node that waits for them. Its turn,
// about which nobody was asked, is asked about before it is given.
func TestNoTurnIsGivenUnasked(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.Zone("b", 4))
	clients, open, asked := c.Clients(), false, map[string]bool{}
	writer := &lostAnswers{NodeWriter: clients.NodeWriter, node: "b-0"}
	clients.NodeWriter = writer
	s := stepped(t, c, config(), clients, evictor.Options{Gate: gate.Func(func(_ context.Context, act gate.Act) error {
		switch {
		case act.Do != gate.Turn:
			return nil
		case !open:
			return errors.New("not yet")
		case act.Node == "a-0":
			require.NoError(t, writer.arrive())
		}
		asked[act.Node] = true
		return nil
	})})
	c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
	s.run(10 * time.Second)
	c.Condition("b-0", v1.NodeReady, v1.ConditionFalse)
	s.run(20 * time.Second)
	c.Fail("b-0")
	s.run(3 * time.Minute)
	open = true
	s.run(time.Minute)
	require.True(t, c.HasNoExecute("a-0") && c.HasNoExecute("b-0"))
	require.True(t, asked["b-0"])
}

func TestPreferChoosesWhoIsTaintedNext(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.Zone("b", 1))
	var asked [][]string
	start(c, config(), evictor.Options{Prefer: func(key zone.Key, waiting []string) string {
		require.Equal(t, "a", key.Zone)
		asked = append(asked, append([]string(nil), waiting...))
		return waiting[len(waiting)-1]
	}})
	c.Fail("a-0", "a-1", "a-2", "a-3")
	c.Advance(2 * time.Minute)
	require.Equal(t, [][]string{{"a-0", "a-1", "a-2", "a-3"}, {"a-0", "a-1", "a-2"}, {"a-0", "a-1"}}, asked)
	var order []string
	for _, line := range says(c, "NoExecute", "add") {
		order = append(order, strings.Split(line, `"`)[9])
	}
	require.Equal(t, []string{"a-3", "a-2", "a-1", "a-0"}, order)
}

// A Prefer that panics leaves the order as it is, and delays no node.
func TestPreferThatPanicsChoosesNobody(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4))
	var told any
	var says diary
	start(c, config(), evictor.Options{
		Observer: &says,
		OnPanic:  func(_, value any, _ []byte) { told = value },
		Prefer:   func(zone.Key, []string) string { panic("a bug of the program's") },
	})
	c.Fail("a-0", "a-1")
	c.Advance(2 * time.Minute)
	require.True(t, c.HasNoExecute("a-0"))
	require.True(t, c.HasNoExecute("a-1"))
	require.Equal(t, "a bug of the program's", told)
	require.Equal(t, "Prefer", says.of("FunctionFailed")[0].Reason)
}

// Between the writes of a node, somebody may remove our taint. The swap that was planned would now be a new taint, so the
// node waits for a turn like any other.
func TestASwapWhoseTaintIsGoneNeedsATurn(t *testing.T) {
	for _, gone := range []bool{false, true} {
		c := evictortest.New(t, evictortest.Zone("a", 4))
		clients := c.Clients()
		clients.NodeWriter = reportsAfterConditions{clients.NodeWriter, func(node string) {
			if gone && node == "a-0" {
				c.Untaint(node, v1.TaintNodeNotReady, v1.TaintEffectNoExecute)
			}
		}}
		s := stepped(t, c, config(), clients)
		c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
		s.run(time.Minute)
		require.True(t, c.HasNoExecute("a-0"))
		c.Fail("a-0", "a-1")
		s.run(2 * time.Minute)
		added := times(says(c, v1.TaintNodeUnreachable, "NoExecute", "add"))
		require.Len(t, added, 2)
		require.Equal(t, gone, added[0] != added[1], "a swap takes no turn: %v", added)
	}
}

func TestACapOfTheRateOfAllZones(t *testing.T) {
	cfg := config()
	cfg.Nodes.MaxNodesPerSecond = 0.05
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.Zone("b", 4), evictortest.Zone("c", 1))
	start(c, cfg)
	c.Fail("a-0", "a-1", "b-0", "b-1")
	c.Advance(5 * time.Minute)
	require.Equal(t, []string{"45.000", "65.000", "85.000", "105.000"}, times(says(c, "NoExecute", "add")), "one in 20 seconds")
}

func TestPodsAreMarkedOnceInAnOutage(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	start(c, config())
	c.Fail("a-0")
	c.Advance(time.Minute)
	require.Len(t, says(c, "podNotReady"), 1)
	c.SetPodReady("a-0-p0", true) // its kubelet is alive, and only its leases do not arrive
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

// Neither pods whose status cannot be written nor labels that cannot, for example because of an admission policy, keep a
// node from being emptied.
func TestWhatCannotBeWrittenKeepsNoPod(t *testing.T) {
	otherLabels := evictortest.NodeLabels(func(string) map[string]string { return map[string]string{"beta.kubernetes.io/os": "another"} })
	for kind, marked := range map[string]int{"podStatus": 0, "labels": 1} {
		c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1), otherLabels)
		tries := 0
		onWrites(c, kind, func(string) error {
			tries++
			return errors.New("denied")
		})
		start(c, withoutTaints(config(), 5*time.Minute))
		c.Fail("a-0")
		c.Advance(10 * time.Minute)
		require.Greater(t, tries, 3)
		require.Len(t, says(c, "podNotReady"), marked)
		require.Equal(t, []string{"305.000"}, times(says(c, `"evict"`)), kind)
	}
}

// A node that recovers loses its NoSchedule taint too, whatever write of it waits for its backoff.
func TestBackoffOfAWriteDoesNotHoldLiftingBack(t *testing.T) {
	cfg := config()
	cfg.Nodes.NodeEvictionRate = 0
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(1))
	start(c, cfg)
	forbid(c, "podStatus")
	c.Fail("a-0")
	c.Advance(5 * time.Minute)
	require.NotEmpty(t, c.Taints("a-0"))
	c.Recover("a-0")
	c.Advance(5 * time.Second)
	require.Empty(t, c.Taints("a-0"))
}

// A taint that was written exists, even if the store does not show it yet: the node has had its turn.
func TestTaintThatTheStoreDoesNotShowYetIsThere(t *testing.T) {
	for _, cfg := range onBothGrids(config()) {
		c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.Zone("b", 4))
		clients, seen := c.Clients(), map[string]*v1.Node(nil) // what the store shows once it is late
		clients.Nodes = &shows{clients.Nodes, func(name string, node *v1.Node, ok bool) (*v1.Node, bool) {
			if seen == nil {
				return node, ok
			}
			if seen[name] == nil {
				seen[name] = node
			}
			return seen[name], ok
		}}
		clients.NodeWriter = reportsAfterConditions{clients.NodeWriter, func(node string) {
			if node == "a-0" { // the store shows this write, and nothing after it
				seen = map[string]*v1.Node{}
			}
		}}
		var told diary
		s := stepped(t, c, cfg, clients, evictor.Options{Observer: &told})
		step := func(d time.Duration) {
			for ; d > 0; d -= time.Second {
				s.run(time.Second)
				s.e.NodeChanged("a-0")
			}
		}
		step(time.Second)
		c.Fail("a-0")
		step(60 * time.Second)
		require.NotNil(t, seen)
		require.True(t, c.HasNoExecute("a-0"))
		seen = nil
		step(5 * time.Second)
		require.Equal(t, []string{"a-0 "}, told.reasons("NodeQueued"))
		c.Untaint("a-0", v1.TaintNodeUnreachable, v1.TaintEffectNoExecute) // by somebody else; this is seen at once
		step(10 * time.Second)
		require.Len(t, told.of("NodeQueued", "a-0"), 2)
		require.True(t, c.HasNoExecute("a-0"))
	}
}

// A node that renews its lease after its verdict, but before the verdict is written, is not declared Unknown.
func TestANodeThatRenewsItsLeaseBeforeItIsWrittenIsNotUnknown(t *testing.T) {
	for _, cfg := range onBothGrids(config()) {
		for name, failed := range map[string]error{
			"conflict": apierrors.NewConflict(v1.Resource("nodes"), "a-0", errors.New("changed")), "server": errors.New("unavailable"),
		} {
			c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(1))
			e := start(c, cfg)
			tries := 0
			c.FailWrites(func(write, object string) error {
				if tries++; tries == 1 {
					e.LeaseObserved("a-0", c.Clock().Now(), "") // it is alive
					return failed
				}
				return nil
			})
			c.Fail("a-0")
			c.Advance(46 * time.Second)
			require.Equal(t, 1, tries, "%s, period %s", name, cfg.Nodes.NodeMonitorPeriod)
			require.Empty(t, says(c, "Unknown"), fmt.Sprint(name, cfg.Nodes.NodeMonitorPeriod))
			c.Advance(49 * time.Second) // then it is silent again
			require.Len(t, says(c, `"Ready"`, "Unknown"), 1)
		}
	}
}

// Without taints too, an Unknown node that renews its lease keeps its pods, including those that were next after the
// first.
func TestANodeThatRenewsItsLeaseWhileItIsEmptiedKeepsItsPods(t *testing.T) {
	for _, cfg := range onBothGrids(config()) {
		cfg.Nodes.TaintBasedEviction, cfg.Nodes.PodEvictionTimeout = false, time.Minute
		c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(3))
		e := start(c, cfg)
		c.FailWrites(func(write, _ string) error {
			if write == "evict" && len(c.Evicted()) == 0 {
				e.LeaseObserved("a-0", c.Clock().Now(), "")
			}
			return nil
		})
		c.Fail("a-0")
		c.Advance(95 * time.Second)
		require.Equal(t, []string{"a-0-p0"}, c.Evicted(), cfg.Nodes.NodeMonitorPeriod)
		c.Advance(2 * time.Minute) // then it is silent again
		require.Equal(t, []string{"a-0-p0", "a-0-p1", "a-0-p2"}, c.Evicted(), cfg.Nodes.NodeMonitorPeriod)
	}
}

// Zones share what a cap over all of them leaves: a zone with many failed nodes does not starve the others.
func TestCapsStarveNoZone(t *testing.T) {
	cfg := config()
	cfg.Nodes.MaxNodesPerSecond = 0.05
	c := evictortest.New(t, evictortest.Zone("a", 12), evictortest.Zone("b", 12))
	start(c, cfg)
	c.Fail("a-0", "a-1", "a-2", "a-3", "a-4", "b-0")
	c.Advance(80 * time.Second) // 45 for the verdicts, then one every 20
	require.True(t, c.HasNoExecute("a-0"))
	require.True(t, c.HasNoExecute("b-0"))
}

// loses loses the answers to NoExecute taints, before the API server gets to see them.
type loses struct {
	nodelifecycle.NodeWriter
	tries *int
}

func (l loses) UpdateTaints(ctx context.Context, node *v1.Node, change taints.Change) error {
	if slices.ContainsFunc(change.Add, func(t v1.Taint) bool { return t.Effect == v1.TaintEffectNoExecute }) {
		*l.tries++
		return context.DeadlineExceeded
	}
	return l.NodeWriter.UpdateTaints(ctx, node, change)
}

// A lift that was held back for as long as nobody led is late: its node has failed meanwhile, and has its turn. The
// lifting workers leave the taint to the turn, so that a try whose answer is lost costs it.
func TestALateLiftTakesNobodysTurn(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4))
	follows, tries := errors.New("not the leader"), 0
	clients := c.Clients()
	clients.NodeWriter = loses{clients.NodeWriter, &tries}
	s := stepped(t, c, config(), clients, evictor.Options{Gate: mayWrite(func() error { return follows })})
	c.Taint("a-0", v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute})
	s.run(10 * time.Second)
	c.Fail("a-0")
	s.run(2 * time.Minute)
	c.Untaint("a-0", v1.TaintNodeUnreachable, v1.TaintEffectNoExecute)
	s.run(time.Minute)
	follows = nil
	s.run(9 * time.Second)
	require.Equal(t, 1, tries, "a zone's turns are ten seconds apart")
}
