package evictor_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/zone"
)

// The last check of one pod sees a taint before its event comes; the event still has to arm the others.
func TestTaintSeenByALastCheckArmsTheOtherPods(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 2))
	c.AddPod("p0", "a-0", evictortest.TolerateFor("one", 30))
	c.AddPod("p1", "a-0", evictortest.TolerateFor("one", 30))
	c.AddPod("late", "a-0", evictortest.TolerateFor("one", 600))
	c.Start(config())
	c.Taint("a-0", v1.Taint{Key: "one", Effect: v1.TaintEffectNoExecute})
	second := false
	c.FailWrites(func(write, object string) error {
		if write == "evict" && !second {
			second = true
			c.Taint("a-0", v1.Taint{Key: "two", Effect: v1.TaintEffectNoExecute})
		}
		return nil
	})
	c.Advance(time.Minute)
	require.Equal(t, []string{"p0", "p1", "late"}, c.Evicted())
	require.Equal(t, []string{"30.000"}, times(says(c, `"evict"`, "late")))
}

// A pod that was bound long after a taint began is not taken for an old one because the node changed at
// the same time.
func TestPodThatArrivesWithAnotherTaintHasItsWholeToleration(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 2))
	c.Start(config())
	c.Taint("a-0", v1.Taint{Key: "one", Effect: v1.TaintEffectNoExecute})
	c.Advance(100 * time.Second)
	c.AddPod("p", "a-0", evictortest.TolerateFor("one", 60), v1.Toleration{Key: "two", Operator: v1.TolerationOpExists})
	c.Taint("a-0", v1.Taint{Key: "two", Effect: v1.TaintEffectNoExecute})
	c.Advance(2 * time.Minute)
	require.Equal(t, []string{"160.000"}, times(says(c, `"evict"`)))
}

// What is overdue after a pause is on nodes that are tainted already: the cap on those does not hold it.
func TestCapOnFailedNodesLetsTheOverdueGo(t *testing.T) {
	cfg := config()
	cfg.MaxFailedNodes = 1
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(1))
	e := c.Start(cfg)
	c.Fail("a-0", "a-1") // a-1 waits for a-0 to come back
	c.Advance(5 * time.Minute)
	e.Pause("maintenance")
	c.Advance(5 * time.Minute)
	e.Resume("maintenance")
	c.Advance(time.Minute)
	require.Equal(t, []string{"a-0-p0"}, c.Evicted())
	require.False(t, c.HasNoExecute("a-1"))
}

// A queue that outlived its empty zone knows whether a pause began or ended meanwhile.
func TestZoneThatReturnsKnowsOfThePause(t *testing.T) {
	for _, paused := range []bool{true, false} {
		c := evictortest.New(t, evictortest.Zone("a", 1), evictortest.Zone("b", 4))
		e := c.Start(config())
		c.Advance(time.Minute)
		if paused {
			e.Pause("maintenance")
		}
		c.Advance(10 * time.Second)
		c.DeleteNode("a-0")
		c.Advance(5 * time.Second)
		if paused {
			e.Resume("maintenance")
		} else {
			e.Pause("maintenance")
		}
		c.Advance(0)
		c.AddNode("a-0", zone.Key{Zone: "a"})
		c.Advance(5 * time.Second)
		c.Fail("a-0")
		c.Advance(2 * time.Minute)
		require.Equal(t, paused, c.HasNoExecute("a-0"))
		e.Resume("maintenance")
		c.Advance(time.Minute)
		require.True(t, c.HasNoExecute("a-0"))
	}
}

// A node whose taint is written has had its turn, whatever fails after it: it must not take those of others.
func TestFailureAfterTheTaintCostsNoMoreTurns(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 8), evictortest.PodsPerNode(1))
	c.Start(config())
	forbid(c, "podStatus")
	c.Fail("a-0", "a-1", "a-2")
	c.Advance(3 * time.Minute)
	require.Equal(t, []string{"45.000", "55.000", "65.000"}, times(says(c, "NoExecute", "add")))
}

// Without taints, pods whose status cannot be written do not keep the node from being emptied.
func TestPodsThatCannotBeMarkedAreEvictedAllTheSame(t *testing.T) {
	cfg := config()
	cfg.TaintBasedEviction = false
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	c.Start(cfg)
	forbid(c, "podStatus")
	c.Fail("a-0")
	c.Advance(10 * time.Minute)
	require.Equal(t, []string{"305.000"}, times(says(c, `"evict"`)))
}

// A pause that begins between a node's turn and its taint holds the taint, and loses neither.
func TestPauseBetweenTheTurnAndTheTaint(t *testing.T) {
	for _, taintBased := range []bool{true, false} {
		cfg := config()
		cfg.TaintBasedEviction, cfg.PodEvictionTimeout = taintBased, 40*time.Second
		c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
		e := c.Start(cfg)
		c.FailWrites(func(write, object string) error {
			if write == "conditions" {
				e.Pause("maintenance")
			}
			return nil
		})
		c.Fail("a-0")
		c.Advance(2 * time.Minute)
		require.NotEmpty(t, e.Paused())
		require.Empty(t, c.Taints("a-0"), "nothing is tainted after Pause has returned")
		require.Empty(t, c.Evicted())
		e.Resume("maintenance")
		c.Advance(30 * time.Second)
		require.Contains(t, c.Taints("a-0"), "node.kubernetes.io/unreachable:NoSchedule")
		require.Equal(t, taintBased, c.HasNoExecute("a-0"))
		require.Equal(t, !taintBased, len(c.Evicted()) == 1)
	}
}

// The same while a conflict makes the write wait.
func TestPauseDuringAConflictLosesNoTurn(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4))
	e := c.Start(config())
	conflict := true
	c.FailWrites(func(write, object string) error {
		if write == "taints" && object == "a-1" && c.Clock().Since(evictortest.Epoch) > 50*time.Second && conflict {
			conflict = false
			e.Pause("maintenance")
			return apierrors.NewConflict(v1.Resource("nodes"), object, errors.New("changed"))
		}
		return nil
	})
	c.Fail("a-0", "a-1") // the turn of a-1 comes at 55
	c.Advance(2 * time.Minute)
	require.NotEmpty(t, e.Paused())
	require.False(t, c.HasNoExecute("a-1"))
	e.Resume("maintenance")
	c.Advance(30 * time.Second)
	require.True(t, c.HasNoExecute("a-1"))
}

// A node that changes its zone while its taint is being written, in vain, waits in the new one.
func TestNodeThatMovesDuringItsTurnIsNotForgotten(t *testing.T) {
	cfg := config()
	cfg.RetryInitial = 3 * time.Second
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.Zone("b", 4))
	c.Start(cfg)
	tries := 0
	c.FailWrites(func(write, object string) error {
		if write != "taints" || object != "a-1" || c.Clock().Since(evictortest.Epoch) < 50*time.Second {
			return nil
		}
		switch tries++; tries {
		case 1:
			c.Relabel("a-1", zone.Key{Zone: "b"})
			fallthrough
		case 2: // and by the third the pass of 60 has moved it
			return apierrors.NewConflict(v1.Resource("nodes"), object, errors.New("changed"))
		case 3:
			return errors.New("unavailable")
		}
		return nil
	})
	c.Fail("a-0", "a-1") // the turn of a-1 comes at 55
	c.Advance(2 * time.Minute)
	require.True(t, c.HasNoExecute("a-1"))
}

// Whoever loses its permission to write stops at the next write, not after the last of many.
func TestLosingTheLeadStopsTheRestOfANode(t *testing.T) {
	leader := true
	cfg := config()
	cfg.TaintBasedEviction = false
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(4))
	c.Start(cfg, evictor.Options{MayWrite: func() error {
		if !leader {
			return errors.New("not the leader")
		}
		return nil
	}})
	c.Fail("a-0")
	marked, evicted := 0, 0
	c.FailWrites(func(write, object string) error {
		switch write {
		case "podStatus":
			marked++
			leader = marked != 2
		case "evict":
			evicted++
			leader = evicted != 2
		}
		return nil
	})
	c.Advance(2 * time.Minute)
	require.Equal(t, 2, marked)
	leader = true
	c.Advance(time.Minute)
	require.Equal(t, 4, marked)
	c.Advance(10 * time.Minute)
	require.Equal(t, 2, evicted)
	leader = true
	c.Advance(time.Minute)
	require.Equal(t, 4, evicted)
}

// Emptying a node takes time, in which its pods go on: each is looked at again before it is evicted.
func TestPodThatCompletesWhileItsNodeIsEmptiedStays(t *testing.T) {
	cfg := config()
	cfg.TaintBasedEviction = false
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(3))
	c.Start(cfg)
	c.FailWrites(func(write, object string) error {
		if object == "default/a-0-p0" && write == "evict" {
			c.Phase("a-0-p1", v1.PodSucceeded)
			c.DeletePod("a-0-p2")
		}
		return nil
	})
	c.Fail("a-0")
	c.Advance(10 * time.Minute)
	require.Equal(t, []string{"a-0-p0"}, c.Evicted())
}

// What waited when the observer went blind waits for one more grace period like all others, and what is
// bound to an emptied node does so too.
func TestObserverThatReturnsTaintsNobodyBeforeAGrace(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 16))
	e := c.Start(config())
	c.Fail("a-0", "a-1", "a-2", "a-3", "a-4", "a-5", "a-6", "a-7")
	c.Advance(50 * time.Second)
	require.Len(t, says(c, "NoExecute", "add"), 1, "seven wait")
	e.SetObserverHealth(errors.New("the watch is broken"))
	c.Advance(153 * time.Second)
	e.SetObserverHealth(nil)
	c.Advance(39 * time.Second)
	require.Len(t, says(c, "NoExecute", "add"), 1)
	c.Advance(20 * time.Second)
	require.Equal(t, []string{"45.000", "250.000", "260.000"}, times(says(c, "NoExecute", "add")), "the wait cost no tokens")
}

func TestObserverThatReturnsEmptiesNobodyBeforeAGrace(t *testing.T) {
	cfg := config()
	cfg.TaintBasedEviction = false
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(1))
	e := c.Start(cfg)
	c.Fail("a-0")
	c.Advance(6 * time.Minute)
	require.Len(t, c.Evicted(), 1)
	e.SetObserverHealth(errors.New("the watch is broken"))
	c.Advance(time.Minute)
	e.SetObserverHealth(nil)
	c.AddPod("late", "a-0")
	c.Advance(39 * time.Second)
	require.Len(t, c.Evicted(), 1)
	c.Advance(20 * time.Second)
	require.Len(t, c.Evicted(), 2)
}

// The same in the midst of emptying a node: the other pods wait.
func TestObserverThatReturnsWhileANodeIsEmptiedStopsIt(t *testing.T) {
	cfg := config()
	cfg.TaintBasedEviction = false
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(3))
	e := c.Start(cfg)
	c.FailWrites(func(write, object string) error {
		if object == "default/a-0-p0" && write == "evict" {
			e.SetObserverHealth(errors.New("the watch is broken"))
			e.SetObserverHealth(nil)
		}
		return nil
	})
	c.Fail("a-0")
	c.Advance(305*time.Second + 39*time.Second)
	require.Equal(t, []string{"a-0-p0"}, c.Evicted())
	c.Advance(6 * time.Minute)
	require.Len(t, c.Evicted(), 3)
}

// The same for one whose turn has come: its taint is about to be written.
func TestObserverThatReturnsDuringATurnVoidsIt(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3))
	e := c.Start(config())
	blind := false
	c.FailWrites(func(write, object string) error {
		if write == "conditions" && !blind {
			blind = true
			e.SetObserverHealth(errors.New("the watch is broken"))
			e.SetObserverHealth(nil)
		}
		return nil
	})
	c.Fail("a-0")
	c.Advance(80 * time.Second)
	require.True(t, blind, "at 45")
	require.Contains(t, c.Taints("a-0"), "node.kubernetes.io/unreachable:NoSchedule")
	require.False(t, c.HasNoExecute("a-0"))
	c.Advance(30 * time.Second)
	require.Equal(t, []string{"90.000"}, times(says(c, "NoExecute", "add")))
}

// reportsAfterConditions is a writer of nodes whose kubelet speaks right after we wrote that it is silent.
type reportsAfterConditions struct {
	evictor.NodeWriter
	report func(node string)
}

func (w reportsAfterConditions) UpdateConditions(ctx context.Context, node *v1.Node, conditions []v1.NodeCondition) error {
	err := w.NodeWriter.UpdateConditions(ctx, node, conditions)
	w.report(node.Name)
	return err
}

// Between the writes of one turn the kubelet may report Ready: then there is nothing to taint any more.
func TestReportDuringATurnVoidsIt(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3))
	clients := c.Clients()
	clients.NodeWriter = reportsAfterConditions{clients.NodeWriter, func(node string) { c.Recover(node) }}
	e, err := evictor.New(config(), clients, evictor.Options{Clock: c.Clock()})
	require.NoError(t, err)
	c.Feed(e)
	c.Fail("a-0")
	for range 60 {
		_, err := e.Step(context.Background())
		require.NoError(t, err)
		c.Advance(time.Second)
	}
	require.NotEmpty(t, says(c, `"condition"`))
	require.Empty(t, says(c, "NoExecute"))
	require.Empty(t, c.Taints("a-0"))
}

// A client that panics once costs a try, not the node.
func TestPanicOfAClientDoesNotBlockItsNode(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4))
	c.Start(config())
	panics := 0
	c.FailWrites(func(write, object string) error {
		if write == "taints" && panics < 2 {
			panics++
			panic("a bug of the client's")
		}
		return nil
	})
	c.Fail("a-0")
	c.Advance(time.Minute)
	require.True(t, c.HasNoExecute("a-0"))
	panics = 1
	c.Recover("a-0")
	c.Advance(10 * time.Second)
	require.Empty(t, c.Taints("a-0"), "recovery above all")
}

// An observer that panics while a pod is evicted hears of what comes after.
func TestPanicOfTheObserverEndsNoDelivery(t *testing.T) {
	panics, heard := true, 0
	c := evictortest.New(t, evictortest.Zone("a", 2))
	c.AddPod("p", "a-0")
	c.Start(config(), evictor.Options{Observer: evictor.ObserverFunc(func(d evictor.Decision) {
		heard++
		if d.Kind == evictor.PodEvicted && panics {
			panics = false
			panic("a bug of the observer's")
		}
	})})
	c.Taint("a-0", v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute})
	c.Advance(time.Minute)
	require.False(t, panics)
	before := heard
	c.Fail("a-1")
	c.Advance(time.Minute)
	require.Greater(t, heard, before)
}

// A pod whose eviction panics is tried again, and holds no other up.
func TestPanicOfAnEvictionIsAFailedTry(t *testing.T) {
	for _, taintBased := range []bool{true, false} {
		cfg := config()
		cfg.TaintBasedEviction = taintBased
		failed := 0
		c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(3))
		c.Start(cfg, evictor.Options{Observer: evictor.ObserverFunc(func(d evictor.Decision) {
			if d.Kind == evictor.WriteFailed {
				require.ErrorContains(t, d.Err, "a bug of the client's")
				failed++
			}
		})})
		c.FailWrites(func(write, object string) error {
			if write == "evict" && object == "default/a-0-p0" && failed < 2 {
				panic("a bug of the client's")
			}
			return nil
		})
		c.Fail("a-0")
		c.Advance(10 * time.Minute)
		require.Equal(t, []string{"a-0-p1", "a-0-p2", "a-0-p0"}, c.Evicted())
		require.Equal(t, 2, failed)
	}
}

// The same of a pod that cannot be marked.
func TestPanicOfAMarkHoldsNoOtherPodUp(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(3))
	c.Start(config())
	c.FailWrites(func(write, object string) error {
		if write == "podStatus" && object == "default/a-0-p0" {
			panic("a bug of the client's")
		}
		return nil
	})
	c.Fail("a-0")
	c.Advance(50 * time.Second)
	require.Len(t, says(c, `"podNotReady"`), 2)
}

// panickyStore panics when it is read, as often as it is told.
type panickyStore struct {
	evictor.PodStore
	panics int
}

func (s *panickyStore) step() {
	if s.panics > 0 {
		s.panics--
		panic("a bug of the store's")
	}
}

func (s *panickyStore) Pod(key evictor.PodKey) (*v1.Pod, bool) {
	s.step()
	return s.PodStore.Pod(key)
}

func (s *panickyStore) PodsOnNode(node string, visit func(*v1.Pod) bool) {
	s.step()
	s.PodStore.PodsOnNode(node, visit)
}

// A store that panics during a write or a last check leaves no lock behind.
func TestPanicOfAStoreIsAFailedTry(t *testing.T) {
	for _, taintBased := range []bool{true, false} {
		cfg := config()
		cfg.TaintBasedEviction = taintBased
		c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(2))
		clients := c.Clients()
		store := &panickyStore{PodStore: clients.Pods}
		clients.Pods = store
		e, err := evictor.New(cfg, clients, evictor.Options{Clock: c.Clock()})
		require.NoError(t, err)
		c.Feed(e)
		step := func(d time.Duration) {
			for until := c.Clock().Now().Add(d); c.Clock().Now().Before(until); c.Advance(time.Second) {
				_, err := e.Step(context.Background())
				require.NoError(t, err)
			}
		}
		c.Fail("a-0")
		step(5 * time.Minute)
		require.Empty(t, c.Evicted())
		store.panics = 1
		step(2 * time.Minute)
		require.Zero(t, store.panics)
		require.Len(t, c.Evicted(), 2)
	}
}

// Events of a pod neither move its eviction nor cut its backoff short: a Step ends, and what a budget
// holds back is tried again when the API said.
func TestEventsOfAPodDoNotCutItsBackoffShort(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 2))
	c.AddPod("p", "a-0")
	moved := 0
	e := c.Start(config(), evictor.Options{Observer: evictor.ObserverFunc(func(d evictor.Decision) {
		if d.Kind == evictor.EvictionMoved {
			moved++
		}
	})})
	key := evictor.PodKey{Namespace: "default", Name: "p"}
	tries := 0
	c.FailWrites(func(write, object string) error {
		if write == "evict" {
			tries++
			e.PodChanged(key) // the API noted the attempt on the pod, say
			return apierrors.NewTooManyRequests("budget", 10)
		}
		return nil
	})
	c.Taint("a-0", v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute})
	c.Advance(0)
	require.Equal(t, 1, tries, "an item is tried once in a Step")
	c.Advance(25 * time.Second)
	require.Equal(t, 3, tries)
	require.Zero(t, moved)
}

// A deadline that only the last check saw move away, and that moved back, is kept.
func TestDeadlineThatMovesAwayAndBackIsKept(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 1))
	c.AddPod("p", "a-0", evictortest.TolerateFor("k", 100))
	c.Taint("a-0", v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute})
	e, err := evictor.New(config(), c.Clients(), evictor.Options{Clock: c.Clock()}) // and fed by hand
	require.NoError(t, err)
	step := func(d time.Duration) {
		c.Advance(d)
		_, err := e.Step(context.Background())
		require.NoError(t, err)
	}
	step(0)
	c.Tolerate("p", evictortest.TolerateFor("k", 1000))
	step(110 * time.Second)
	c.Tolerate("p", evictortest.TolerateFor("k", 100))
	e.PodChanged(evictor.PodKey{Namespace: "default", Name: "p"})
	step(time.Second)
	require.Equal(t, []string{"p"}, c.Evicted())
}
