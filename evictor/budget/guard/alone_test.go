package guard

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
	"github.com/evictkit/evictkit/zone"
)

var (
	oneActing = budget.Bound{Name: "acting", Of: budget.Acting, Max: budget.Count(1)}
	oneRecent = budget.Bound{Name: "recent", Of: budget.Recent, Max: budget.Count(1), Within: 30 * time.Minute}
)

// alone is a Guard without an evictor: its test tells it what an evictor would.
type alone struct {
	*Guard
	t    *testing.T
	clk  *testingclock.FakePassiveClock
	b    *budget.Budget[string, Member]
	opts evictor.Options
}

func standAlone(t *testing.T, taintBased bool, opts evictor.Options, bounds ...budget.Bound) *alone {
	a := &alone{t: t, clk: testingclock.NewFakePassiveClock(time.Unix(1e9, 0))}
	var err error
	a.b, err = budget.New(budget.Config[string, Member]{
		Bounds: bounds, Clock: a.clk,
		Dimensions: map[string]func(Member) (string, bool){"domain": func(m Member) (string, bool) { return m.Domain.Zone, true }},
		Actionable: func(m Member) bool { return !m.Held },
		Bad:        func(m Member) bool { return !m.Ready },
	})
	require.NoError(t, err)
	a.start(taintBased, opts)
	return a
}

// start begins with a new Guard of the same budget.
func (a *alone) start(taintBased bool, opts evictor.Options) {
	cfg := evictor.DefaultConfig().Nodes
	cfg.TaintBasedEviction = taintBased
	var err error
	a.Guard, err = New(a.b, cfg, Options{})
	require.NoError(a.t, err)
	opts.Clock = a.clk
	a.opts = a.On(opts)
}

func object(name string, taints ...v1.Taint) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name + "-uid"), ResourceVersion: "1"}, Spec: v1.NodeSpec{Taints: taints}}
}

func unreachable(at time.Time) v1.Taint {
	added := metav1.NewTime(at)
	return v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute, TimeAdded: &added}
}

func (a *alone) see(objects ...*v1.Node) {
	for _, o := range objects {
		n := a.nodes[o.Name]
		if a.opts.Hold(o); n == nil || n.uid != o.UID {
			a.tell(nodelifecycle.NodeRegistered, o.Name, "", nil)
		}
	}
}

func (a *alone) tell(kind nodelifecycle.Kind, node, reason string, err error) {
	d := nodelifecycle.Decision{Kind: kind, Node: node, Reason: reason, Err: err, Time: a.clk.Now()}
	if node != "" {
		d.NodeUID = types.UID(node + "-uid")
	}
	a.observeNode(d)
}

func (a *alone) verdict(node string, is v1.ConditionStatus) {
	a.observeNode(nodelifecycle.Decision{Kind: nodelifecycle.NodeVerdict, Node: node, NodeUID: types.UID(node + "-uid"), To: is, Time: a.clk.Now()})
}

func (a *alone) turn(node string) error {
	return a.may(context.Background(), gate.Act{Do: gate.Turn, Node: node})
}

func (a *alone) used(bound, group string) int {
	st, ok := a.b.Status(bound, group)
	require.True(a.t, ok)
	return int(st.Used)
}

func (a *alone) pass(d time.Duration) {
	a.clk.SetTime(a.clk.Now().Add(d))
	a.tell(nodelifecycle.Passed, "", "", nil)
}

// What the program's own functions say reaches the budget, also if it changes without the object, and its reason stays.
func TestTheProgramsFunctionsCount(t *testing.T) {
	held := true
	a := standAlone(t, true, evictor.Options{
		Domain: func(*v1.Node) zone.Key { return zone.Key{Zone: "mine"} },
		Hold:   func(*v1.Node) (string, bool) { return "Repair", held },
	}, budget.Bound{Name: "acting", Per: "domain", Of: budget.Acting, Max: budget.Count(1)})
	reason, is := a.opts.Hold(object("a"))
	require.True(t, is)
	require.Equal(t, "Repair", reason)
	require.Equal(t, []string{"mine"}, a.b.Groups("domain"))
	require.Error(t, a.turn("a"), "held")
	held = false
	a.see(object("a"))
	require.NoError(t, a.turn("a"), "held no more, though its object is the same")
}

// What an earlier process began counts since its earliest taint.
func TestAnActCountsSinceItsTaint(t *testing.T) {
	for _, ago := range [][]time.Duration{{time.Hour}, {time.Minute, time.Hour}, {time.Hour, time.Minute}} {
		a := standAlone(t, true, evictor.Options{}, oneRecent)
		var taints []v1.Taint
		for i, ago := range ago {
			taint := unreachable(a.clk.Now().Add(-ago))
			taint.Key = []string{v1.TaintNodeUnreachable, v1.TaintNodeNotReady}[i]
			taints = append(taints, taint)
		}
		a.see(object("a", taints...), object("b"))
		a.pass(time.Second)
		require.Zero(t, a.used("recent", ""), "an hour ago, and only half an hour counts")
		require.NoError(t, a.turn("b"))
	}
}

// A turn that ends without having written anything gives its reservation back, and was no act.
func TestATurnOfWhichNothingCameCountsNot(t *testing.T) {
	for _, how := range []string{"Dropped", "Spent"} {
		a := standAlone(t, true, evictor.Options{}, oneRecent)
		a.see(object("a"), object("b"))
		a.pass(time.Second)
		require.NoError(t, a.turn("a"))
		require.Error(t, a.turn("b"))
		a.tell(nodelifecycle.TurnEnded, "a", how, nil)
		require.Zero(t, a.used("recent", ""))
		require.NoError(t, a.turn("b"), how)
	}
}

// A turn that was served counts until the store shows its taint, and from then on.
func TestATurnThatWasServedCountsBeforeTheStoreShowsIt(t *testing.T) {
	for _, taintBased := range []bool{true, false} {
		a := standAlone(t, taintBased, evictor.Options{}, oneActing)
		a.see(object("a"), object("b"))
		a.pass(time.Second)
		a.verdict("a", v1.ConditionUnknown)
		require.NoError(t, a.turn("a"))
		a.tell(nodelifecycle.TurnEnded, "a", "Served", nil)
		for range 3 {
			require.Error(t, a.turn("b"), "taints %v", taintBased)
			a.pass(5 * time.Second)
		}
		if taintBased {
			tainted := object("a", unreachable(a.clk.Now()))
			tainted.ResourceVersion = "2"
			a.see(tainted)
		}
		a.pass(time.Hour)
		require.Error(t, a.turn("b"), "taints %v", taintBased)
	}
}

// Without taints, an act of which an evictor tells after its node is Ready again is over, and so is a turn in which nothing was left
// to do after an earlier process.
func TestWhatIsToldAfterTheRecoveryIsOver(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		a := standAlone(t, false, evictor.Options{}, oneActing)
		a.see(object("a"), object("b"))
		a.pass(time.Second)
		a.verdict("a", v1.ConditionUnknown)
		require.NoError(t, a.turn("a"))
		if restarts {
			a.tell(nodelifecycle.PodEvicted, "a", "", nil)
			a.start(false, evictor.Options{})
			a.see(object("a"), object("b"))
			a.pass(time.Second)
			a.verdict("a", v1.ConditionUnknown)
			require.NoError(t, a.turn("a"))
		}
		a.verdict("a", v1.ConditionTrue)
		if restarts {
			a.tell(nodelifecycle.TurnEnded, "a", "Dropped", nil)
		} else {
			a.tell(nodelifecycle.PodEvicted, "a", "", nil)
			a.tell(nodelifecycle.TurnEnded, "a", "Served", nil)
		}
		require.Zero(t, a.used("acting", ""), restarts)
		require.NoError(t, a.turn("b"), restarts)
	}
}

// A turn of a node that an earlier process has emptied may be refused first: that nothing is left to do is no less an act.
func TestAnInheritedTurnThatWasRefused(t *testing.T) {
	held := true
	hold := func(*v1.Node) (string, bool) { return "Repair", held }
	a := standAlone(t, false, evictor.Options{}, oneActing)
	a.see(object("a"), object("b"))
	a.pass(time.Second)
	a.verdict("a", v1.ConditionUnknown)
	a.tell(nodelifecycle.PodEvicted, "a", "", nil)
	a.start(false, evictor.Options{Hold: hold})
	a.see(object("a"), object("b"))
	a.pass(time.Second)
	a.verdict("a", v1.ConditionUnknown)
	require.Error(t, a.turn("a"), "held")
	held = false
	a.see(object("a"), object("b"))
	require.NoError(t, a.turn("a"))
	a.tell(nodelifecycle.TurnEnded, "a", "Dropped", nil)
	require.Equal(t, 1, a.used("acting", ""))
	require.Error(t, a.turn("b"))
}

// A node that comes after a pass is not judged by it, however late that is told.
func TestALatePassJudgesNobodyWhoCameAfterIt(t *testing.T) {
	a := standAlone(t, true, evictor.Options{}, budget.Bound{Name: "bad", Of: budget.Bad, Max: budget.Count(1)})
	a.see(object("b"))
	a.pass(time.Second)
	a.verdict("b", v1.ConditionTrue)
	a.opts.Hold(object("a"))
	a.pass(0)
	a.tell(nodelifecycle.NodeRegistered, "a", "", nil)
	ready := object("a")
	ready.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
	a.see(ready)
	require.Zero(t, a.used("bad", ""))
}

// What is told of a node that was never seen does nothing.
func TestUnknownNodes(t *testing.T) {
	a := standAlone(t, true, evictor.Options{}, oneActing)
	for _, kind := range []nodelifecycle.Kind{
		"", nodelifecycle.NodeRegistered, nodelifecycle.NodeRemoved, nodelifecycle.NodeVerdict,
		nodelifecycle.ConditionsWritten, nodelifecycle.LabelsWritten, nodelifecycle.NodeQueued, nodelifecycle.TurnRefused,
		nodelifecycle.NodeDequeued, nodelifecycle.TurnEnded, nodelifecycle.TaintsWritten, nodelifecycle.NodeEmptied,
		nodelifecycle.PodEvicted, nodelifecycle.PodDelayed, nodelifecycle.PodSpared, nodelifecycle.PodMarkedNotReady,
		nodelifecycle.ZoneChanged, nodelifecycle.AllZonesDown, nodelifecycle.AllZonesDownEnded, nodelifecycle.GateChanged,
		nodelifecycle.Awaiting, nodelifecycle.WriteFailed, nodelifecycle.Passed, nodelifecycle.FunctionFailed,
		nodelifecycle.LeasesUnread,
	} {
		require.NotPanics(t, func() { a.tell(kind, "nobody", "writes", nil) })
		require.NotPanics(t, func() { a.tell(kind, "", "writes", nil) })
	}
	require.NotPanics(t, func() { a.pod(tainteviction.WriteFailed, "nobody", nil, lost) })
}

// A pod that waits because a bound is exceeded is paced afterwards.
func TestARefusedEvictionIsPaced(t *testing.T) {
	a := standAlone(t, false, evictor.Options{}, budget.Bound{Name: "none", Of: budget.Acting, Max: budget.Count(0)})
	a.exceeded = func(*budget.Refusal) bool { return true }
	a.see(object("a"))
	a.pass(time.Second)
	a.b.As("other").Adopt("a", a.clk.Now())
	err := a.may(context.Background(), gate.Act{Do: gate.Evict, Node: "a"})
	var no *gate.Refused
	require.ErrorAs(t, err, &no, "also without taints")
	require.True(t, no.Pace)
	require.Equal(t, "Budget: none", no.Reason)
}

// A taint whose answer was lost does not say that a pod has left.
func TestALostTaintIsNoPodThatLeft(t *testing.T) {
	a := standAlone(t, true, evictor.Options{}, oneActing)
	a.see(object("a"))
	a.pass(time.Second)
	require.NoError(t, a.turn("a"))
	a.tell(nodelifecycle.WriteFailed, "a", "taints", apierrors.NewTimeoutError("lost", 1))
	require.True(t, a.nodes["a"].left.IsZero())
}

// Under Run it is called by several workers at once.
func TestCalledSideBySide(t *testing.T) {
	a := watched(t, true)
	var calls sync.WaitGroup
	for _, call := range []func(){
		func() { a.shows() },
		func() { _ = a.turn("a") },
		func() { a.verdict("a", v1.ConditionUnknown) },
		a.leaves,
	} {
		calls.Add(1)
		go func() {
			defer calls.Done()
			for range 200 {
				call()
			}
		}()
	}
	calls.Wait()
	require.Equal(t, 1, a.used("acting", ""))
}

// Once this process may write again, it knows since when.
func TestWritesAgain(t *testing.T) {
	a := standAlone(t, true, evictor.Options{}, oneActing)
	a.pass(time.Second)
	a.tell(nodelifecycle.GateChanged, "", "writes", context.Canceled)
	require.True(t, a.writes.IsZero())
	a.tell(nodelifecycle.GateChanged, "", "writes", nil)
	require.Equal(t, a.clk.Now(), a.writes)
}
