package maintenance

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
)

// store is a store of nodes; during, if not nil, happens once while one is read.
type store struct {
	nodes  map[string]*v1.Node
	during func()
}

func (s *store) Synced() bool { return true }
func (s *store) Node(name string) (*v1.Node, bool) {
	if now := s.during; now != nil {
		s.during = nil
		now()
	}
	n, ok := s.nodes[name]
	return n, ok
}
func (s *store) Nodes(visit func(*v1.Node) bool) {
	for _, n := range s.nodes {
		if !visit(n) {
			return
		}
	}
}

func announce(name, uid string, is v1.ConditionStatus) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid)}}
	n.Status.Conditions = []v1.NodeCondition{{Type: "Drained", Status: is}}
	return n
}

type world struct {
	*Announced
	*store
	clk  *testingclock.FakePassiveClock
	told []string
	t    *testing.T
}

func newWorld(t *testing.T, lasts time.Duration, nodes ...*v1.Node) *world {
	w := &world{store: &store{nodes: map[string]*v1.Node{}}, clk: testingclock.NewFakePassiveClock(time.Unix(1e9, 0)), t: t}
	w.Announced = &Announced{For: lasts, Nodes: w.store, Clock: w.clk, Changed: func(node string) { w.told = append(w.told, node) }}
	for _, n := range nodes {
		w.store.nodes[n.Name] = n
	}
	return w
}

func (w *world) pass(d time.Duration) { w.clk.SetTime(w.clk.Now().Add(d)) }

func (w *world) held(name string) bool {
	reason, held := w.Hold(w.store.nodes[name])
	require.Equal(w.t, held, reason == "Drained")
	return held
}

// step returns in how many minutes Step wants to be called again, -1 for never, and which nodes it told Changed about.
func (w *world) step() (minutes float64, told []string) {
	w.told = nil
	next, err := w.Announced.Step(context.Background())
	require.NoError(w.t, err)
	slices.Sort(w.told)
	if next.IsZero() {
		return -1, w.told
	}
	return next.Sub(w.clk.Now()).Minutes(), w.told
}

// Several nodes announce, at different times: each has its own time, Step says when the first of them ends, tells each
// once, at the exact instant from which Hold spares it no more, and then has nothing to wait for.
func TestEachNodeHasItsOwnTime(t *testing.T) {
	w := newWorld(t, 30*time.Minute, announce("a", "1", v1.ConditionTrue), announce("b", "2", v1.ConditionTrue), announce("c", "3", v1.ConditionTrue))
	minutes, told := w.step()
	require.Equal(t, -1.0, minutes)
	require.Empty(t, told)
	for _, name := range []string{"a", "b", "c"} {
		require.True(t, w.held(name))
		w.pass(10 * time.Minute)
	}
	minutes, told = w.step() // 30 minutes after a, which is over at this instant
	require.Equal(t, []string{"a"}, told)
	require.Equal(t, 10.0, minutes)
	require.False(t, w.held("a"))
	require.True(t, w.held("b"))
	require.True(t, w.held("c"))
	for range 30 { // in whatever order Step looks at them
		minutes, _ = w.step()
		require.Equal(t, 10.0, minutes)
	}
	w.pass(10*time.Minute - 1)
	_, told = w.step()
	require.Empty(t, told, "a was told")
	require.True(t, w.held("b"))
	w.pass(1)
	minutes, told = w.step()
	require.Equal(t, []string{"b"}, told)
	require.Equal(t, 10.0, minutes)
	require.False(t, w.held("b"))
	w.pass(time.Hour)
	minutes, told = w.step()
	require.Equal(t, []string{"c"}, told)
	require.Equal(t, -1.0, minutes)
	minutes, told = w.step()
	require.Equal(t, -1.0, minutes)
	require.Empty(t, told)
	for _, name := range []string{"a", "b", "c"} {
		require.False(t, w.held(name), "not believed again")
	}
}

// A node that is gone is forgotten, and not told.
func TestANodeThatIsGoneIsForgotten(t *testing.T) {
	w := newWorld(t, 30*time.Minute, announce("a", "1", v1.ConditionTrue), announce("b", "2", v1.ConditionTrue))
	require.True(t, w.held("a"))
	w.pass(time.Minute)
	require.True(t, w.held("b"))
	delete(w.store.nodes, "a")
	minutes, told := w.step()
	require.Equal(t, 30.0, minutes)
	require.Empty(t, told)
	require.Len(t, w.Announced.nodes, 1)
	w.pass(time.Hour)
	_, told = w.step()
	require.Equal(t, []string{"b"}, told)
}

// What changes while Step looks is not overwritten: a node that ends and announces anew is spared for as long again.
func TestWhatChangesDuringAStepStays(t *testing.T) {
	w := newWorld(t, 30*time.Minute, announce("a", "1", v1.ConditionTrue))
	require.True(t, w.held("a"))
	w.pass(30 * time.Minute)
	w.store.during = func() {
		w.Hold(announce("a", "1", v1.ConditionFalse))
		require.True(t, w.held("a"))
	}
	w.step()
	w.pass(time.Minute)
	require.True(t, w.held("a"))
	minutes, _ := w.step()
	require.Equal(t, 29.0, minutes)
	w.pass(time.Hour)
	_, told := w.step()
	require.Equal(t, []string{"a"}, told)

	delete(w.store.nodes, "a") // and one that is replaced while Step forgets it
	w.store.during = func() {
		require.True(t, func() bool { _, held := w.Hold(announce("a", "2", v1.ConditionTrue)); return held }())
	}
	w.step()
	require.Len(t, w.Announced.nodes, 1)
}

// Its methods may be called side by side, and a node without a UID announces like others.
func TestSideBySide(t *testing.T) {
	w := newWorld(t, time.Hour, announce("a", "", v1.ConditionTrue), announce("b", "1", v1.ConditionTrue))
	require.True(t, w.held("a"))
	gone := announce("b", "1", v1.ConditionFalse)
	var calls sync.WaitGroup
	for _, call := range []func(){
		func() { w.Hold(w.store.nodes["b"]) },
		func() { w.Hold(gone) },
		func() { _, _ = w.Announced.Step(context.Background()) },
		func() { w.set("b", announcement{}, nil) },
	} {
		calls.Add(1)
		go func() {
			defer calls.Done()
			for range 1000 {
				call()
			}
		}()
	}
	calls.Wait()
	require.True(t, w.held("a"))
}

// 0 or less believes no announcement, and a label excludes a node that announces nothing.
func TestWhatAnnouncesNothing(t *testing.T) {
	for _, lasts := range []time.Duration{0, -1} {
		w := newWorld(t, lasts, announce("a", "1", v1.ConditionTrue))
		require.False(t, w.held("a"))
		require.False(t, w.Excluded(w.store.nodes["a"]))
	}
	w := newWorld(t, time.Hour, announce("a", "1", v1.ConditionFalse))
	require.False(t, w.Excluded(w.store.nodes["a"]))
	w.store.nodes["a"].Labels = map[string]string{"node.kubernetes.io/exclude-disruption": ""}
	require.True(t, w.Excluded(w.store.nodes["a"]))
}
