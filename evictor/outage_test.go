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
	"github.com/evictkit/evictkit/evictor/explain"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/zone"
)

// until lets time pass up to that long after the start.
func until(c *evictortest.Cluster, d time.Duration) {
	c.Advance(d - c.Clock().Since(evictortest.Epoch))
}

// apiDown takes the API server away and brings it back, as a feed sees it that knows whether it hears.
func apiDown(c *evictortest.Cluster, e *tested, down bool) {
	c.SetAPIDown(down)
	if e.SetObserverHealth(nil); down {
		e.SetObserverHealth(errors.New("the watch is broken"))
	}
}

// What failed because of the API server is done at once after its return, however long it was away: a lift, evictions by
// others' taints; by ours after one more grace period.
func TestAllIsDoneAtTheReturnOfTheAPI(t *testing.T) {
	for _, cfg := range onBothGrids(config()) {
		for _, outage := range []time.Duration{time.Second, 20 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour} {
			c := evictortest.New(t, evictortest.Zone("a", 12), evictortest.Zone("b", 12), evictortest.PodsPerNode(1), evictortest.Tolerations(evictortest.TolerateFor(v1.TaintNodeUnreachable, 60)))
			e := start(c, cfg)
			until(c, 31*time.Second)
			c.Fail("a-0", "a-1", "a-2", "b-0")
			until(c, 100*time.Second)
			require.True(t, c.HasNoExecute("a-2") && c.HasNoExecute("b-0"))
			c.SetAPIDown(true)
			c.Recover("b-0") // its taints are to be lifted
			c.Taint("b-1", v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute})
			c.Advance(time.Second)
			apiDown(c, e, true)
			until(c, 100*time.Second+outage)
			apiDown(c, e, false)
			c.Advance(6 * time.Second)
			require.False(t, c.HasNoExecute("b-0"), outage)
			require.Len(t, c.EvictedFrom("b-1"), 1, outage)
			c.Advance(time.Minute)
			require.True(t, outage < time.Minute || len(c.EvictedFrom("a-2")) == 1, outage)
		}
	}
}

// A conflict is an answer: the node is soon read and written again, however long there was no answer before, and
// however many conflicts there are.
func TestConflictsAfterAnOutageAreNoOutage(t *testing.T) {
	for _, conflicts := range []int{0, 1, 2, 4} {
		c := evictortest.New(t, evictortest.Zone("a", 4))
		met := 0
		c.FailWrites(func(w, object string) error {
			if w == "taints" && object == "a-0" && met > 0 {
				met--
				return apierrors.NewConflict(v1.Resource("nodes"), object, errors.New("changed"))
			}
			return nil
		})
		e := start(c, config())
		c.Advance(20 * time.Second)
		c.Fail("a-0")
		c.Advance(2 * time.Minute)
		apiDown(c, e, true)
		c.Recover("a-0")
		c.Advance(10 * time.Minute)
		met = conflicts
		apiDown(c, e, false)
		c.Advance(8 * time.Second)
		require.Zero(t, met)
		require.Empty(t, c.Taints("a-0"), "%d conflicts", conflicts)
	}
}

func TestBadObserverFreezesVerdicts(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	e := start(c, config())
	e.SetObserverHealth(errors.New("the watch is broken"))
	c.Fail("a-0")
	c.Advance(10 * time.Minute)
	require.Empty(t, says(c, "Unknown"))
	e.SetObserverHealth(nil)
	c.Advance(39 * time.Second)
	require.Empty(t, says(c, "Unknown"), "all clocks started anew")
	c.Advance(10 * time.Second)
	require.NotEmpty(t, says(c, "Unknown"))
}

// While no lease can be read, the evictor is blind once and for all that time; what was known before stays.
func TestLeasesThatCannotBeReadBlindOnce(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.Zone("b", 4), evictortest.PodsPerNode(1))
	changed := 0
	e := start(c, config(), evictor.Options{Observer: evictor.Observe(func(d evictor.NodeDecision) {
		if d.Kind == nodelifecycle.GateChanged && d.Zone.Zone == "a" {
			changed++
		}
	}, nil)})
	c.Fail("b-0")
	c.Advance(3 * time.Minute)
	require.True(t, c.HasNoExecute("b-0"))
	c.FailReads(errors.New("forbidden"))
	c.Fail("a-0", "a-1") // of one alone, it may be that object
	c.Advance(time.Hour)
	require.Equal(t, 1, changed)
	st, _ := e.Nodes().Node("a-0")
	require.ErrorContains(t, st.HeldBack, "forbidden")
	c.FailReads(nil)
	c.Advance(3 * time.Minute)
	require.Equal(t, 2, changed)
	require.True(t, c.HasNoExecute("a-0"))
	require.True(t, c.HasNoExecute("a-1"))
}

// What waited when the observer went blind waits for one more grace period.
func TestObserverThatReturnsTaintsNobodyBeforeAGrace(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 16))
	e := start(c, config())
	c.Fail("a-0", "a-1", "a-2", "a-3", "a-4", "a-5", "a-6", "a-7")
	c.Advance(50 * time.Second)
	require.Len(t, says(c, "NoExecute", "add"), 1, "seven wait")
	e.SetObserverHealth(errors.New("the watch is broken"))
	c.Advance(153 * time.Second)
	e.SetObserverHealth(nil)
	c.Advance(39 * time.Second)
	require.Len(t, says(c, "NoExecute", "add"), 1)
	c.Advance(20 * time.Second)
	require.Equal(t, []string{"45.000", "245.000", "255.000"}, times(says(c, "NoExecute", "add")), "the wait cost no tokens")
}

// An eviction that is due by then is cancelled as NotSettled, and armed again after that grace period.
func TestObserverThatReturnsEvictsNobodyBeforeAGrace(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	e := start(c, config())
	c.Fail("a-0")
	c.Advance(2 * time.Minute)
	e.SetObserverHealth(errors.New("the watch is broken"))
	c.Advance(10 * time.Minute)
	e.SetObserverHealth(nil)
	c.Advance(time.Second)
	last := func() explain.Entry { all := e.Explain("default/a-0-p0"); return all[len(all)-1] }
	require.Equal(t, "EvictionCancelled", last().Kind)
	require.Contains(t, last().Text, "NotSettled")
	c.Advance(time.Minute)
	require.Equal(t, "PodEvicted", last().Kind)
}

// NodeStatus has the last heartbeat as of now, not as of the verdict.
func TestLastBeatIsAsOfNow(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3))
	e := start(c, config())
	for range 3 {
		c.Advance(5 * time.Minute)
		status, ok := e.Nodes().Node("a-0")
		require.True(t, ok)
		require.LessOrEqual(t, c.Clock().Since(status.Verdict.LastBeat), 10*time.Second)
	}
	c.Fail("a-0")
	c.Advance(35 * time.Second)
	status, _ := e.Nodes().Node("a-0")
	require.Greater(t, c.Clock().Since(status.Verdict.LastBeat), 30*time.Second)
	require.Equal(t, v1.ConditionTrue, status.Verdict.Ready)
}

// The same while a node is being emptied, and for a pod that is bound to it later.
func TestObserverThatReturnsEmptiesNobodyBeforeAGrace(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(3))
	e := start(c, withoutTaints(config(), 5*time.Minute))
	onWrites(c, "evict", func(object string) error {
		if object == "default/a-0-p0" {
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
	e.SetObserverHealth(errors.New("the watch is broken"))
	c.Advance(time.Minute)
	e.SetObserverHealth(nil)
	c.AddPod("late", "a-0")
	c.Advance(39 * time.Second)
	require.Len(t, c.Evicted(), 3)
	c.Advance(20 * time.Second)
	require.Len(t, c.Evicted(), 4)
}

// Exact mode does not spin while a node cannot be harmed because its conditions are not written.
func TestUnwritableNodeInExactModeWaits(t *testing.T) {
	for name, cfg := range map[string]evictor.Config{"tainted": config(), "emptied": withoutTaints(config(), time.Minute)} {
		t.Run(name, func(t *testing.T) {
			cfg.Nodes.NodeMonitorPeriod = 0
			c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(1))
			s := stepped(t, c, cfg, c.Clients())
			forbid(c, "conditions")
			c.Fail("a-0")
			s.run(3 * time.Minute)
			require.Empty(t, c.Evicted())
			c.FailWrites(nil)
			s.run(10 * time.Minute)
			require.Equal(t, name == "tainted", c.HasNoExecute("a-0"))
			require.NotEmpty(t, c.Evicted())
		})
	}
}

// Exact mode does not spin either while nodes wait for a grace period and verdicts are frozen.
func TestBadObserverInExactModeWaits(t *testing.T) {
	cfg := config()
	cfg.Nodes.NodeMonitorPeriod = 0
	c := evictortest.New(t, evictortest.Zone("a", 4))
	e := start(c, cfg)
	c.Fail("a-0")
	c.Advance(time.Minute)
	e.SetObserverHealth(errors.New("the watch is broken"))
	e.SetObserverHealth(nil) // a-0 must be seen failed for one more grace period
	c.Advance(10 * time.Second)
	e.SetObserverHealth(errors.New("the watch is broken"))
	c.Advance(29 * time.Second)
	for range 3 { // at the end of that grace period, when there can be no verdicts
		c.Clock().Step(time.Second)
		next, err := e.Step(context.Background())
		require.NoError(t, err)
		require.True(t, next.IsZero() || next.After(c.Clock().Now()), next)
	}
	e.SetObserverHealth(nil)
	c.Advance(time.Minute)
	require.True(t, c.HasNoExecute("a-0"))
}

// A node that reports Ready while verdicts are frozen leaves its queue once, not at each report.
func TestNodeThatReportsReadyWhileVerdictsAreFrozenIsNotQueuedAgain(t *testing.T) {
	for _, cfg := range onBothGrids(config()) {
		cfg.Nodes.NodeEvictionRate = 0.001
		c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.Heartbeats(10*time.Second, 10*time.Second))
		var told diary
		e := start(c, cfg, evictor.Options{Observer: &told})
		c.Fail("a-0", "a-1")
		c.Advance(time.Minute)
		e.SetObserverHealth(errors.New("blind"))
		c.Recover("a-1")
		c.Advance(10 * time.Minute)
		require.Len(t, told.of("NodeQueued", "a-1"), 1, cfg.Nodes.NodeMonitorPeriod)
		require.Len(t, told.of("NodeDequeued", "a-1"), 1, cfg.Nodes.NodeMonitorPeriod)
	}
}

// What became overdue while the observer was blind leaves node by node, as after a pause, once its nodes have been
// watched again.
func TestOverdueAfterABadObserverLeavesNodeByNode(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 9), evictortest.PodsPerNode(1))
	e := start(c, config())
	c.Fail("a-0", "a-1", "a-2", "a-3")
	c.Advance(2 * time.Minute)
	require.Len(t, says(c, "NoExecute", "add"), 4)
	e.SetObserverHealth(errors.New("blind"))
	c.Advance(10 * time.Minute)
	e.SetObserverHealth(nil)
	c.Advance(39 * time.Second)
	require.Empty(t, c.Evicted())
	c.Advance(2 * time.Minute)
	require.Equal(t, []string{"765.000", "775.000", "785.000", "795.000"}, times(says(c, `"evict"`)))
}

// A node whose lease was read at last, and says that it is alive, keeps its taint as it is until the next pass.
func TestNodeThatIsHeardAgainKeepsItsTaint(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3))
	clients := c.Clients()
	clients.Source = nil
	s := stepped(t, c, config(), clients)
	require.NoError(t, c.Clients().Source.Feed(struct{ evictor.Target }{s.e})) // which reads no leases
	c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
	s.run(time.Minute)
	c.Fail("a-0")
	s.run(43 * time.Second)
	s.e.LeaseRead("a-0", time.Time{}, "", errors.New("etcd is slow"))
	s.run(4 * time.Second)
	status, _ := s.e.Nodes().Node("a-0")
	require.Equal(t, v1.ConditionUnknown, status.Verdict.Ready)
	s.e.LeaseRead("a-0", c.Clock().Now(), "", nil) // between two passes
	s.run(30 * time.Second)
	require.Empty(t, says(c, `unreachable","effect":"NoExecute"`))
}

// A rate that changes is reported, also where nothing waits.
func TestARateThatChangesIsReported(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3))
	var rates []float64
	night := c.Clock().Now().Add(5 * time.Minute)
	c.Start(config(), evictor.Options{
		Policy: zone.PolicyFunc(func(s zone.Situation) (ruling zone.Ruling) {
			if ruling.Rate = 0.1; !s.Now.Before(night) {
				ruling.Rate = 0
			}
			ruling.State, ruling.AskAfter = zone.Normal, time.Minute
			return ruling
		}),
		Observer: observe(func(d decision) {
			if d.Kind == "ZoneChanged" {
				rates = append(rates, d.Rate)
			}
		}),
	})
	c.Advance(10 * time.Minute)
	require.Equal(t, []float64{0.1, 0}, rates)
}

// A lease that is seen before its node counts, so that it is no news when it is read again.
func TestLeaseThatIsSeenBeforeItsNodeCounts(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3))
	c.Start(config())
	c.Advance(time.Minute)
	c.AddNode("new", zone.Key{Zone: "a"})
	c.Advance(time.Second)
	c.Fail("new")
	c.Advance(50 * time.Second)
	status, _ := c.Evictor().Nodes().Node("new")
	require.Equal(t, v1.ConditionUnknown, status.Verdict.Ready)
}

// Without taints, a node that answers while it is emptied keeps what is left, until it has failed for long enough anew.
func TestNodeThatAnswersWhileItIsEmptiedKeepsTheRest(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(3))
	cfg := config()
	cfg.Nodes.TaintBasedEviction = false
	c.FailWrites(func(write, _ string) error {
		if write == "evict" && len(c.Evicted()) == 0 {
			c.Recover("a-0")
		}
		return nil
	})
	c.Start(cfg)
	c.Fail("a-0")
	c.Advance(cfg.Nodes.PodEvictionTimeout + 6*time.Second)
	c.Condition("a-0", v1.NodeReady, v1.ConditionFalse) // before a pass has seen it Ready
	c.Advance(3 * time.Minute)
	require.Len(t, c.Evicted(), 1)
	c.Advance(cfg.Nodes.PodEvictionTimeout)
	require.Len(t, c.Evicted(), 3)
}

// unread is a zone of three nodes and a stepped evictor for them, and nobody has read their leases since.
func unread(t *testing.T) (*evictortest.Cluster, byHand) {
	t.Helper()
	c := evictortest.New(t, evictortest.Zone("a", 3))
	clients := c.Clients()
	clients.Source = nil
	s := stepped(t, c, config(), clients)
	require.NoError(t, c.Clients().Source.Feed(struct{ evictor.Target }{s.e}))
	s.e.Silent()
	return c, s
}

// Whoever reads leases may be late: a node that falls silent meanwhile waits to be read.
func TestNodeThatFallsSilentUnreadWaits(t *testing.T) {
	c, s := unread(t)
	c.Fail("a-0")
	s.run(2 * time.Minute)
	require.Empty(t, c.Taints("a-0"))
	named, _ := s.e.Silent()
	require.Equal(t, []string{"a-0"}, named)
	s.e.LeaseRead("a-0", time.Time{}, "", nil)
	s.run(10 * time.Second)
	require.True(t, c.HasNoExecute("a-0"))
}

// Whoever reads leases does so between two passes: an answer that takes a second does not make a node wait for a pass more.
func TestReadingLeasesDelaysNoTurn(t *testing.T) {
	c, s := unread(t)
	s.run(20 * time.Second)
	c.Fail("a-0")
	var asked []string
	var next time.Time
	for range 60 {
		for _, node := range asked {
			s.e.LeaseRead(node, time.Time{}, "", nil)
		}
		if asked = nil; !c.Clock().Now().Before(next) {
			asked, next = s.e.Silent() // it wakes before the evictor does
		}
		s.step()
		c.Advance(time.Second)
	}
	require.Equal(t, []string{"65.000"}, times(says(c, `"effect":"NoExecute"`)))
}

// Without taints, a node that somebody else calls Unknown keeps what is left, until that is known better.
func TestNodeThatBecomesUnknownWhileItIsEmptiedKeepsTheRest(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(3))
	cfg := config()
	cfg.Nodes.TaintBasedEviction = false
	c.FailWrites(func(write, _ string) error {
		if write == "evict" && len(c.Evicted()) == 0 {
			c.Condition("a-0", v1.NodeReady, v1.ConditionUnknown)
		}
		return nil
	})
	c.Start(cfg)
	c.Advance(time.Minute)
	c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
	c.Advance(cfg.Nodes.PodEvictionTimeout + 20*time.Second)
	require.Len(t, c.Evicted(), 1)
}

// A tainted node falls silent, and nobody reads its lease: until somebody does, its taint stays as it is, even when a
// blind observer sees again.
func TestTaintOfANodeThatIsUnreadIsNotSwapped(t *testing.T) {
	c, s := unread(t)
	c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
	s.run(2 * time.Minute)
	before := c.Taints("a-0")
	require.NotEmpty(t, before)
	c.Fail("a-0")
	s.run(2 * time.Minute)
	s.e.SetObserverHealth(errors.New("blind"))
	s.run(10 * time.Second)
	s.e.SetObserverHealth(nil)
	s.run(10 * time.Second)
	require.Equal(t, before, c.Taints("a-0"))
	s.e.LeaseRead("a-0", time.Time{}, "", nil)
	s.run(time.Minute)
	require.Contains(t, c.Taints("a-0"), v1.TaintNodeUnreachable+":NoExecute")
}

// Without taints, an emptied node that reports Ready begins anew, even if the next pass finds it not ready again. A pod
// that comes to it then stays for PodEvictionTimeout.
func TestEmptiedNodeThatWasReadyBetweenTwoPassesBeginsAnew(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	s := stepped(t, c, withoutTaints(config(), 5*time.Minute), c.Clients())
	c.Fail("a-0")
	s.run(6*time.Minute + time.Second)
	require.Equal(t, []string{"a-0-p0"}, c.Evicted())
	c.Recover("a-0")
	s.run(time.Second)
	c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
	c.AddPod("late", "a-0")
	s.run(4 * time.Minute)
	require.Len(t, c.Evicted(), 1)
	s.run(2 * time.Minute)
	require.Len(t, c.Evicted(), 2)
}
