package evictor_test

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/explain"
	"github.com/evictkit/evictkit/evictor/tainteviction"
	"github.com/evictkit/evictkit/zone"
)

// While a node is watched, only evictions by our own taints wait; those by foreign taints go on.
func TestForeignTaintsGoOnWhileANodeIsWatched(t *testing.T) {
	drain := v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute}
	for _, cfg := range onBothGrids(config()) {
		tolerations := evictortest.Tolerations(evictortest.TolerateFor(v1.TaintNodeUnreachable, 300), evictortest.TolerateFor("drain", 355))
		c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1), tolerations)
		start(c, cfg)
		c.Taint("a-0", drain)
		c.Fail("a-0", "a-1")
		c.Advance(338 * time.Second)
		require.Empty(t, c.Evicted())
		c.Restart()
		c.Advance(20 * time.Second)
		require.Equal(t, []string{"355.000"}, times(says(c, `"evict"`)), "when the other taint is due, which was there before")
		c.Tolerate("a-1-p0", evictortest.TolerateFor(v1.TaintNodeUnreachable, 300))
		c.Taint("a-1", drain)
		c.Advance(0)
		require.Equal(t, []string{"355.000", "358.000"}, times(says(c, `"evict"`)), "one that came meanwhile")
	}
}

// An eviction is cancelled with the real reason. A node that is watched for one more grace period keeps its taint, so
// that is no removal of it.
func TestEvictionsAreCancelledForTheRealReason(t *testing.T) {
	soft, drain := v1.Taint{Key: "soft", Effect: v1.TaintEffectNoExecute}, v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute}
	forEver, forLong := v1.Toleration{Key: "soft", Operator: v1.TolerationOpExists}, evictortest.TolerateFor("drain", 300)
	undrained := func(c *evictortest.Cluster, _ *tested) { c.Untaint("a-0", "drain", v1.TaintEffectNoExecute) }
	for name, row := range map[string]struct {
		taints []v1.Taint
		fails  bool
		end    func(c *evictortest.Cluster, e *tested)
		want   string
	}{
		"a taint is removed":                             {[]v1.Taint{drain}, false, undrained, "TaintRemoved"},
		"a taint is removed beside one it tolerates":     {[]v1.Taint{soft, drain}, false, undrained, "TaintRemoved"},
		"the node is ready beside one that it tolerates": {[]v1.Taint{soft}, true, func(c *evictortest.Cluster, _ *tested) { c.Recover("a-0") }, "NodeReady"},
		"the pod tolerates everything now": {nil, true, func(c *evictortest.Cluster, _ *tested) {
			c.Tolerate("p", v1.Toleration{Operator: v1.TolerationOpExists})
		}, "Tolerated"},
		"the node is watched anew": {nil, true, func(_ *evictortest.Cluster, e *tested) {
			e.SetObserverHealth(errors.New("blind"))
			e.SetObserverHealth(nil)
		}, "NotSettled"},
	} {
		t.Run(name, func(t *testing.T) {
			c := evictortest.New(t, evictortest.Zone("a", 3))
			c.AddPod("p", "a-0", forEver, forLong, evictortest.TolerateFor(v1.TaintNodeUnreachable, 300))
			var told diary
			e := start(c, config(), evictor.Options{Observer: &told})
			for _, taint := range row.taints {
				c.Taint("a-0", taint)
			}
			if row.fails {
				c.Fail("a-0")
			}
			c.Advance(2 * time.Minute)
			row.end(c, e)
			c.Advance(20 * time.Second)
			require.Equal(t, []string{"p " + row.want}, told.reasons("EvictionCancelled"))
			require.Equal(t, row.want == "NotSettled" || row.want == "Tolerated", c.HasNoExecute("a-0"))
			if !c.HasNoExecute("a-0") {
				c.Advance(10 * time.Minute)
				require.Empty(t, c.Evicted())
			}
		})
	}
}

// A failed node that loses its Ready condition counts as not Ready, and its taint stays.
func TestNodeThatLosesItsReadyConditionIsNotFailed(t *testing.T) {
	u := newUpstreams(t, config())
	var reasons []string
	var err error
	u.e, err = newTested(config(), evictor.Clients{Nodes: u, Pods: u, NodeWriter: u, PodWriter: u}, evictor.Options{
		Clock: u.clk,
		Observer: observe(func(d decision) {
			if d.Kind == "EvictionCancelled" || d.Kind == "NodeDequeued" {
				reasons = append(reasons, string(d.Kind)+" "+d.Reason)
			}
		}),
	})
	require.NoError(t, err)
	for _, name := range []string{"node0", "node1", "node2", "node3"} {
		u.node(name, "", longAgo, v1.ConditionTrue)
		u.reporting[name] = true
	}
	u.pod("pod0", "node0").Spec.Tolerations = []v1.Toleration{evictortest.TolerateFor(v1.TaintNodeNotReady, 300)}
	u.pass(60 * time.Second)
	u.says("node0", v1.ConditionFalse)
	u.says("node1", v1.ConditionFalse)
	u.pass(9 * time.Second)
	u.says("node0", "")
	u.says("node1", "")
	u.pass(10 * time.Second)
	require.Equal(t, []string{"NodeDequeued NotFailed", "EvictionCancelled NotFailed"}, reasons)
}

// brake is a policy that stops while two nodes of the cluster are down.
type brake struct{}

func (brake) Decide(s zone.Situation) zone.Ruling {
	if s.Cluster.Bad >= 2 {
		return zone.Ruling{}
	}
	return zone.Ruling{Rate: 1}
}

// A rate that is no number stops the zone, and says so. New asks no policy.
func TestPolicyWithoutANumber(t *testing.T) {
	var says diary
	asked := 0
	c := evictortest.New(t, evictortest.Zone("a", 6))
	policy := zone.PolicyFunc(func(zone.Situation) zone.Ruling {
		asked++
		return zone.Ruling{Rate: math.NaN()}
	})
	_, err := newTested(config(), c.Clients(), evictor.Options{Clock: c.Clock(), Policy: policy})
	require.NoError(t, err)
	require.Zero(t, asked)
	start(c, config(), evictor.Options{Policy: policy, Observer: &says})
	c.Fail("a-0")
	c.Advance(time.Minute)
	require.Empty(t, noExecute(c))
	require.Equal(t, "Policy", says.of("FunctionFailed")[0].Reason)
	require.EqualError(t, says.of("FunctionFailed")[0].Err, "it rules a rate of NaN")
}

func TestPolicyWithoutStatesStopsAZoneFromTheStart(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 6))
	c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
	c.Condition("a-1", v1.NodeReady, v1.ConditionFalse)
	e := start(c, config(), evictor.Options{Policy: brake{}})
	c.Advance(time.Minute)
	require.Equal(t, []zone.Status{{Zone: zone.Key{Zone: "a"}, State: zone.Initial, Counts: zone.Counts{Total: 6, Bad: 2}}}, e.Nodes().Zones())
	require.Empty(t, noExecute(c))
	c.Condition("a-1", v1.NodeReady, v1.ConditionTrue)
	c.Advance(10 * time.Second)
	require.Len(t, noExecute(c), 1)
}

// A node that renews its lease is alive even if its status stays Unknown. It is tainted, but its pods stay until it has
// been silent for a whole grace period again.
func TestUnknownNodeThatRenewsKeepsItsPods(t *testing.T) {
	u := newUpstreams(t, config())
	for _, name := range []string{"node0", "node1", "node2"} {
		u.node(name, "", longAgo, v1.ConditionTrue)
		u.reporting[name] = true
	}
	u.pod("pod0", "node0").Spec.Tolerations = []v1.Toleration{evictortest.TolerateFor(v1.TaintNodeUnreachable, 300)}
	u.pass(10 * time.Second)
	delete(u.reporting, "node0")
	u.pass(time.Minute)
	for range 100 {
		u.e.LeaseObserved("node0", u.clk.Now(), "")
		u.pass(10 * time.Second)
	}
	require.Contains(t, u.taints("node0"), "node.kubernetes.io/unreachable:NoExecute")
	require.Empty(t, u.evicted)
	u.pass(45 * time.Second)
	require.Equal(t, []string{"pod0"}, u.evicted)
}

// Pods that are deleted with their node, or by themselves, are neither evicted nor reported as spared.
func TestPodsThatGoAreNotToldToBeSpared(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	var told diary
	start(c, config(), evictor.Options{Observer: &told})
	for _, node := range []string{"a-0", "a-1"} {
		c.Taint(node, v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute})
		c.Tolerate(node+"-p0", evictortest.TolerateFor("drain", 60))
	}
	c.Advance(time.Second)
	c.DeletePod("a-0-p0")
	c.DeleteNode("a-1")
	c.Advance(5 * time.Minute)
	require.Empty(t, append(told.of("EvictionCancelled"), told.of("PodEvicted")...))
}

func TestVerdictsCountThoughTheyCannotBeWritten(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4))
	e := start(c, config())
	forbid(c, "conditions")
	c.Fail("a-0", "a-1", "a-2")
	c.Advance(time.Minute)
	require.Empty(t, says(c, `"Unknown"`))
	require.Equal(t, zone.PartialDisruption, e.Nodes().Zones()[0].State)
}

func TestTaintOfAnotherValueBeginsAnew(t *testing.T) {
	u := newUpstreams(t, config())
	u.node("node0", "", longAgo, v1.ConditionTrue)
	u.reporting["node0"] = true
	u.pod("pod0", "node0").Spec.Tolerations = []v1.Toleration{evictortest.TolerateFor("drain", 100)}
	u.pass(0)
	for _, value := range []string{"disk", "fan"} {
		u.change("node0", func(n *v1.Node) {
			n.Spec.Taints = []v1.Taint{{Key: "drain", Value: value, Effect: v1.TaintEffectNoExecute}}
		})
		u.pass(70 * time.Second)
		require.Empty(t, u.evicted)
	}
	u.pass(30 * time.Second)
	require.Equal(t, []string{"pod0"}, u.evicted)
}

// The index of a toleration is the same in a decision's fields and in its text.
func TestTolerationIsCountedFromZero(t *testing.T) {
	d := evictor.PodDecision{Kind: tainteviction.EvictionArmed, Pod: evictor.PodRef{PodKey: evictor.PodKey{Namespace: "default", Name: "p"}}, Taint: &v1.Taint{Key: "k"}}
	require.Contains(t, explain.Pod(d).String(), "(tolerations[0])")
	d.Toleration = -1
	require.Contains(t, explain.Pod(d).String(), "does not tolerate k")
}

// A repeated refusal or failure is one entry of Explain, with how often and when last, and displaces no other entries.
// Observers get each one.
func TestExplainCountsWhatRepeats(t *testing.T) {
	for kind, answer := range map[kind]error{"EvictionDelayed": budgetSays(), "WriteFailed": errors.New("unavailable")} {
		cfg := config()
		c := evictortest.New(t, evictortest.Zone("a", 3))
		c.AddPod("p", "a-0")
		c.AddPod("q", "a-0")
		var told diary
		var taken time.Time
		onWrites(c, "evict", func(object string) error {
			if object == "default/p" {
				taken = c.Clock().Now()
			}
			return answer
		})
		e := start(c, cfg, evictor.Options{Observer: &told})
		c.Taint("a-0", v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute})
		c.Advance(time.Hour)
		times := told.of(kind, "p")
		require.Greater(t, len(times), 60)
		all := e.Explain("default/p")
		require.Equal(t, "NodeRegistered", all[0].Kind)
		last := all[len(all)-1]
		require.Equal(t, string(kind), last.Kind)
		require.Equal(t, len(times), last.Times)
		require.Equal(t, evictortest.Epoch, last.Time)
		require.Equal(t, taken, last.Last)
		require.Contains(t, last.String(), fmt.Sprintf("(%d times, last at 00:5", len(times)))
		require.Len(t, toldOf(e, "default/p", kind), 1)
	}
}

// Neither mirror pods nor those that have completed or terminate leave a failed node; a daemon tolerates everything.
func TestPodsThatStay(t *testing.T) {
	for _, taints := range []bool{true, false} {
		c := evictortest.New(t, evictortest.Zone("a", 2))
		now := metav1.NewTime(evictortest.Epoch)
		for _, name := range []string{"static", "odd", "daemon", "terminating", "succeeded", "fails", "plain"} {
			pod := &v1.Pod{}
			pod.Namespace, pod.Name, pod.Spec.NodeName, pod.Status.Phase = "default", name, "a-0", v1.PodRunning
			pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
			pod.Spec.Tolerations = []v1.Toleration{evictortest.TolerateFor(v1.TaintNodeUnreachable, 300)}
			switch name {
			case "static":
				pod.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "hash"}
			case "odd": // the kubelet ignores the value
				pod.Annotations = map[string]string{v1.MirrorPodAnnotationKey: ""}
			case "daemon":
				yes := true
				pod.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: "d", Controller: &yes}}
				pod.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
			case "terminating":
				pod.DeletionTimestamp, pod.Finalizers = &now, []string{"x/y"}
			case "succeeded":
				pod.Status.Phase = v1.PodSucceeded
			}
			c.AddPodObject(pod)
		}
		cfg := config()
		cfg.Nodes.TaintBasedEviction = taints
		start(c, cfg)
		c.Fail("a-0")
		c.Advance(2 * time.Minute)
		c.Phase("fails", v1.PodFailed)
		c.Advance(20 * time.Minute)
		require.Equal(t, []string{"plain"}, c.Evicted())
		require.Len(t, says(c, `"podNotReady"`), 5, "all but those that terminate or had completed")
		require.Empty(t, says(c, `"terminating"`))
	}
}

// A pod that stays on a failed node is reported once per outage.
func TestSparedPodsAreToldOfOnceInAnOutage(t *testing.T) {
	cfg := withoutTaints(config(), 5*time.Minute)
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	c.Phase("a-0-p0", v1.PodSucceeded)
	var told diary
	e := start(c, cfg, evictor.Options{Observer: &told})
	for outage := range 2 {
		c.Fail("a-0")
		for range 10 {
			c.Advance(time.Minute)
			e.NodeChanged("a-0")
		}
		require.Len(t, told.of("PodSpared"), outage+1)
		c.Recover("a-0")
		c.Advance(time.Minute)
	}
}

func TestDeadlinesMoveBothWays(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 2))
	c.AddPod("p", "a-0", evictortest.TolerateFor("drain", 100))
	start(c, config())
	c.Taint("a-0", v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute})
	c.Advance(50 * time.Second)
	c.Tolerate("p", evictortest.TolerateFor("drain", 200))
	c.Advance(60 * time.Second)
	require.Empty(t, c.Evicted(), "lengthened")
	c.Tolerate("p", evictortest.TolerateFor("drain", 120))
	c.Advance(11 * time.Second)
	require.Equal(t, []string{"120.000"}, times(says(c, `"evict"`)), "shortened")
	require.Empty(t, says(c, `"cancel"`), "moving is not cancelling")
}

// A deadline is kept if it moved away and back, and only the last check saw it away.
func TestDeadlineThatMovesAwayAndBackIsKept(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 1))
	c.AddPod("p", "a-0", evictortest.TolerateFor("k", 100))
	c.Taint("a-0", v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute})
	clients := c.Clients()
	clients.Source = nil // the test feeds it
	s := stepped(t, c, config(), clients)
	s.e.PodChanged(evictor.PodKey{Namespace: "default", Name: "p"})
	s.run(time.Second)
	require.Len(t, s.e.Pods().Evictions(), 1)
	c.Tolerate("p", evictortest.TolerateFor("k", 1000))
	s.run(110 * time.Second)
	require.Empty(t, c.Evicted())
	c.Tolerate("p", evictortest.TolerateFor("k", 100))
	s.e.PodChanged(evictor.PodKey{Namespace: "default", Name: "p"})
	s.run(time.Second)
	require.Equal(t, []string{"p"}, c.Evicted())
}

// A pod that was bound long after a taint was added is not mistaken for an old one because the node changed at the same
// time.
func TestPodThatArrivesWithAnotherTaintHasItsWholeToleration(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 2))
	start(c, config())
	c.Taint("a-0", v1.Taint{Key: "one", Effect: v1.TaintEffectNoExecute})
	c.Advance(100 * time.Second)
	c.AddPod("p", "a-0", evictortest.TolerateFor("one", 60), v1.Toleration{Key: "two", Operator: v1.TolerationOpExists})
	c.Taint("a-0", v1.Taint{Key: "two", Effect: v1.TaintEffectNoExecute})
	c.Advance(2 * time.Minute)
	require.Equal(t, []string{"160.000"}, times(says(c, `"evict"`)))
}

// dated replaces all taints by one NoExecute taint, added that long after the start.
func (u *upstreams) dated(node, key string, added time.Duration) {
	u.change(node, func(n *v1.Node) {
		at := metav1.NewTime(evictortest.Epoch.Add(added))
		n.Spec.Taints = []v1.Taint{{Key: key, Effect: v1.TaintEffectNoExecute, TimeAdded: &at}}
	})
}

// tolerates makes the pod tolerate each of these for 300 seconds.
func tolerates(pod *v1.Pod, keys ...string) {
	pod.Spec.Tolerations = nil
	for _, key := range keys {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, evictortest.TolerateFor(key, 300))
	}
}

// left returns how long after the start the pod was evicted, checked every five seconds.
func (u *upstreams) left(until time.Duration) time.Duration {
	for u.clk.Now().Before(evictortest.Epoch.Add(until)) {
		u.pass(5 * time.Second)
		if len(u.evicted) > 0 {
			break
		}
	}
	return u.clk.Now().Sub(evictortest.Epoch)
}

// A taint that is removed and added again unseen, hidden by a relist or a broken watch, starts anew: no pod leaves
// before its node's object allows it.
func TestTaintThatCameBackUnseenCountsAnew(t *testing.T) {
	const unreachable, notReady = v1.TaintNodeUnreachable, v1.TaintNodeNotReady
	for name, row := range map[string]struct {
		before, after string
		added, want   time.Duration
	}{
		"somebody else's":                  {"maintenance", "maintenance", 200 * time.Second, 500 * time.Second},
		"ours":                             {unreachable, unreachable, 200 * time.Second, 500 * time.Second},
		"a swap that is another outage":    {notReady, unreachable, 200 * time.Second, 500 * time.Second},
		"back to another outage":           {unreachable, notReady, 200 * time.Second, 500 * time.Second},
		"a swap that is the same outage":   {notReady, unreachable, 0, 300 * time.Second},
		"by a clock that is ahead of ours": {unreachable, unreachable, 215 * time.Second, 505 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			ready := map[string]v1.ConditionStatus{"maintenance": v1.ConditionTrue, notReady: v1.ConditionFalse, unreachable: v1.ConditionUnknown}
			u := newUpstreams(t, config())
			u.node("node0", "", longAgo, ready[row.before])
			u.node("node1", "", longAgo, v1.ConditionTrue)
			u.reporting["node0"], u.reporting["node1"] = row.before != unreachable, true
			u.dated("node0", row.before, 0)
			tolerates(u.pod("pod0", "node0"), row.before, row.after)
			u.pass(205 * time.Second)
			require.Empty(t, u.evicted)
			u.change("node0", func(n *v1.Node) { n.Status.Conditions[0].Status = ready[row.after] })
			u.reporting["node0"] = row.after != unreachable
			u.dated("node0", row.after, row.added)
			require.Equal(t, row.want, u.left(700*time.Second))
		})
	}
}

// A swap by us is one outage, even if the removed taint had no time to carry over.
func TestSwapOfATaintWithoutATimeIsOneOutage(t *testing.T) {
	u := newUpstreams(t, config())
	u.node("node0", "", longAgo, v1.ConditionTrue)
	u.node("node1", "", longAgo, v1.ConditionTrue)
	u.reporting["node0"], u.reporting["node1"] = true, true
	tolerates(u.pod("pod0", "node0"), v1.TaintNodeUnreachable, v1.TaintNodeNotReady)
	u.pass(60 * time.Second)
	u.says("node0", v1.ConditionFalse)
	u.pass(5 * time.Second) // tainted at 65
	u.change("node0", func(n *v1.Node) {
		for i := range n.Spec.Taints {
			n.Spec.Taints[i].TimeAdded = nil
		}
	})
	u.pass(25 * time.Second)
	u.reporting["node0"] = false
	u.pass(60 * time.Second)
	require.Contains(t, u.taints("node0"), "node.kubernetes.io/unreachable:NoExecute")
	for _, taint := range u.nodes["node0"].Spec.Taints {
		if taint.Effect == v1.TaintEffectNoExecute {
			require.Equal(t, evictortest.Epoch.Add(65*time.Second), taint.TimeAdded.UTC())
		}
	}
	require.Equal(t, 365*time.Second, u.left(700*time.Second))
}

// An observer that is nil, or that panics, keeps nothing from the next.
func TestObserversDoNotSilenceEachOther(t *testing.T) {
	var told [2]diary
	panicked := 0
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	start(c, config(), evictor.Options{
		Observer: evictor.Observers{
			nil, &told[0],
			evictor.Observe(func(evictor.NodeDecision) { panic("of nodes") }, func(evictor.PodDecision) { panic("of pods") }),
			evictor.Observers{nil, &told[1]},
		},
		OnPanic: func(any, any, []byte) { panicked++ },
	})
	c.Fail("a-0")
	c.Advance(6 * time.Minute)
	for i := range told {
		require.NotEmpty(t, told[i].of("TaintsWritten"))
		require.NotEmpty(t, told[i].of("PodEvicted"))
	}
	require.NotZero(t, panicked)
}
