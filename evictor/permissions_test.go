package evictor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/zone"
)

func TestClosedPermissions(t *testing.T) {
	leader := false
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	writes := 0
	c.FailWrites(func(string, string) error { writes++; return nil })
	start(c, config(), evictor.Options{Gate: mayWrite(func() error {
		if !leader {
			return errors.New("not the leader")
		}
		return nil
	})})
	c.Fail("a-0")
	c.Advance(10 * time.Minute)
	require.Zero(t, writes)
	leader = true
	c.Advance(10 * time.Second)
	require.True(t, c.HasNoExecute("a-0"))
	leader = false
	writes = 0
	c.Recover("a-0")
	c.Advance(time.Minute)
	require.Zero(t, writes)
}

// An evictor that loses its permission to write stops at the next write, not after the last of many.
func TestLosingTheLeadStopsTheRestOfANode(t *testing.T) {
	leader := true
	cfg := withoutTaints(config(), 5*time.Minute)
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(4))
	start(c, cfg, evictor.Options{Gate: mayWrite(func() error {
		if !leader {
			return errors.New("not the leader")
		}
		return nil
	})})
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

// Kick makes it ask again at once, also for writes and evictions that were refused.
func TestKickHurriesWhatWaitsForAPermission(t *testing.T) {
	cfg := config()
	cfg.Nodes.GateInterval = time.Hour
	var closed error
	c := evictortest.New(t, evictortest.Zone("a", 6))
	c.AddPod("p", "a-0", evictortest.TolerateFor("one", 30))
	e := start(c, cfg, evictor.Options{Gate: mayWrite(func() error { return closed })})
	c.Fail("a-1")
	c.Advance(time.Minute)
	require.True(t, c.HasNoExecute("a-1"))
	closed = errors.New("not the leader")
	c.Recover("a-1")
	c.Fail("a-2")
	c.Taint("a-0", v1.Taint{Key: "one", Effect: v1.TaintEffectNoExecute})
	c.Advance(2 * time.Minute)
	closed = nil
	e.Kick()
	c.Advance(0)
	require.Empty(t, c.Taints("a-1"))
	require.True(t, c.HasNoExecute("a-2"))
	require.Equal(t, []string{"p"}, c.Evicted())
}

// A permission that is refused stops what it is about until it is granted. Both are reported once, and so is each
// eviction that it holds back, however often it is tried.
func TestARefusedPermissionIsToldOnce(t *testing.T) {
	shut := errors.New("not now")
	for reason, row := range map[string]struct {
		what, told string
		reason     string
		permission func(o *evictor.Options, may func() error)
	}{
		"MayHarm":  {"taints and evictions", "harm", "Breaker", func(o *evictor.Options, may func() error) { o.Gate = mayHarm(may) }},
		"MayWrite": {"writes", "writes", "NotLeading", func(o *evictor.Options, may func() error) { o.Gate = mayWrite(may) }},
	} {
		t.Run(reason, func(t *testing.T) {
			c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(2))
			var told diary
			var answer error
			options := evictor.Options{Observer: &told}
			row.permission(&options, func() error { return answer })
			start(c, config(), options)
			c.Fail("a-0")
			c.Advance(5 * time.Minute)
			answer = shut
			c.Advance(5 * time.Minute)
			require.Empty(t, c.Evicted())
			require.ElementsMatch(t, []string{"a-0-p0 " + row.reason, "a-0-p1 " + row.reason}, told.reasons("EvictionDelayed"))
			answer = nil
			c.Advance(12 * time.Second)
			require.ElementsMatch(t, []string{"a-0-p0", "a-0-p1"}, c.Evicted())
			gate := told.of("GateChanged")
			require.Equal(t, []string{row.told, row.told}, []string{gate[0].Reason, gate[1].Reason})
			require.Contains(t, gate[0].String(), row.what+" are held back")
			require.ErrorIs(t, gate[0].Err, shut)
			require.NoError(t, gate[1].Err)
			require.Len(t, gate, 2)
		})
	}
}

// A pause that begins between a node's turn and its taint stops the taint, and loses neither.
func TestPauseBetweenTheTurnAndTheTaint(t *testing.T) {
	for _, taintBased := range []bool{true, false} {
		cfg := config()
		cfg.Nodes.TaintBasedEviction, cfg.Nodes.PodEvictionTimeout = taintBased, 40*time.Second
		c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
		e := start(c, cfg)
		onWrites(c, "conditions", func(string) error {
			e.Pause("maintenance")
			return nil
		})
		c.Fail("a-0")
		c.Advance(2 * time.Minute)
		require.NotEmpty(t, e.Paused())
		require.Equal(t, []string{"node.kubernetes.io/unreachable:NoSchedule"}, c.Taints("a-0"), "no NoExecute after Pause has returned")
		require.Empty(t, c.Evicted())
		e.Resume("maintenance")
		c.Advance(30 * time.Second)
		require.Contains(t, c.Taints("a-0"), "node.kubernetes.io/unreachable:NoSchedule")
		require.Equal(t, taintBased, c.HasNoExecute("a-0"))
		require.Equal(t, !taintBased, len(c.Evicted()) == 1)
	}
}

// The same while a conflict delays the write.
func TestPauseDuringAConflictLosesNoTurn(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4))
	e := start(c, config())
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

// What a pause held back is written in the same order on every run.
func TestOrderAfterAPauseIsTheSameOnEveryRun(t *testing.T) {
	var first []string
	for range 5 {
		c := evictortest.New(t, evictortest.Zone("a", 30))
		e := start(c, config())
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

// Nodes without overdue evictions do not go on waiting for a turn for them.
func TestWhatIsNotOverdueAnyMoreTakesNoTurns(t *testing.T) {
	for what, end := range map[string]func(c *evictortest.Cluster, e *tested, node string){
		"recovered": func(c *evictortest.Cluster, _ *tested, node string) { c.Recover(node) },
		"recovered while nothing can be written": func(c *evictortest.Cluster, _ *tested, node string) {
			c.SetAPIDown(true)
			c.Recover(node)
		},
		"held": func(_ *evictortest.Cluster, e *tested, node string) { e.Nodes().Hold(node, "repair") },
	} {
		c := evictortest.New(t, evictortest.Zone("a", 12), evictortest.PodsPerNode(1))
		e := start(c, config())
		nodes := []string{"a-0", "a-1", "a-2", "a-3"}
		c.Fail(nodes...)
		c.Advance(2 * time.Minute)
		e.Pause("maintenance")
		c.Advance(8 * time.Minute)
		e.Resume("maintenance")
		c.Advance(0)
		require.Len(t, e.Nodes().Waiting(), 3, what)
		for _, node := range nodes {
			end(c, e, node)
		}
		c.Advance(5 * time.Second)
		require.Empty(t, e.Nodes().Waiting(), what)
	}
}

// A queue that outlived its empty zone knows whether a pause began or ended meanwhile.
func TestZoneThatReturnsKnowsOfThePause(t *testing.T) {
	for _, paused := range []bool{true, false} {
		c := evictortest.New(t, evictortest.Zone("a", 1), evictortest.Zone("b", 4))
		e := start(c, config())
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

// Evictions by foreign taints never wait for a zone. They happen when they are due or, if that was not permitted, as
// soon as it is, even at rate 0.
func TestForeignTaintsWaitForNoZone(t *testing.T) {
	drain := v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute}
	blind := errors.New("blind for a second")
	harmless := errors.New("not now")
	for name, row := range map[string]struct {
		close, open func(e *tested, permission *error)
	}{
		"never closed":  {func(*tested, *error) {}, func(*tested, *error) {}},
		"blind":         {func(e *tested, _ *error) { e.SetObserverHealth(blind) }, func(e *tested, _ *error) { e.SetObserverHealth(nil) }},
		"paused":        {func(e *tested, _ *error) { e.Pause("upgrade") }, func(e *tested, _ *error) { e.Resume("upgrade") }},
		"not permitted": {func(e *tested, p *error) { *p = harmless; e.Kick() }, func(e *tested, p *error) { *p = nil; e.Kick() }},
	} {
		for _, period := range []time.Duration{0, 5 * time.Second} {
			t.Run(name+" "+period.String(), func(t *testing.T) {
				cfg := config()
				cfg.Nodes.NodeMonitorPeriod, cfg.Nodes.RetryMax, cfg.Nodes.GateInterval = period, time.Hour, time.Hour
				c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.Zone("b", 5))
				c.AddPod("on-a-ready-node", "a-0")
				c.AddPod("on-a-failed-node", "a-1", evictortest.TolerateFor(v1.TaintNodeUnreachable, 3600))
				c.AddPod("under-both-taints", "a-1")
				c.AddPod("under-ours-alone", "a-1", v1.Toleration{Key: "drain", Operator: v1.TolerationOpExists}, evictortest.TolerateFor(v1.TaintNodeUnreachable, 92))
				var permission error
				e := start(c, cfg, evictor.Options{Gate: mayHarm(func() error { return permission })})
				c.Fail("a-1")
				c.Advance(70 * time.Second)
				require.True(t, c.HasNoExecute("a-1"))
				require.Equal(t, []string{"under-both-taints"}, c.Evicted(), "by ours")
				c.AddPod("under-both-taints-again", "a-1", evictortest.TolerateFor(v1.TaintNodeUnreachable, 60))
				c.Fail("a-2", "a-3", "a-4") // 4 of 6 bad: the small zone stops
				c.Advance(59 * time.Second)
				require.Zero(t, e.Nodes().Zones()[0].Rate)
				row.close(e, &permission)
				c.Taint("a-0", drain)
				c.Taint("a-1", drain)
				c.Advance(10 * time.Second) // the evictions by our taint fall due too
				row.open(e, &permission)
				c.Advance(0)
				want := []string{"under-both-taints", "on-a-ready-node", "on-a-failed-node", "under-both-taints-again"}
				if name == "never closed" {
					want = append(want, "under-ours-alone")
				}
				require.ElementsMatch(t, want, c.Evicted())
			})
		}
	}
}

// A hold acts at once, whatever the store shows about the node: it leaves the line, and its pods stay.
func TestHoldActsWhateverTheStoreShows(t *testing.T) {
	for _, stale := range []bool{false, true} {
		c := evictortest.New(t, evictortest.Zone("a", 8))
		c.AddPod("p", "a-0", evictortest.TolerateFor(v1.TaintNodeUnreachable, 60))
		r, s := newRelisted(t, c, config())
		s.run(5 * time.Second)
		r.keepNode("a-0")
		r.keepNode("a-1")
		c.Fail("a-0", "a-1")
		for !c.HasNoExecute("a-0") {
			s.run(time.Second)
		}
		require.Equal(t, []string{"a-1 in :a"}, waiting(s.e))
		r.goBack(s.e, stale)
		s.e.Nodes().Hold("a-0", "a technician is there")
		s.e.Nodes().Hold("a-1", "")
		require.Empty(t, s.e.Nodes().Waiting())
		st, _ := s.e.Nodes().Node("a-1")
		require.Equal(t, "Held", st.Held)
		s.run(2 * time.Minute)
		require.False(t, c.HasNoExecute("a-1"))
		require.Empty(t, c.Evicted())
		require.Equal(t, stale, c.HasNoExecute("a-0"), "lifting needs the node as it is")
		r.goBack(s.e, false)
		s.run(6 * time.Second)
		require.False(t, c.HasNoExecute("a-0"))
		s.e.Nodes().Release("a-1")
		st, _ = s.e.Nodes().Node("a-1")
		require.Empty(t, st.Held)
		s.run(6 * time.Second)
		require.True(t, c.HasNoExecute("a-1"))
	}
}

// Options.Hold counts as soon as the node is read, before its event has come.
func TestHoldOfTheProgramCountsBeforeTheEvent(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4))
	c.AddPod("p", "a-0", evictortest.TolerateFor(v1.TaintNodeUnreachable, 60))
	clients := c.Clients()
	clients.Source = nil // the test feeds it
	s := stepped(t, c, config(), clients, evictor.Options{Hold: func(n *v1.Node) (string, bool) { return "cordoned", n.Spec.Unschedulable }})
	e := s.e
	c.Fail("a-0")
	for !c.HasNoExecute("a-0") {
		for _, node := range []string{"a-0", "a-1", "a-2", "a-3"} {
			e.NodeChanged(node)
		}
		for _, node := range []string{"a-1", "a-2", "a-3"} {
			e.LeaseObserved(node, c.Clock().Now(), "")
		}
		s.run(time.Second)
	}
	e.NodeChanged("a-0")
	s.run(30 * time.Second)
	require.Len(t, e.Pods().Evictions(), 1)
	c.Cordon("a-0", true) // without an event
	for range 60 {
		for _, node := range []string{"a-1", "a-2", "a-3"} {
			e.LeaseObserved(node, c.Clock().Now(), "")
		}
		s.run(time.Second)
	}
	require.Empty(t, c.Evicted())
}

// A node that is held while its pods are being evicted loses its turn. When it is released it waits for another one.
func TestHeldWhileItIsEmptied(t *testing.T) {
	cfg := withoutTaints(config(), 60*time.Second)
	c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.PodsPerNode(2))
	var e *tested
	held := false
	c.FailWrites(func(write, object string) error {
		if write == "evict" && !held {
			held = true
			e.Nodes().Hold("a-0", "repair")
			return errors.New("unavailable")
		}
		return nil
	})
	e = start(c, cfg)
	c.Fail("a-0", "a-1")
	for !held {
		c.Advance(time.Second)
	}
	c.Advance(time.Second)
	before := len(c.Evicted())
	c.Advance(10 * time.Second)
	require.Len(t, c.Evicted(), before+2, "the other has its turn")
	e.Nodes().Release("a-0")
	c.Advance(time.Second)
	require.Len(t, c.Evicted(), before+2, "it has no turn")
	c.Advance(20 * time.Second)
	require.Len(t, c.Evicted(), 4)
}

// Evictions by foreign taints that fell due without permission make no node wait for a turn.
func TestForeignTaintsMakeNoNodeWait(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 5), evictortest.PodsPerNode(1))
	e := start(c, config())
	c.Advance(20 * time.Second)
	e.Pause("upgrade")
	c.Taint("a-0", v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute})
	c.Advance(time.Minute)
	e.Resume("upgrade")
	require.Empty(t, e.Nodes().Waiting())
	c.Advance(0)
	require.Empty(t, e.Nodes().Waiting())
	require.Equal(t, []string{"80.000"}, times(says(c, `"evict"`)))
}

// Only evictions by our own taints that fell due without permission wait for the zone's rate; the node's other pods
// leave on time.
func TestWhatFallsDueLaterWaitsForNoTurn(t *testing.T) {
	cfg := config()
	cfg.Nodes.NodeEvictionRate = 0.001
	c := evictortest.New(t, evictortest.Zone("a", 6))
	c.AddPod("while-paused", "a-1", evictortest.TolerateFor(v1.TaintNodeUnreachable, 60))
	c.AddPod("afterwards", "a-1", evictortest.TolerateFor(v1.TaintNodeUnreachable, 120))
	c.AddPod("moved", "a-1", evictortest.TolerateFor(v1.TaintNodeUnreachable, 60))
	e := start(c, cfg)
	c.Fail("a-1")
	c.Advance(50 * time.Second)
	require.True(t, c.HasNoExecute("a-1"))
	e.Pause("upgrade")
	c.Advance(65 * time.Second)
	c.Tolerate("moved", evictortest.TolerateFor(v1.TaintNodeUnreachable, 120))
	e.Resume("upgrade")
	c.Advance(40 * time.Second)
	require.Empty(t, c.Evicted())
	c.Advance(15 * time.Second)
	require.ElementsMatch(t, []string{"afterwards", "moved"}, c.Evicted(), "at 165 s")
	c.Advance(20 * time.Minute)
	require.ElementsMatch(t, []string{"afterwards", "moved", "while-paused"}, c.Evicted(), "by the next token")
}

// Nothing is tainted after Pause has returned, even if it came while the program was being asked.
func TestPauseWhileTheProgramIsAsked(t *testing.T) {
	for _, asked := range []gate.Do{gate.Harm, gate.Write} {
		c := evictortest.New(t, evictortest.Zone("a", 3))
		var e *tested
		paused := false
		answer := func(_ context.Context, act gate.Act) error {
			object, _ := c.Clients().Nodes.Node("a-0") // its conditions are written right before its taints
			unknown := func(c v1.NodeCondition) bool { return c.Type == v1.NodeReady && c.Status == v1.ConditionUnknown }
			if act.Do == asked && !paused && slices.ContainsFunc(object.Status.Conditions, unknown) {
				paused = true
				e.Pause("maintenance")
			}
			return nil
		}
		e = start(c, config(), evictor.Options{
			Gate: gate.Func(answer),
		})
		c.Fail("a-0")
		c.Advance(2 * time.Minute)
		require.True(t, paused, asked)
		require.Equal(t, []string{"node.kubernetes.io/unreachable:NoSchedule"}, c.Taints("a-0"), asked)
		e.Resume("maintenance")
		c.Advance(time.Minute)
		require.True(t, c.HasNoExecute("a-0"))
	}
}

// An error of the program's is its code, which may call the evictor.
type calling struct{ e *tested }

func (c calling) Error() string { return fmt.Sprint(len(c.e.Paused()), " pauses") }

func TestAnErrorThatCallsTheEvictor(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3))
	var err error
	e := start(c, config(), evictor.Options{Gate: mayHarmIn(func(zone.Key) error { return err })})
	e.SetObserverHealth(calling{e})
	c.Advance(time.Minute)
	e.SetObserverHealth(nil)
	err = calling{e}
	c.Fail("a-0")
	c.Advance(2 * time.Minute)
	status, _ := e.Nodes().Node("a-0")
	require.EqualError(t, status.HeldBack, "0 pauses")
}

// Kick asks anew whatever was refused, whatever time the refusal named.
func TestKickAsksAboutEveryAct(t *testing.T) {
	for _, do := range []gate.Do{gate.Write, gate.Harm, gate.Turn, gate.Evict} {
		c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(1))
		closed := true
		e := start(c, config(), evictor.Options{Gate: gate.Func(func(_ context.Context, act gate.Act) error {
			if act.Do == do && closed {
				return &gate.Refused{Reason: "closed", Again: evictortest.Epoch.Add(24 * time.Hour)}
			}
			return nil
		})})
		c.Fail("a-0")
		c.Advance(time.Hour)
		require.Empty(t, c.Evicted(), do)
		closed = false
		e.Kick()
		c.Advance(10 * time.Minute)
		require.Equal(t, []string{"a-0-p0"}, c.Evicted(), do)
	}
}
