package evictor_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/zone"
)

// While a node is watched, only evictions by our own taints wait; those by foreign taints go on.
func TestForeignTaintsGoOnWhileANodeIsWatched(t *testing.T) {
	drain := v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute}
	for _, period := range []time.Duration{0, 5 * time.Second} {
		cfg := config()
		cfg.NodeMonitorPeriod = period
		tolerations := evictortest.Tolerations(evictortest.TolerateFor(v1.TaintNodeUnreachable, 300), evictortest.TolerateFor("drain", 355))
		c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1), tolerations)
		c.Start(cfg)
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

// A mirror pod is recognized by its annotation, whatever the value, as the kubelet does.
func TestMirrorPodsStayWhateverTheirAnnotationSays(t *testing.T) {
	u := newUpstreams(t, config())
	u.node("node0", "", longAgo, v1.ConditionTrue)
	u.pass(0)
	pod := u.pod("static", "node0")
	pod.Annotations = map[string]string{v1.MirrorPodAnnotationKey: ""}
	pod.Spec.Tolerations = nil
	u.change("node0", func(n *v1.Node) {
		n.Spec.Taints = []v1.Taint{{Key: "drain", Effect: v1.TaintEffectNoExecute}}
	})
	u.pass(0)
	require.Empty(t, u.evicted)
}

// cancelled starts a cluster with one zone and returns the reasons of cancelled evictions.
func cancelled(t *testing.T, options ...evictortest.Option) (*evictortest.Cluster, *[]string) {
	var reasons []string
	c := evictortest.New(t, append([]evictortest.Option{evictortest.Zone("a", 3), evictortest.PodsPerNode(1)}, options...)...)
	c.Start(config(), evictor.Options{Observer: evictor.ObserverFunc(func(d evictor.Decision) {
		if d.Kind == evictor.EvictionCancelled {
			reasons = append(reasons, d.Reason)
		}
	})})
	return c, &reasons
}

func TestTaintThatIsRemovedFromAHealthyNodeIsTheReason(t *testing.T) {
	c, reasons := cancelled(t, evictortest.Tolerations(evictortest.TolerateFor("drain", 300)))
	c.Taint("a-0", v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute})
	c.Advance(time.Minute)
	c.Untaint("a-0", "drain", v1.TaintEffectNoExecute)
	c.Advance(time.Minute)
	require.Equal(t, []string{"TaintRemoved"}, *reasons)
}

func TestTaintThatIsRemovedIsTheReasonBesideOneThatIsTolerated(t *testing.T) {
	forever := v1.Toleration{Key: "soft", Operator: v1.TolerationOpExists}
	c, reasons := cancelled(t, evictortest.Tolerations(forever, evictortest.TolerateFor("drain", 300)))
	c.Taint("a-0", v1.Taint{Key: "soft", Effect: v1.TaintEffectNoExecute})
	c.Taint("a-0", v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute})
	c.Advance(time.Minute)
	c.Untaint("a-0", "drain", v1.TaintEffectNoExecute)
	c.Advance(time.Minute)
	require.Equal(t, []string{"TaintRemoved"}, *reasons)
}

func TestNodeThatIsReadyIsTheReasonBesideATaintThatIsTolerated(t *testing.T) {
	forever := v1.Toleration{Key: "soft", Operator: v1.TolerationOpExists}
	c, reasons := cancelled(t, evictortest.Tolerations(forever, evictortest.TolerateFor(v1.TaintNodeUnreachable, 300)))
	c.Taint("a-0", v1.Taint{Key: "soft", Effect: v1.TaintEffectNoExecute})
	c.Fail("a-0")
	c.Advance(time.Minute)
	c.Recover("a-0")
	c.Advance(time.Minute)
	require.Equal(t, []string{"NodeReady"}, *reasons)
}

func TestTolerationThatIsLengthenedForEverIsTheReason(t *testing.T) {
	c, reasons := cancelled(t)
	c.Fail("a-0")
	c.Advance(time.Minute)
	c.Tolerate("a-0-p0", v1.Toleration{Operator: v1.TolerationOpExists})
	c.Advance(0)
	require.Equal(t, []string{"Tolerated"}, *reasons)
}

// A failed node that loses its Ready condition counts as not Ready, and its taint stays.
func TestNodeThatLosesItsReadyConditionIsNotFailed(t *testing.T) {
	u := newUpstreams(t, config())
	var reasons []string
	var err error
	u.e, err = evictor.New(config(), evictor.Clients{Nodes: u, Pods: u, NodeWriter: u, PodWriter: u}, evictor.Options{
		Clock: u.clk,
		Observer: evictor.ObserverFunc(func(d evictor.Decision) {
			if d.Kind == evictor.EvictionCancelled || d.Kind == evictor.NodeDequeued {
				reasons = append(reasons, d.Kind.String()+" "+d.Reason)
			}
		}),
	})
	require.NoError(t, err)
	for _, name := range []string{"node0", "node1", "node2", "node3"} {
		u.node(name, "", longAgo, v1.ConditionTrue)
		u.reporting[name] = true
	}
	u.pod("pod0", "node0").Spec.Tolerations = []v1.Toleration{evictortest.TolerateFor(v1.TaintNodeNotReady, 300)}
	u.pass(10 * time.Second)
	u.says("node0", v1.ConditionFalse)
	u.says("node1", v1.ConditionFalse)
	u.pass(9 * time.Second)
	u.says("node0", "")
	u.says("node1", "")
	u.pass(10 * time.Second)
	require.Equal(t, []string{"EvictionCancelled NotFailed", "NodeDequeued NotFailed"}, reasons)
}

// brake is a policy that stops while two nodes of the cluster are down.
type brake struct{}

func (brake) Decide(s zone.Situation) zone.Ruling {
	if s.Cluster.Bad >= 2 {
		return zone.Ruling{}
	}
	return zone.Ruling{Rate: 1}
}

func TestPolicyWithoutStatesStopsAZoneFromTheStart(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 6))
	c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
	c.Condition("a-1", v1.NodeReady, v1.ConditionFalse)
	e := c.Start(config(), evictor.Options{Policy: brake{}})
	c.Advance(time.Minute)
	require.Equal(t, []zone.Status[zone.Key]{{Zone: zone.Key{Zone: "a"}, State: zone.Initial, Counts: zone.Counts{Total: 6, Bad: 2}}}, e.Zones())
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
		u.e.LeaseRenewed("node0", u.clk.Now())
		u.pass(10 * time.Second)
	}
	require.Contains(t, u.taints("node0"), "node.kubernetes.io/unreachable:NoExecute")
	require.Empty(t, u.evicted)
	u.pass(45 * time.Second)
	require.Equal(t, []string{"pod0"}, u.evicted)
}

// Pods that are deleted with their node, or by themselves, are neither evicted nor reported as spared.
func TestPodsThatGoAreNotToldToBeSpared(t *testing.T) {
	events := told(t, config(), func(c *evictortest.Cluster, advance func(time.Duration)) {
		for _, node := range []string{"a-0", "a-1"} {
			c.Taint(node, v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute})
			c.Tolerate(node+"-p0", evictortest.TolerateFor("drain", 60))
		}
		advance(time.Second)
		c.DeletePod("a-0-p0")
		c.DeleteNode("a-1")
		advance(5 * time.Minute)
	})
	require.Equal(t, []string{"Normal RemovingNode: Node a-1 event: Removing Node a-1 from Controller"}, events)
}

func TestVerdictsCountThoughTheyCannotBeWritten(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4))
	e := c.Start(config())
	forbid(c, "conditions")
	c.Fail("a-0", "a-1", "a-2")
	c.Advance(time.Minute)
	require.Empty(t, says(c, `"Unknown"`))
	require.Equal(t, zone.PartialDisruption, e.Zones()[0].State)
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
	d := evictor.Decision{Kind: evictor.EvictionArmed, Pod: evictor.PodRef{PodKey: evictor.PodKey{Namespace: "default", Name: "p"}}, Taint: &v1.Taint{Key: "k"}}
	require.Contains(t, d.String(), "(tolerations[0])")
	d.Toleration = -1
	require.Contains(t, d.String(), "does not tolerate k")
}

// A repeated refusal or failure is one entry of Explain, with how often and when last, and displaces no other entries.
// Observers get each one.
func TestExplainCountsWhatRepeats(t *testing.T) {
	for name, answer := range map[string]error{"EvictionDelayed": budgetSays(), "WriteFailed": errors.New("unavailable")} {
		cfg := config()
		cfg.ExplainSize = 30
		c := evictortest.New(t, evictortest.Zone("a", 3))
		c.AddPod("p", "a-0")
		c.AddPod("q", "a-0")
		told := 0
		var taken time.Time
		c.FailWrites(func(write, object string) error {
			if write != "evict" {
				return nil
			}
			if object == "default/p" {
				taken = c.Clock().Now()
			}
			return answer
		})
		e := c.Start(cfg, evictor.Options{Observer: evictor.ObserverFunc(func(d evictor.Decision) {
			if d.Kind.String() == name && d.Pod.Name == "p" {
				told++
				require.Zero(t, d.Times)
			}
		})})
		c.Taint("a-0", v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute})
		c.Advance(time.Hour)
		all := e.Explain("default/p")
		require.Equal(t, evictor.NodeRegistered, all[0].Kind, "the beginning is still known")
		last := all[len(all)-1]
		require.Equal(t, name, last.Kind.String())
		require.Equal(t, told, last.Times)
		require.Greater(t, told, 60)
		require.Equal(t, evictortest.Epoch, last.Time)
		require.Equal(t, taken, last.Last)
		require.Contains(t, last.String(), fmt.Sprintf("(%d times, last at 00:5", told))
		count := 0
		for _, d := range all {
			if d.Kind == last.Kind {
				count++
			}
		}
		require.Equal(t, 1, count)
	}
}
