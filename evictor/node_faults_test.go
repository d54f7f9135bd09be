package evictor_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// Events of a pod or a node do not cut the backoff of a node's writes short, whichever they are.
func TestEventsDoNotCutTheBackoffOfANodeShort(t *testing.T) {
	for _, failing := range []string{"evict", "podStatus", "taints"} {
		cfg := config()
		cfg.TaintBasedEviction = failing != "evict"
		c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(1))
		e := c.Start(cfg)
		c.Fail("a-0")
		c.Advance(6 * time.Minute) // emptied, or tainted and emptied
		c.AddPod("late", "a-0", v1.Toleration{Operator: v1.TolerationOpExists})
		tries := map[time.Duration]int{}
		c.FailWrites(func(write, object string) error {
			if write != failing {
				return nil
			}
			at := c.Clock().Since(evictortest.Epoch)
			if tries[at]++; tries[at] < 3 {
				e.PodChanged(evictor.PodKey{Namespace: "default", Name: "late"})
				e.NodeChanged("a-0")
			}
			return errors.New("unavailable")
		})
		if failing == "taints" {
			c.Recover("a-0")
		}
		c.Advance(30 * time.Second)
		require.Greater(t, len(tries), 4, failing)
		for at, n := range tries {
			require.Equal(t, 1, n, "%s at %s", failing, at)
		}
	}
}

// What a pause held back is written in the same order on every run.
func TestOrderAfterAPauseIsTheSameOnEveryRun(t *testing.T) {
	var first []string
	for range 5 {
		c := evictortest.New(t, evictortest.Zone("a", 30))
		e := c.Start(config())
		e.Pause("maintenance")
		for i := range 12 {
			c.Fail(fmt.Sprintf("a-%d", i))
		}
		c.Advance(2 * time.Minute)
		e.Resume("maintenance")
		c.Advance(0)
		if first == nil {
			first = c.Timeline()
			require.Len(t, says(c, "NoSchedule"), 12)
		}
		require.Equal(t, first, c.Timeline())
	}
}

// Nodes that were emptied before every zone went down have to be emptied again and do not count meanwhile.
func TestEveryZoneDownMakesRoomUnderTheCap(t *testing.T) {
	cfg := config()
	cfg.MaxFailedNodes, cfg.TaintBasedEviction = 1, false
	c := evictortest.New(t, evictortest.Zone("a", 2), evictortest.PodsPerNode(1))
	c.Start(cfg)
	c.Fail("a-0")
	c.Advance(6 * time.Minute)
	require.Equal(t, []string{"a-0-p0"}, c.Evicted())
	c.Fail("a-1")
	c.Advance(2 * time.Minute)
	c.AddPod("late", "a-0")
	c.Recover("a-1")
	c.Advance(15 * time.Minute)
	require.Equal(t, []string{"a-0-p0", "late"}, c.Evicted())
}

// In exact mode, where passes come only when there is something to judge, a node that goes may be the last one well.
func TestLastNodeThatIsWellGoesInExactMode(t *testing.T) {
	cfg := config()
	cfg.NodeMonitorPeriod = 0
	c := evictortest.New(t, evictortest.Zone("a", 1), evictortest.Zone("b", 2))
	e := c.Start(cfg)
	c.Fail("b-0", "b-1")
	c.Advance(2 * time.Minute)
	require.True(t, c.HasNoExecute("b-0"))
	c.DeleteNode("a-0")
	c.Advance(0)
	require.True(t, e.AllZonesDown())
	require.False(t, c.HasNoExecute("b-0"))
	require.Len(t, e.Zones(), 1)
}

// Nor does exact mode go round in circles over nodes that wait for a grace period while verdicts are frozen.
func TestBadObserverInExactModeWaits(t *testing.T) {
	cfg := config()
	cfg.NodeMonitorPeriod = 0
	c := evictortest.New(t, evictortest.Zone("a", 4))
	e := c.Start(cfg)
	c.Fail("a-0")
	c.Advance(time.Minute)
	e.SetObserverHealth(errors.New("the watch is broken"))
	e.SetObserverHealth(nil) // a-0 has to be seen failed for one more grace
	c.Advance(10 * time.Second)
	e.SetObserverHealth(errors.New("the watch is broken"))
	c.Advance(29 * time.Second)
	for range 3 { // at the end of that grace, when nothing can be judged
		c.Clock().Step(time.Second)
		next, err := e.Step(context.Background())
		require.NoError(t, err)
		require.True(t, next.IsZero() || next.After(c.Clock().Now()), next)
	}
	e.SetObserverHealth(nil)
	c.Advance(time.Minute)
	require.True(t, c.HasNoExecute("a-0"))
}

// A live kubelet's heartbeats do not put off what waits for it to have said for a grace period that it is not ready.
func TestNodeThatSaysItIsNotReadyIsTaintedOneGraceAfterEveryZoneWasDown(t *testing.T) {
	cfg := config()
	cfg.NodeMonitorPeriod = 0
	c := evictortest.New(t, evictortest.Zone("a", 2))
	c.Start(cfg)
	c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
	c.Fail("a-1")
	c.Advance(2 * time.Minute)
	c.Recover("a-1")
	c.Advance(30 * time.Second)
	c.Advance(time.Minute)
	require.Equal(t, []string{"160.000"}, times(says(c, "NoExecute", "a-0", "add"))[1:])
}

// A pod that changed while its node was emptied is looked at again.
func TestConflictOfAnEvictionIsReadAgain(t *testing.T) {
	for _, taintBased := range []bool{true, false} {
		cfg := config()
		cfg.TaintBasedEviction = taintBased
		c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(2))
		c.Start(cfg)
		conflict := true
		c.FailWrites(func(write, object string) error {
			if write == "evict" && conflict {
				conflict = false
				return apierrors.NewConflict(v1.Resource("pods"), object, errors.New("changed"))
			}
			return nil
		})
		c.Fail("a-0")
		c.Advance(10 * time.Minute)
		require.Equal(t, []string{"a-0-p1", "a-0-p0"}, c.Evicted())
	}
}

// lateStore shows of every node what it was when late began, as an informer does whose events are late.
type lateStore struct {
	evictor.NodeStore
	seen map[string]*v1.Node
	late bool
}

func (s *lateStore) Node(name string) (*v1.Node, bool) {
	if old := s.seen[name]; s.late && old != nil {
		return old, true
	}
	node, ok := s.NodeStore.Node(name)
	s.seen[name] = node
	return node, ok
}

// A taint that was written is there, also while the store does not show it: the node has had its turn, and counts
// under the cap.
func TestTaintThatTheStoreDoesNotShowYetIsThere(t *testing.T) {
	for _, period := range []time.Duration{0, 5 * time.Second} {
		cfg := config()
		cfg.MaxFailedNodes, cfg.NodeMonitorPeriod = 1, period
		c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.Zone("b", 4))
		clients := c.Clients()
		store := &lateStore{NodeStore: clients.Nodes, seen: map[string]*v1.Node{}}
		clients.Nodes = store
		clients.NodeWriter = reportsAfterConditions{clients.NodeWriter, func(node string) {
			if node == "a-0" { // it shows this write, and nothing after it
				store.late, store.seen = true, map[string]*v1.Node{}
			}
		}}
		queued := map[string]int{}
		e, err := evictor.New(cfg, clients, evictor.Options{Clock: c.Clock(), Observer: evictor.ObserverFunc(func(d evictor.Decision) {
			if d.Kind == evictor.NodeQueued {
				queued[d.Node]++
			}
		})})
		require.NoError(t, err)
		c.Feed(e)
		step := func(d time.Duration) {
			for until := c.Clock().Now().Add(d); c.Clock().Now().Before(until); c.Advance(time.Second) {
				next, err := e.Step(context.Background())
				require.NoError(t, err)
				require.True(t, next.After(c.Clock().Now()))
				e.NodeChanged("a-0")
			}
		}
		step(0)
		c.Fail("a-0", "b-0")
		step(60 * time.Second)
		require.True(t, store.late)
		require.True(t, c.HasNoExecute("a-0"))
		store.late = false
		e.NodeChanged("a-0")
		step(5 * time.Second)
		require.False(t, c.HasNoExecute("b-0"))
		require.Equal(t, map[string]int{"a-0": 1, "b-0": 1}, queued)
		c.Untaint("a-0", v1.TaintNodeUnreachable, v1.TaintEffectNoExecute) // by somebody else, which is seen at once
		step(10 * time.Second)
		require.Equal(t, 2, queued["a-0"])
		require.NotEqual(t, c.HasNoExecute("a-0"), c.HasNoExecute("b-0"))
	}
}

// A node that recovers gets rid of its NoSchedule taint too, whatever write of it waits for its backoff.
func TestBackoffOfAWriteDoesNotHoldLiftingBack(t *testing.T) {
	cfg := config()
	cfg.NodeEvictionRate = 0
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(1))
	c.Start(cfg)
	forbid(c, "podStatus")
	c.Fail("a-0")
	c.Advance(5 * time.Minute)
	require.NotEmpty(t, c.Taints("a-0"))
	c.Recover("a-0")
	c.Advance(5 * time.Second)
	require.Empty(t, c.Taints("a-0"))
}

// Nodes that have nothing overdue any more do not go on waiting for their turn to let it go.
func TestWhatIsNotOverdueAnyMoreTakesNoTurns(t *testing.T) {
	for what, end := range map[string]func(c *evictortest.Cluster, e *evictor.Evictor, node string){
		"recovered": func(c *evictortest.Cluster, _ *evictor.Evictor, node string) { c.Recover(node) },
		"recovered while nothing can be written": func(c *evictortest.Cluster, _ *evictor.Evictor, node string) {
			c.SetAPIDown(true)
			c.Recover(node)
		},
		"held": func(_ *evictortest.Cluster, e *evictor.Evictor, node string) { e.Hold(node, "repair") },
	} {
		c := evictortest.New(t, evictortest.Zone("a", 12), evictortest.PodsPerNode(1))
		e := c.Start(config())
		nodes := []string{"a-0", "a-1", "a-2", "a-3"}
		c.Fail(nodes...)
		c.Advance(2 * time.Minute)
		e.Pause("maintenance")
		c.Advance(8 * time.Minute)
		e.Resume("maintenance")
		c.Advance(0)
		require.Len(t, e.Waiting(), 3, what)
		for _, node := range nodes {
			end(c, e, node)
		}
		c.Advance(5 * time.Second)
		require.Empty(t, e.Waiting(), what)
	}
}

// lateDeletions does not show yet that pods are on their way out.
type lateDeletions struct{ evictor.PodStore }

func (s lateDeletions) Pod(key evictor.PodKey) (*v1.Pod, bool) {
	pod, ok := s.PodStore.Pod(key)
	return undeleted(pod), ok
}

func (s lateDeletions) PodsOnNode(node string, visit func(*v1.Pod) bool) {
	s.PodStore.PodsOnNode(node, func(pod *v1.Pod) bool { return visit(undeleted(pod)) })
}

func undeleted(pod *v1.Pod) *v1.Pod {
	if pod != nil {
		pod.DeletionTimestamp = nil
	}
	return pod
}

// A pod is evicted once, also while the store does not show it.
func TestEvictionThatTheStoreDoesNotShowYetIsMadeOnce(t *testing.T) {
	for _, taintBased := range []bool{true, false} {
		cfg := config()
		cfg.TaintBasedEviction = taintBased
		c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(2))
		clients := c.Clients()
		clients.Pods = lateDeletions{clients.Pods}
		e, err := evictor.New(cfg, clients, evictor.Options{Clock: c.Clock()})
		require.NoError(t, err)
		c.Feed(e)
		tries := map[string]int{}
		c.FailWrites(func(write, object string) error {
			if write == "evict" {
				if tries[object]++; object == "default/a-0-p1" && tries[object] < 3 {
					return errors.New("unavailable")
				}
			}
			return nil
		})
		c.Fail("a-0")
		for range 400 {
			c.Advance(time.Second)
			e.NodeChanged("a-0")
			_, err := e.Step(context.Background())
			require.NoError(t, err)
		}
		require.Equal(t, map[string]int{"default/a-0-p0": 1, "default/a-0-p1": 3}, tries)
	}
}

// A pod that stays on a failed node is told of once in an outage.
func TestSparedPodsAreToldOfOnceInAnOutage(t *testing.T) {
	cfg := config()
	cfg.TaintBasedEviction = false
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	c.Phase("a-0-p0", v1.PodSucceeded)
	spared := 0
	e := c.Start(cfg, evictor.Options{Observer: evictor.ObserverFunc(func(d evictor.Decision) {
		if d.Kind == evictor.PodSpared {
			spared++
		}
	})})
	for outage := range 2 {
		c.Fail("a-0")
		for range 10 {
			c.Advance(time.Minute)
			e.NodeChanged("a-0")
		}
		require.Equal(t, outage+1, spared)
		c.Recover("a-0")
		c.Advance(time.Minute)
	}
}

// A dry run does not hold against a node what it would have written: a kubelet that is heard again would have
// reported, which it has no reason for when nothing was written.
func TestDryRunBelievesTheLeaseAgain(t *testing.T) {
	for _, renew := range []func(e *evictor.Evictor, node string, now time.Time){
		func(e *evictor.Evictor, node string, now time.Time) { e.LeaseRenewed(node, now) },
		func(e *evictor.Evictor, node string, now time.Time) {
			e.LeaseObserved(node, now, strconv.FormatInt(now.Unix(), 10))
		},
	} {
		c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
		e, err := evictor.New(config(), c.Clients(), evictor.Options{Clock: c.Clock(), DryRun: true})
		require.NoError(t, err)
		step := func(seconds int, renews ...string) {
			for range seconds {
				for _, node := range renews {
					renew(e, node, c.Clock().Now())
				}
				_, err := e.Step(context.Background())
				require.NoError(t, err)
				c.Clock().Step(time.Second)
			}
		}
		step(100, "a-1", "a-2")
		st, _ := e.Node("a-0")
		require.Equal(t, v1.ConditionUnknown, st.Verdict.Ready)
		require.Equal(t, 1, st.Evictions)
		step(6, "a-0", "a-1", "a-2")
		st, _ = e.Node("a-0")
		require.Equal(t, v1.ConditionTrue, st.Verdict.Ready)
		require.Zero(t, st.Evictions)
	}
}
