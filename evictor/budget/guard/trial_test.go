package guard_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/evictor/budget/guard"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/zone"
)

// oneFirst is a trial in each zone. Pods tolerate our taints for five minutes, so they leave before an act is proved.
var oneFirst = budget.Bound{
	Name: "one first", Per: "zone", Of: budget.Unproven, Max: budget.Count(8), Within: 10 * time.Minute, Unjudged: budget.Proved,
	Cooldown: 20 * time.Minute, MaxCooldown: time.Hour, Quiet: 2 * time.Hour,
}

// trial is a zone of which nodes fail, and an evictor with that trial.
type trial struct {
	*evictortest.Cluster
	t *testing.T
	b *nodeBudget
}

func newTrial(t *testing.T, cfg evictor.Config, with guard.Options, fail int) *trial {
	t.Helper()
	c := evictortest.New(t, evictortest.Zone("a", 40), evictortest.PodsPerNode(1))
	l := &trial{Cluster: c, t: t, b: newBudget(t, c, oneFirst)}
	startWith(t, c, cfg, l.b, with)
	l.failSome(fail)
	return l
}

func (l *trial) failSome(nodes int) {
	l.t.Helper()
	for i := range nodes {
		l.Fail(fmt.Sprint("a-", i))
	}
	l.Advance(2 * time.Minute)
}

// width is how many may be unproven, and failures whether it cools down.
func (l *trial) width() (width int64, cools bool) {
	l.t.Helper()
	st, ok := l.b.Status("one first", "a")
	require.True(l.t, ok)
	return st.Max, st.Shut
}

func (l *trial) is(tainted int, width int64, cools bool, why string) {
	l.t.Helper()
	w, c := l.width()
	require.Equal(l.t, []any{tainted, width, cools}, []any{len(l.tainted()), w, c}, why)
}

func (l *trial) tainted() []string { return tainted(l.Cluster, "a", 40) }

// until advances until that many pods have left.
func (l *trial) until(left int) {
	l.t.Helper()
	for range 100 {
		if len(l.Evicted()) >= left {
			return
		}
		l.Advance(5 * time.Second)
	}
	require.Fail(l.t, "no pod leaves")
}

// Many nodes fail. One is acted on, two more when it has stayed away, then four more, and so on.
func TestATrialWidensWhileNodesStayAway(t *testing.T) {
	for _, cfg := range onBothGrids(fast()) {
		l := newTrial(t, cfg, guard.Options{}, 20)
		for _, acted := range []int{1, 3, 7, 15, 20} {
			require.Len(t, l.tainted(), acted)
			l.Advance(10*time.Minute + 5*time.Second)
		}
	}
}

// A node that is back soon after its first pod left was a false alarm: no other is acted on until the trial has cooled down,
// and then one. Which node that is has been said at the time.
func TestAFalseAlarm(t *testing.T) {
	for _, cfg := range append(onBothGrids(fast()), withoutTaints(fast(), 5*time.Minute)) {
		l := newTrial(t, cfg, guard.Options{}, 3)
		l.until(1)
		first := l.Evicted()[0][:3]
		l.Recover(first)
		l.Advance(30 * time.Second)
		_, cools := l.width()
		require.True(t, cools)
		l.Advance(18 * time.Minute)
		require.Len(t, l.Evicted(), 1)
		refused := "a-1"
		if first == refused {
			refused = "a-2"
		}
		texts := told(l.Cluster, refused, "TurnRefused")
		require.Contains(t, texts[len(texts)-1], `budget "one first"`)
		l.Advance(10 * time.Minute)
		require.Len(t, l.Evicted(), 2, "one, as at the beginning")
	}
}

// A node that is back later says nothing, and neither does one that is back before a pod has left. The next one has its turn
// at once, but no second one.
func TestNodesThatSayNothing(t *testing.T) {
	back := func(l *trial) { l.Recover(l.tainted()[0]); l.Advance(time.Minute) }
	for name, row := range map[string]func(l *trial){
		"back later":      func(l *trial) { l.until(1); l.Advance(time.Minute); back(l) },
		"no pod has left": back,
		"the taint is taken": func(l *trial) {
			l.Untaint(l.tainted()[0], "node.kubernetes.io/unreachable", "NoExecute")
			l.Advance(time.Minute)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newTrial(t, fast(), guard.Options{}, 3)
			row(l)
			l.is(1, 1, false, "another has its turn")
			l.Advance(11 * time.Minute)
			width, cools := l.width()
			require.Equal(t, []any{int64(2), false}, []any{width, cools}, "the other has stayed away")
		})
	}
}

// FalseAlarmWithin is how soon is soon.
func TestHowSoonAFalseAlarmIs(t *testing.T) {
	l := newTrial(t, fast(), guard.Options{FalseAlarmWithin: 3 * time.Minute}, 1)
	l.until(1)
	l.Advance(2 * time.Minute)
	l.Recover("a-0")
	l.Advance(30 * time.Second)
	l.is(0, 1, true, "two minutes are soon")
}

// A pod whose eviction has got no answer may have left.
func TestAnEvictionWithoutAnAnswerCounts(t *testing.T) {
	l := newTrial(t, fast(), guard.Options{}, 1)
	asked := 0
	l.FailWrites(func(write, _ string) error {
		if write != "evict" {
			return nil
		}
		asked++
		return apierrors.NewInternalError(errors.New("etcd: request timed out"))
	})
	for asked == 0 {
		l.Advance(5 * time.Second)
	}
	l.Recover("a-0")
	l.Advance(30 * time.Second)
	l.is(0, 1, true, "a false alarm")
}

// Whoever lets others evict does not see pods leave: then the taint counts.
func TestAFalseAlarmWithoutTheOtherHalf(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 40))
	l := &trial{Cluster: c, t: t, b: newBudget(t, c, oneFirst)}
	g, err := guard.New(l.b, fast().Nodes, guard.Options{})
	require.NoError(t, err)
	on := g.On(evictor.Options{Clock: c.Clock()})
	half, err := nodelifecycle.New(fast().Nodes, c.Clients(), nodelifecycle.Options{Clock: c.Clock(), Gate: on.Gate, Observer: on.Observer.ObserveNode, Hold: on.Hold})
	require.NoError(t, err)
	c.Drive(half.Step)
	l.failSome(1)
	require.Len(t, l.tainted(), 1)
	l.Recover("a-0")
	l.Advance(30 * time.Second)
	l.is(0, 1, false, "it was tainted more than a grace ago")
	l.Fail("a-0")
	for len(l.tainted()) == 0 {
		l.Advance(time.Second)
	}
	l.Recover("a-0")
	l.Advance(20 * time.Second)
	l.is(0, 1, true, "just now")
}

// A node that is gone stays away. Another one of its name that comes soon after is no false alarm.
func TestANodeOfTheSameName(t *testing.T) {
	l := newTrial(t, fast(), guard.Options{}, 1)
	l.until(1)
	l.DeleteNode("a-0")
	l.AddNode("a-0", zone.Key{Zone: "a"})
	l.Advance(10 * time.Minute)
	l.is(0, 2, false, "the one before has stayed away")
}

// The program tells outcomes under its own name, and the first one counts.
func TestTheProgramJudges(t *testing.T) {
	l := newTrial(t, fast(), guard.Options{}, 4)
	first := l.tainted()[0]
	require.True(t, l.b.Judge(first, budget.Proved), "its pods run elsewhere")
	l.Advance(10 * time.Second)
	l.is(3, 2, false, "two more")
	l.until(1)
	l.Recover(first)
	l.Advance(30 * time.Second)
	l.is(2, 2, false, "it was proved, so it is no false alarm")
}

// With its snapshot a trial goes on after a restart or a take-over: what was proved and what is not, and failures. Without
// one, every node that carries our taint is unproven for a whole dwell time.
func TestATrialOutlivesItsProcess(t *testing.T) {
	for _, restores := range []bool{true, false} {
		l := newTrial(t, fast(), guard.Options{}, 20)
		l.Advance(10 * time.Minute)
		l.is(3, 2, false, "the first was proved")
		restart := func() {
			text, err := json.Marshal(l.b.Snapshot())
			require.NoError(t, err)
			if l.b = newBudget(t, l.Cluster, oneFirst); restores {
				var s budget.Snapshot[string]
				require.NoError(t, json.Unmarshal(text, &s))
				require.NoError(t, l.b.Restore(s))
			}
			start(t, l.Cluster, fast(), l.b)
		}
		restart()
		l.Advance(9 * time.Minute)
		if !restores {
			l.is(3, 1, false, "three are unproven")
			l.Advance(2 * time.Minute)
			l.is(7, 4, false, "they have stayed away")
			continue
		}
		l.Advance(2 * time.Minute)
		l.is(7, 4, false, "two more were proved")
		restart()
		l.Advance(20 * time.Second)
		l.Recover(l.tainted()...)
		l.Advance(20 * time.Second)
		_, cools := l.width()
		require.True(t, cools, "nobody knows when the first pods of four left, so it may have been just now")
	}
}

// While another process leads, nobody here knows when pods leave: a node that is back then, or soon after the leader is this
// one again, may have been a false alarm.
func TestAFalseAlarmOfAnotherLeader(t *testing.T) {
	for _, again := range []bool{false, true} {
		c := evictortest.New(t, evictortest.Zone("a", 40), evictortest.PodsPerNode(1))
		l := &trial{Cluster: c, t: t, b: newBudget(t, c, oneFirst)}
		var leads error
		start(t, c, fast(), l.b, evictor.Options{Gate: gate.Leader(func() error { return leads })})
		l.failSome(1)
		leads = errors.New("another leads")
		l.Advance(5 * time.Minute)
		require.Empty(t, l.Evicted())
		if again {
			leads = nil
			l.Advance(2 * time.Second)
		}
		l.Recover("a-0")
		l.Advance(30 * time.Second)
		_, cools := l.width()
		require.True(t, cools)
	}
}

// Nor does it know what another process did while this one did not run.
func TestAFalseAlarmWhileNobodyRan(t *testing.T) {
	for _, runs := range []bool{true, false} {
		w := newWorld(t)
		for i := range 8 {
			w.create(fmt.Sprint("a-", i), "a", "")
		}
		w.addPod("p", "a-0", 60)
		b, err := budget.New(budget.Config[string, guard.Member]{
			Dimensions: map[string]func(guard.Member) (string, bool){"zone": func(m guard.Member) (string, bool) { return m.Domain.Zone, true }},
			Bounds:     []budget.Bound{oneFirst}, Clock: w.clock,
		})
		require.NoError(t, err)
		w.begin(fast(), b, guard.Options{}, evictor.Options{})
		w.step(time.Second)
		w.failed["a-0"] = true
		for len(w.tainted()) == 0 {
			w.step(time.Second)
		}
		w.step(time.Second)       // it is shown
		if clear(w.pods); !runs { // another process has evicted it
			w.clock.Step(time.Minute)
		}
		for i := 0; runs && i < 60; i++ {
			w.step(time.Second)
		}
		w.step(5 * time.Second)
		w.recover("a-0")
		w.step(10 * time.Second)
		st, _ := b.Status("one first", "a")
		require.Equal(t, !runs, st.Shut)
	}
}
