package evictor_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/internal/simulator"
	"github.com/evictkit/evictkit/zone"
)

func TestConfigReportsEveryFault(t *testing.T) {
	require.NoError(t, evictor.DefaultConfig().Validate())
	err := evictor.Config{
		NodeMonitorPeriod: -1, NodeMonitorGracePeriod: 0, NodeStartupGracePeriod: -time.Second,
		NodeEvictionRate: math.NaN(), SecondaryNodeEvictionRate: math.Inf(1), MaxNodesPerSecond: -1,
		LargeClusterSizeThreshold: -1, UnhealthyZoneThreshold: 1.5, PodEvictionTimeout: 0, MaxFailedNodes: -1,
		ExplainSize: -1, RetryMax: -1,
	}.Validate()
	for _, field := range []string{
		"nodeMonitorPeriod", "nodeMonitorGracePeriod", "nodeStartupGracePeriod", "nodeEvictionRate", "secondaryNodeEvictionRate", "maxNodesPerSecond",
		"largeClusterSizeThreshold", "unhealthyZoneThreshold", "podEvictionTimeout", "maxFailedNodes", "nodeWorkers", "liftWorkers", "podWorkers",
		"retryInitial", "retryMax", "gateInterval", "explainSize",
	} {
		require.ErrorContains(t, err, field)
	}
	cfg := evictor.DefaultConfig()
	cfg.NodeMonitorGracePeriod, cfg.NodeStartupGracePeriod = 5*time.Second, time.Second
	require.ErrorContains(t, cfg.Validate(), "must exceed nodeMonitorPeriod")
	for _, threshold := range []float64{0, -0.1, math.NaN(), 1.01} {
		cfg := evictor.DefaultConfig()
		cfg.UnhealthyZoneThreshold = threshold
		require.Error(t, cfg.Validate())
	}
}

func TestNewNamesWhatIsMissing(t *testing.T) {
	_, err := evictor.New(evictor.DefaultConfig(), evictor.Clients{}, evictor.Options{})
	for _, name := range []string{"clients.nodes", "clients.pods", "clients.nodeWriter", "clients.podWriter"} {
		require.ErrorContains(t, err, name)
	}
}

// What is there in type alone would panic at its first use: it is a fault like what is missing.
func TestNewNamesWhatIsThereInTypeAlone(t *testing.T) {
	var store *bare
	var clk *simulator.Clock
	var policy *zone.DisruptionPolicy
	var sink *silent
	var source *brought
	_, err := evictor.New(evictor.DefaultConfig(), evictor.Clients{Nodes: store, Pods: store, NodeWriter: store, PodWriter: store, EventSink: sink, Source: source},
		evictor.Options{Clock: clk, Policy: policy, Observer: evictor.ObserverFunc(nil)})
	for _, name := range []string{"clients.nodes", "clients.pods", "clients.nodeWriter", "clients.podWriter", "clients.eventSink", "clients.source", "options.clock", "options.observer", "options.policy"} {
		require.ErrorContains(t, err, name)
	}
}

type silent struct{}

func (*silent) Event(evictor.Event) {}

func TestExplainSizeIsBounded(t *testing.T) {
	cfg := evictor.DefaultConfig()
	cfg.ExplainSize = math.MaxInt
	require.ErrorContains(t, cfg.Validate(), "explainSize")
	_, err := evictor.New(cfg, evictor.Clients{}, evictor.Options{})
	require.ErrorContains(t, err, "explainSize")
	cfg.ExplainSize = 1 << 20
	require.NoError(t, cfg.Validate())
}

// The index of a toleration is the same in a decision and in what it says.
func TestTolerationIsCountedFromZero(t *testing.T) {
	d := evictor.Decision{Kind: evictor.EvictionArmed, Pod: evictor.PodRef{PodKey: evictor.PodKey{Namespace: "default", Name: "p"}}, Taint: &v1.Taint{Key: "k"}}
	require.Contains(t, d.String(), "(tolerations[0])")
	d.Toleration = -1
	require.Contains(t, d.String(), "does not tolerate k")
}

func TestDeadlinesMoveBothWays(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 2))
	c.AddPod("p", "a-0", evictortest.TolerateFor("drain", 100))
	c.Start(config())
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

func TestTolerationRemovedWhileWaiting(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 2))
	c.AddPod("p", "a-0", evictortest.TolerateFor("drain", 100))
	c.Start(config())
	c.Taint("a-0", v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute})
	c.Advance(20 * time.Second)
	c.Tolerate("p")
	c.Advance(0)
	require.Equal(t, []string{"20.000"}, times(says(c, `"evict"`)))
}

func TestFiniteTaintRemovedLeavesTheForeverOne(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 2))
	forever := v1.Toleration{Key: "soft", Operator: v1.TolerationOpExists}
	c.AddPod("p", "a-0", forever, evictortest.TolerateFor("hard", 60))
	c.Start(config())
	c.Taint("a-0", v1.Taint{Key: "soft", Effect: v1.TaintEffectNoExecute})
	c.Taint("a-0", v1.Taint{Key: "hard", Effect: v1.TaintEffectNoExecute})
	c.Advance(30 * time.Second)
	c.Untaint("a-0", "hard", v1.TaintEffectNoExecute)
	c.Advance(10 * time.Minute)
	require.Empty(t, c.Evicted())
	require.Len(t, says(c, `"cancel"`), 1)
}

func TestOddSeconds(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 2))
	c.AddPod("negative", "a-0", evictortest.TolerateFor("k", -1))
	c.AddPod("zero", "a-0", evictortest.TolerateFor("k", 0))
	c.AddPod("huge", "a-0", evictortest.TolerateFor("k", 9e18))
	c.AddPod("value", "a-0", v1.Toleration{Key: "k", Operator: v1.TolerationOpExists, Value: "ignored", Effect: v1.TaintEffectNoExecute})
	c.Start(config())
	c.Taint("a-0", v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute})
	c.Taint("a-1", v1.Taint{Key: "k", Effect: "Unheard"})
	c.Advance(24 * time.Hour)
	require.ElementsMatch(t, []string{"negative", "zero"}, c.Evicted())
}

func TestCompletedPodsStay(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 2), evictortest.PodsPerNode(3))
	c.Start(config())
	c.Phase("a-0-p0", v1.PodSucceeded)
	c.Fail("a-0")
	c.Advance(2 * time.Minute)
	c.Phase("a-0-p1", v1.PodFailed)
	c.Advance(10 * time.Minute)
	require.Equal(t, []string{"a-0-p2"}, c.Evicted())
	require.Len(t, says(c, `"podNotReady"`), 2)
}

func TestMirrorPodsStay(t *testing.T) {
	for _, taints := range []bool{true, false} {
		c := evictortest.New(t, evictortest.Zone("a", 2))
		for _, name := range []string{"static", "odd", "daemon", "plain"} {
			pod := &v1.Pod{}
			pod.Namespace, pod.Name, pod.Spec.NodeName, pod.Status.Phase = "default", name, "a-0", v1.PodRunning
			switch name {
			case "static":
				pod.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "hash"}
			case "odd": // the kubelet does not look at the value
				pod.Annotations = map[string]string{v1.MirrorPodAnnotationKey: ""}
			case "daemon":
				yes := true
				pod.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: "d", Controller: &yes}}
				pod.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
			}
			c.AddPodObject(pod)
		}
		cfg := config()
		cfg.TaintBasedEviction = taints
		c.Start(cfg)
		c.Fail("a-0")
		c.Advance(20 * time.Minute)
		require.Equal(t, []string{"plain"}, c.Evicted())
	}
}

func TestNodeChangesZoneWhileItWaits(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 8), evictortest.Zone("b", 8))
	c.Start(config())
	c.Fail("a-0", "a-1", "a-2")
	c.Advance(46 * time.Second)
	c.Relabel("a-2", zone.Key{Zone: "b"}) // third in its line, first in the other
	c.Advance(30 * time.Second)
	require.Equal(t, []string{"45.000"}, times(says(c, "NoExecute", "a-0")))
	require.Equal(t, []string{"55.000"}, times(says(c, "NoExecute", "a-1")))
	require.Equal(t, []string{"50.000"}, times(says(c, "NoExecute", "a-2")))
}

func TestZoneThatEmptiesAndReturnsEarnsNoToken(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 1), evictortest.Zone("b", 4))
	c.Start(config())
	c.Fail("a-0")
	c.Advance(50 * time.Second)
	require.True(t, c.HasNoExecute("a-0"), "at 45")
	c.DeleteNode("a-0")
	c.Advance(time.Second)
	c.AddNode("a-0", zone.Key{Zone: "a"})
	c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
	c.Advance(20 * time.Second)
	require.Equal(t, []string{"55.000"}, times(says(c, "not-ready", "NoExecute")))
}

func TestCaps(t *testing.T) {
	cfg := config()
	cfg.MaxFailedNodes, cfg.MaxNodesPerSecond = 3, 0.05
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.Zone("b", 4), evictortest.Zone("c", 1))
	c.Start(cfg)
	c.Fail("a-0", "a-1", "b-0", "b-1")
	c.Advance(5 * time.Minute)
	require.Equal(t, []string{"45.000", "65.000", "85.000"}, times(says(c, "NoExecute", "add")), "one in 20 seconds, three at most")
	c.Recover("a-0")
	c.Advance(30 * time.Second)
	require.Len(t, says(c, "NoExecute", "add"), 4, "room for the fourth")
}

func TestClosedPermissions(t *testing.T) {
	leader := false
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	writes := 0
	c.FailWrites(func(string, string) error { writes++; return nil })
	c.Start(config(), evictor.Options{MayWrite: func() error {
		if !leader {
			return errors.New("not the leader")
		}
		return nil
	}})
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

func TestMayHarmIsAskedAgainBeforeActing(t *testing.T) {
	healthy := true
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	c.Start(config(), evictor.Options{MayHarm: func() error {
		if !healthy {
			return errors.New("metrics say no")
		}
		return nil
	}})
	c.Fail("a-0")
	c.Advance(5 * time.Minute)
	healthy = false
	c.Advance(5 * time.Minute)
	require.Empty(t, c.Evicted())
	healthy = true
	c.Advance(12 * time.Second)
	require.Equal(t, []string{"a-0-p0"}, c.Evicted())
}

func TestBadObserverFreezesVerdicts(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	e := c.Start(config())
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

func TestNotFoundIsSuccess(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	c.Start(config())
	tries := 0
	c.FailWrites(func(write, object string) error {
		if write == "evict" {
			tries++
			return apierrors.NewNotFound(v1.Resource("pods"), object)
		}
		return nil
	})
	c.Fail("a-0")
	c.Advance(20 * time.Minute)
	require.Equal(t, 1, tries)
}

func TestStepBesideStep(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 1))
	e := c.Start(config())
	c.Fail("a-0")
	var inner error
	c.FailWrites(func(string, string) error {
		_, inner = e.Step(context.Background())
		e.NodeChanged("a-0") // feeding from inside a client's call is fine
		return nil
	})
	c.Advance(time.Minute)
	require.ErrorIs(t, inner, evictor.ErrRunning)
}

func TestUnsyncedStoreDecidesNothing(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 1))
	clients := c.Clients()
	clients.Nodes = unsynced{clients.Nodes}
	e, err := evictor.New(config(), clients, evictor.Options{Clock: c.Clock()})
	require.NoError(t, err)
	next, err := e.Step(context.Background())
	require.NoError(t, err)
	require.Equal(t, evictortest.Epoch.Add(time.Second), next)
}

type unsynced struct{ evictor.NodeStore }

func (unsynced) Synced() bool { return false }

func TestRunNeedsTimers(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 1))
	e, err := evictor.New(config(), c.Clients(), evictor.Options{Clock: &simulator.Clock{}})
	require.NoError(t, err)
	require.ErrorContains(t, e.Run(context.Background()), "timers")
}

func TestImplausibleTimeAddedMeansFirstSeen(t *testing.T) {
	for name, added := range map[string]time.Time{
		"in the future":   evictortest.Epoch.Add(time.Hour),
		"before the node": evictortest.Epoch.Add(-time.Hour),
	} {
		t.Run(name, func(t *testing.T) {
			c := evictortest.New(t, evictortest.Zone("a", 2))
			c.AddPod("p", "a-0", evictortest.TolerateFor("k", 60))
			stamp := metav1.NewTime(added)
			c.Taint("a-0", v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute, TimeAdded: &stamp})
			c.Advance(20 * time.Second)
			c.Start(config())
			c.Advance(2 * time.Minute)
			require.Equal(t, []string{"80.000"}, times(says(c, `"evict"`)))
		})
	}
}

func TestForeignTaintsGoOnWhileEveryZoneIsDown(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 2), evictortest.PodsPerNode(1))
	c.Start(config())
	c.Fail("a-0", "a-1")
	c.Advance(2 * time.Minute)
	require.NotEmpty(t, says(c, "AllZonesDisrupted"))
	c.Taint("a-0", v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute})
	c.Advance(0)
	require.Equal(t, []string{"a-0-p0"}, c.Evicted())
}

func TestPodsAreMarkedOnceInAnOutage(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	c.Start(config())
	c.Fail("a-0")
	c.Advance(time.Minute)
	require.Len(t, says(c, "podNotReady"), 1)
	c.PodReady("a-0-p0", true) // its kubelet lives, and only its leases do not arrive
	c.Advance(time.Minute)
	require.Len(t, says(c, "podNotReady"), 1, "a live kubelet is not fought")
	c.AddPod("late", "a-0")
	c.Advance(time.Second)
	require.Len(t, says(c, "podNotReady", "late"), 1, "one that was bound since is marked too")

	c.Recover("a-0")
	c.Advance(time.Minute)
	c.Fail("a-0")
	c.Advance(time.Minute)
	require.Len(t, says(c, "podNotReady", "a-0-p0"), 2, "the next outage is another one")

	c.Condition("a-1", v1.NodeReady, v1.ConditionFalse)
	c.Advance(time.Minute)
	require.Empty(t, says(c, "podNotReady", "a-1"), "its own kubelet says that it is not ready, and speaks for its pods")
}

func TestPodsAreNotMarkedWhenTheirKubeletSpeaksAgain(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	c.Start(config())
	c.Fail("a-0")
	c.Advance(2 * time.Minute)
	c.Restart() // which pods were marked is forgotten
	c.Advance(2*time.Minute + time.Second)
	c.Recover("a-0") // its pods are Ready again before the pass that notices
	c.Advance(time.Minute)
	require.Len(t, says(c, "podNotReady"), 1)
}

func TestPreferChoosesWhoIsTaintedNext(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.Zone("b", 1))
	var asked [][]string
	c.Start(config(), evictor.Options{Prefer: func(key zone.Key, waiting []string) string {
		require.Equal(t, "a", key.Zone)
		asked = append(asked, append([]string(nil), waiting...))
		return waiting[len(waiting)-1]
	}})
	c.Fail("a-0", "a-1", "a-2", "a-3")
	c.Advance(2 * time.Minute)
	require.Equal(t, [][]string{{"a-0", "a-1", "a-2", "a-3"}, {"a-0", "a-1", "a-2"}, {"a-0", "a-1"}}, asked)
	var order []string
	for _, line := range says(c, "NoExecute", "add") {
		order = append(order, strings.Split(line, `"`)[9])
	}
	require.Equal(t, []string{"a-3", "a-2", "a-1", "a-0"}, order)
}

// A Prefer that panics leaves the order as it is, and nobody waits for it.
func TestPreferThatPanicsChoosesNobody(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4))
	var log bytes.Buffer
	c.Start(config(), evictor.Options{
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Prefer: func(zone.Key, []string) string { panic("a bug of the program's") },
	})
	c.Fail("a-0", "a-1")
	c.Advance(2 * time.Minute)
	require.True(t, c.HasNoExecute("a-0"))
	require.True(t, c.HasNoExecute("a-1"))
	require.Contains(t, log.String(), "a bug of the program's")
}
