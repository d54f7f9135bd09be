package guard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
)

var (
	oneTrial = budget.Bound{
		Name: "trial", Of: budget.Unproven, Max: budget.Count(8), Within: 10 * time.Minute, Unjudged: budget.Proved, Cooldown: 20 * time.Minute,
		MaxCooldown: time.Hour, Quiet: 2 * time.Hour,
	}
	oneBad = budget.Bound{Name: "bad", Of: budget.Bad, Max: budget.Count(9)}
	lost   = apierrors.NewTimeoutError("lost", 1)
)

const grace = 50 * time.Second // of the default configuration; how soon a false alarm is

// watched is a Guard that has watched the nodes a and b for a while and has heard of pods. Its bounds are those of this page.
func watched(t *testing.T, taintBased bool) *alone {
	t.Helper()
	a := standAlone(t, taintBased, evictor.Options{}, oneTrial, oneActing, oneRecent, oneBad)
	a.see(object("a"), object("b"))
	a.pass(time.Second)
	a.pass(time.Hour)
	a.pod(tainteviction.EvictionArmed, "b", nil, nil)
	a.verdict("a", v1.ConditionUnknown)
	return a
}

func (a *alone) wait(d time.Duration) { a.clk.SetTime(a.clk.Now().Add(d)) }

// shows has the store show node a, with these taints.
func (a *alone) shows(taints ...v1.Taint) { a.see(object("a", taints...)) }

// acts has node a tainted, or emptied, in its turn.
func (a *alone) acts() {
	require.NoError(a.t, a.turn("a"))
	if a.taints {
		a.tell(nodelifecycle.TurnEnded, "a", "Served", nil)
		a.shows(unreachable(a.clk.Now()))
		return
	}
	a.tell(nodelifecycle.PodEvicted, "a", "", nil)
	a.tell(nodelifecycle.TurnEnded, "a", "Served", nil)
}

func (a *alone) pod(kind tainteviction.Kind, node string, taint *v1.Taint, err error) {
	a.observePod(tainteviction.Decision{Kind: kind, Pod: cluster.PodRef{Node: node}, Taint: taint, Err: err})
}

// leaves has a pod of node a leave, because of a taint of ours.
func (a *alone) leaves() {
	ours := unreachable(a.clk.Now())
	a.pod(tainteviction.PodEvicted, "a", &ours, nil)
}

// Node a is acted on, and ready again. Whether that was a false alarm depends on when its first pod left because of it, as far
// as this process can know.
func TestWhatWasAFalseAlarm(t *testing.T) {
	back := func(a *alone) { a.verdict("a", v1.ConditionTrue) }
	for name, row := range map[string]struct {
		without bool // taints
		play    func(a *alone)
		alarm   bool
	}{
		"before a pod has left": {play: func(a *alone) { a.acts(); a.wait(time.Second); back(a) }},
		"at the end of the time that counts as soon": {alarm: true, play: func(a *alone) {
			a.acts()
			a.wait(5 * time.Minute)
			a.leaves()
			a.wait(grace)
			back(a)
		}},
		"a second pod has left just now": {play: func(a *alone) {
			a.acts()
			a.leaves()
			a.wait(grace)
			a.leaves()
			a.wait(time.Second)
			back(a)
		}},
		"a pod left because of a taint of others": {play: func(a *alone) {
			a.acts()
			a.pod(tainteviction.PodEvicted, "a", &v1.Taint{Key: "mine", Effect: v1.TaintEffectNoExecute}, nil)
			back(a)
		}},
		"an eviction that was refused": {play: func(a *alone) { a.acts(); a.pod(tainteviction.EvictionDelayed, "a", nil, lost); back(a) }},
		"an eviction without an answer": {alarm: true, play: func(a *alone) {
			a.acts()
			a.pod(tainteviction.WriteFailed, "a", nil, lost)
			back(a)
		}},
		"an eviction that surely failed": {play: func(a *alone) {
			a.acts()
			a.pod(tainteviction.WriteFailed, "a", nil, apierrors.NewConflict(v1.Resource("pods"), "p", nil))
			back(a)
		}},
		"while another process writes": {alarm: true, play: func(a *alone) {
			a.acts()
			a.tell(nodelifecycle.GateChanged, "", "writes", lost)
			a.observeNode(nodelifecycle.Decision{Kind: nodelifecycle.Passed, Absent: time.Minute})
			a.wait(grace + 1)
			back(a)
		}},
		"a pod left long ago, and another process writes now": {play: func(a *alone) {
			a.acts()
			a.leaves()
			a.tell(nodelifecycle.GateChanged, "", "writes", lost)
			a.wait(grace + 1)
			back(a)
		}},
		"a pod has just left, and an earlier turn is told of late": {alarm: true, play: func(a *alone) {
			a.acts()
			a.leaves()
			a.wait(time.Second)
			a.tell(nodelifecycle.TurnEnded, "a", "Spent", nil)
			back(a)
		}},
		"a pod left an hour before the act": {alarm: true, play: func(a *alone) {
			a.leaves()
			a.wait(time.Hour)
			a.acts()
			a.leaves()
			back(a)
		}},
		"what is told of the node that had its name": {play: func(a *alone) {
			a.acts()
			a.leaves()
			a.observeNode(nodelifecycle.Decision{Kind: nodelifecycle.NodeVerdict, Node: "a", NodeUID: types.UID("other"), To: v1.ConditionTrue})
		}},
		"another process may have acted since its turn came": {alarm: true, play: func(a *alone) {
			require.NoError(a.t, a.turn("a"))
			a.wait(time.Second)
			a.tell(nodelifecycle.GateChanged, "", "writes", lost)
			a.tell(nodelifecycle.GateChanged, "", "writes", nil)
			a.wait(time.Second)
			a.shows(unreachable(a.clk.Now()))
			a.wait(time.Second)
			back(a)
		}},
		"somebody else's taint, and another process wrote before it came": {play: func(a *alone) {
			a.tell(nodelifecycle.GateChanged, "", "writes", nil)
			a.wait(time.Second)
			a.shows(unreachable(a.clk.Now()))
			a.wait(time.Second)
			back(a)
		}},
		"emptied, and a pod has just left": {without: true, alarm: true, play: func(a *alone) { a.acts(); a.wait(time.Second); back(a) }},
		"emptied, and a pod may have left long ago": {without: true, play: func(a *alone) {
			require.NoError(a.t, a.turn("a"))
			a.tell(nodelifecycle.WriteFailed, "a", "eviction", lost)
			a.wait(grace + 1)
			a.acts()
			back(a)
		}},
		"emptied, and a pod is told of after its turn": {without: true, alarm: true, play: func(a *alone) {
			require.NoError(a.t, a.turn("a"))
			a.tell(nodelifecycle.TurnEnded, "a", "Spent", nil)
			a.tell(nodelifecycle.PodEvicted, "a", "", nil)
			back(a)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			a := watched(t, !row.without)
			row.play(a)
			st, _ := a.b.Status("trial", "")
			require.Equal(t, row.alarm, st.Shut)
		})
	}
}

// A node that was acted on before the start and is ready in the first pass: its pods may have left just now, however long ago
// this process began to wait for its stores.
func TestAFalseAlarmInTheFirstPass(t *testing.T) {
	a := standAlone(t, true, evictor.Options{}, oneTrial)
	a.shows(unreachable(a.clk.Now()))
	a.tell(nodelifecycle.GateChanged, "", "writes", nil)
	a.wait(time.Hour / 10)
	a.verdict("a", v1.ConditionTrue)
	a.pass(0)
	st, _ := a.b.Status("trial", "")
	require.True(t, st.Shut)

	a = standAlone(t, true, evictor.Options{}, oneActing)
	replaced := object("a")
	replaced.UID, replaced.Status.Conditions = "replaced", []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
	a.see(replaced)
	a.shows(unreachable(a.clk.Now()))
	a.pass(0)
	require.Equal(t, 1, a.used("acting", ""), "of the node that took its name")
}

// An act that ends while the node is not ready proves nothing.
func TestAnActThatEndsBeforeItsTimeProvesNothing(t *testing.T) {
	a := watched(t, true)
	a.acts()
	a.shows()
	a.pass(time.Hour)
	st, _ := a.b.Status("trial", "")
	require.EqualValues(t, 1, st.Max)
}

// What counts as an act between its turn and what the store shows.
func TestWhatCountsAfterATurn(t *testing.T) {
	end := func(reason string) func(a *alone) {
		return func(a *alone) { a.tell(nodelifecycle.TurnEnded, "a", reason, nil) }
	}
	turn := func(a *alone) { require.NoError(a.t, a.turn("a")) }
	ready := func(a *alone) { a.verdict("a", v1.ConditionTrue) }
	later := func(a *alone) { a.wait(time.Second) }
	before := func(a *alone) { a.b.As("evictor").Adopt("a", a.clk.Now()); a.nodes["a"].state = inherited }
	acts := func(a *alone) { a.acts() }
	byHand := func(a *alone) { a.shows(unreachable(a.clk.Now())) }
	old := func(a *alone) { a.shows(unreachable(a.clk.Now().Add(-time.Hour))) }
	untainted := func(a *alone) { a.shows() }
	notReady := func(a *alone) { a.verdict("a", v1.ConditionFalse) }
	for name, row := range map[string]struct {
		without bool // taints
		play    []func(a *alone)
		counts  int
	}{
		"a turn, though the node is ready":                {false, []func(*alone){turn, ready}, 1},
		"served, though the node is ready":                {false, []func(*alone){turn, end("Served"), ready}, 1},
		"served, and the node was ready":                  {false, []func(*alone){turn, ready, end("Served")}, 1},
		"undone":                                          {false, []func(*alone){turn, end("Served"), end("Undone")}, 0},
		"undone, and the node was ready":                  {false, []func(*alone){turn, ready, end("Served"), end("Undone")}, 0},
		"an earlier turn is told of late":                 {false, []func(*alone){acts, later, end("Spent")}, 1},
		"refused by another Gate":                         {false, []func(*alone){turn, func(a *alone) { a.tell(nodelifecycle.TurnRefused, "a", "Night", nil) }}, 0},
		"nothing was left to do":                          {false, []func(*alone){turn, end("Dropped")}, 0},
		"nothing was left of what another process did":    {false, []func(*alone){before, turn, end("Dropped")}, 0},
		"emptied: nothing was left to do":                 {true, []func(*alone){turn, end("Dropped")}, 0},
		"emptied: nothing was done":                       {true, []func(*alone){before, turn, end("Spent")}, 0},
		"emptied: nothing was left of what another did":   {true, []func(*alone){before, turn, end("Dropped")}, 1},
		"emptied, and ready again":                        {true, []func(*alone){acts, ready}, 0},
		"emptied, and not ready in another way":           {true, []func(*alone){acts, notReady}, 1},
		"emptied, and tainted by hand":                    {true, []func(*alone){acts, byHand, untainted}, 1},
		"not emptied: a taint by hand":                    {true, []func(*alone){byHand}, 0},
		"served, and the store shows the node as it was":  {false, []func(*alone){turn, end("Served"), untainted}, 1},
		"a taint of its turn counts since its turn":       {false, []func(*alone){turn, old}, 1},
		"a taint that does not say since when counts now": {false, []func(*alone){func(a *alone) { a.shows(v1.Taint{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoExecute}) }}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			a := watched(t, !row.without)
			for _, does := range row.play {
				does(a)
			}
			require.Equal(t, row.counts, a.used("acting", ""))
			if row.counts > 0 {
				require.Equal(t, row.counts, a.used("recent", ""))
			}
		})
	}
}

// Before its first verdict a node is ready if it says so; from then on only verdicts count.
func TestVerdictsAndReports(t *testing.T) {
	a := standAlone(t, true, evictor.Options{}, oneBad)
	says := func(ready v1.ConditionStatus) *v1.Node {
		o := object("a")
		o.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeMemoryPressure, Status: v1.ConditionTrue}, {Type: v1.NodeReady, Status: ready}}
		return o
	}
	a.see(says(v1.ConditionFalse))
	require.Equal(t, 1, a.used("bad", ""))
	a.see(says(v1.ConditionTrue))
	require.Zero(t, a.used("bad", ""))
	a.verdict("a", v1.ConditionUnknown)
	a.see(says(v1.ConditionTrue))
	require.Equal(t, 1, a.used("bad", ""))
}

// What an earlier process began ends in the first pass for each node that is well, and for a name that is not there.
func TestWhatWasBegunBeforeTheStart(t *testing.T) {
	a := watched(t, true)
	for _, node := range []string{"a", "b"} {
		a.b.As("evictor").Adopt(node, a.clk.Now())
	}
	is := a.b.Snapshot()
	next := standAlone(t, true, evictor.Options{}, oneTrial, oneActing, oneRecent, oneBad)
	require.NoError(t, next.b.Restore(is))
	for _, node := range []string{"a", "c"} {
		o := object(node)
		o.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
		next.see(o)
	}
	next.b.As("evictor").Adopt("c", next.clk.Now())
	require.Equal(t, 2, next.used("acting", ""))
	next.pass(time.Second)
	require.Zero(t, next.used("acting", ""))
	next.see(object("b"))
	require.Zero(t, next.used("acting", ""), "another node of that name")
	next.tell(nodelifecycle.NodeRemoved, "a", "", nil)
	require.NotContains(t, next.nodes, "a")
}

// Another program's act on a node is not the evictor's to end, nor may the evictor act beside it.
func TestAnotherProgramsAct(t *testing.T) {
	a := watched(t, true)
	require.True(t, a.b.Adopt("a", a.clk.Now()))
	require.Error(t, a.turn("a"))
	a.shows(unreachable(a.clk.Now()))
	a.shows()
	require.Equal(t, 1, a.used("acting", ""))
	require.True(t, a.b.Judge("a", budget.Proved), "nor to judge")
}
