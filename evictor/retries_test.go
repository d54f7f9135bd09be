package evictor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/taints"
)

// No events of a pod or a node shorten the backoff of the node's writes.
func TestEventsDoNotCutTheBackoffOfANodeShort(t *testing.T) {
	for _, failing := range []string{"evict", "podStatus", "taints"} {
		cfg := config()
		cfg.Nodes.TaintBasedEviction = failing != "evict"
		c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(1))
		e := start(c, cfg)
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

// A pod that changed while its node was emptied is read again.
func TestConflictOfAnEvictionIsReadAgain(t *testing.T) {
	for _, cfg := range inBothModes(config(), 5*time.Minute) {
		c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(2))
		start(c, cfg)
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

// A pod that has left although its eviction had no answer does not keep those that were refused beside it.
func TestWhatLeftWithoutAnAnswerHoldsNobodyElse(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(2))
	opens := evictortest.Epoch.Add(10 * time.Minute)
	start(c, withoutTaints(config(), 5*time.Minute), evictor.Options{Gate: mayEvict(func(_ context.Context, pod *v1.Pod, _ taints.Deadline) error {
		if pod.Name == "a-0-p0" && c.Clock().Now().Before(opens) {
			return &gate.Refused{Reason: "Busy", Again: opens}
		}
		return nil
	})})
	onWrites(c, "evict", func(object string) error {
		if object != "default/a-0-p1" {
			return nil
		}
		c.DeletePod("a-0-p1")
		return errors.New("the connection broke")
	})
	c.Fail("a-0")
	c.Advance(20 * time.Minute)
	require.Equal(t, []string{"a-0-p0"}, c.Evicted())
}

// While nobody knows whether the only pod of a node was deleted, another comes. The store shows that it was: the node is
// emptied, and the other goes without another turn.
func TestPodThatComesWhileAnAnswerIsAwaitedGoesToo(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	start(c, withoutTaints(config(), 5*time.Minute))
	lost := false
	onWrites(c, "evict", func(object string) error {
		if object != "default/a-0-p0" {
			return nil
		}
		lost = true
		return errors.New("the connection broke")
	})
	c.Fail("a-0")
	for !lost {
		c.Advance(time.Second)
	}
	c.AddPod("late", "a-0")
	c.Advance(time.Second)
	c.DeletePod("a-0-p0")
	c.Advance(20 * time.Minute)
	require.Equal(t, []string{"late"}, c.Evicted())
}

// The answer about a deletion is lost, and the next try is refused by a budget: that says nothing of the one before. When the
// store shows that the pod was deleted, its node's turn was served.
func TestLostAnswerThenRefusedByABudget(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	var ended []string
	start(c, withoutTaints(config(), 5*time.Minute), evictor.Options{Observer: evictor.Observe(func(d evictor.NodeDecision) {
		if d.Kind == nodelifecycle.TurnEnded {
			ended = append(ended, d.Reason)
		}
	}, nil)})
	tries := 0
	onWrites(c, "evict", func(string) error {
		if tries++; tries == 1 {
			return errors.New("the connection broke")
		}
		return apierrors.NewTooManyRequests("it would violate the pod's disruption budget", 10)
	})
	c.Fail("a-0")
	for tries < 2 {
		c.Advance(time.Second)
	}
	c.DeletePod("a-0-p0")
	c.Advance(time.Minute)
	require.Equal(t, []string{"Served"}, ended)
}

// TestLostAnswerAboutAPodThatCompletes: such a pod was not deleted, so its node's turn was not used.
func TestLostAnswerAboutAPodThatCompletes(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(2))
	var ended []string
	start(c, withoutTaints(config(), 5*time.Minute), evictor.Options{Observer: evictor.Observe(func(d evictor.NodeDecision) {
		if d.Kind == nodelifecycle.TurnEnded {
			ended = append(ended, d.Reason)
		}
	}, nil)})
	tries := 0
	onWrites(c, "evict", func(string) error {
		tries++
		return errors.New("the connection broke")
	})
	c.Fail("a-0")
	for tries < 4 {
		if c.Advance(time.Second); tries == 2 {
			c.Phase("a-0-p1", v1.PodSucceeded)
		}
	}
	require.Empty(t, ended)
}

// A pod that is gone is evicted once, however long the store shows it and whatever happens to its node.
func TestNotFoundIsSuccess(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	start(c, config())
	tries := 0
	onWrites(c, "evict", func(object string) error {
		tries++
		return apierrors.NewNotFound(v1.Resource("pods"), object)
	})
	c.Fail("a-0")
	c.Advance(20 * time.Minute)
	for _, key := range []string{"drain", "more"} {
		c.Taint("a-0", v1.Taint{Key: key, Effect: v1.TaintEffectNoExecute})
		c.Advance(5 * time.Second)
	}
	require.Equal(t, 1, tries)
}

// A store that lacks a node for a moment, for example after a list from a stale cache, loses no eviction. When the
// evictor looks again nothing seems to have happened.
func TestNodeThatIsMissingAtTheLastCheckLosesNoEviction(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4))
	c.AddPod("p", "a-0", evictortest.TolerateFor("one", 30))
	clients, looks := c.Clients(), -1000
	clients.Nodes = &shows{clients.Nodes, func(name string, node *v1.Node, ok bool) (*v1.Node, bool) {
		if name == "a-0" {
			looks++
		}
		return node, ok && looks != 1
	}}
	s := stepped(t, c, config(), clients)
	c.Taint("a-0", v1.Taint{Key: "one", Effect: v1.TaintEffectNoExecute})
	s.run(27 * time.Second)
	looks = 0
	s.run(10 * time.Second)
	require.Greater(t, looks, 1)
	require.Equal(t, []string{"p"}, c.Evicted())
}

func TestConflictIsReadAgain(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	start(c, config())
	left := 3
	c.FailWrites(func(write, object string) error {
		if write == "taints" && left > 0 {
			left--
			return apierrors.NewConflict(v1.Resource("nodes"), object, errors.New("changed"))
		}
		return nil
	})
	c.Fail("a-0")
	c.Advance(50 * time.Second)
	require.True(t, c.HasNoExecute("a-0"), "a conflict does not cost the node its turn")
}

// An overloaded API server answers 429, as it does for a disruption budget.
func TestTooManyRequestsAreNamed(t *testing.T) {
	overload := apierrors.NewTooManyRequests("try again later", 10)
	for want, answer := range map[string]error{"TooManyRequests": overload, "DisruptionBudget": fmt.Errorf("evicting: %w", budgetSays())} {
		c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
		var told diary
		start(c, config(), evictor.Options{Observer: &told})
		onWrites(c, "evict", func(string) error { return answer })
		c.Fail("a-0")
		c.Advance(10 * time.Minute)
		require.NotEmpty(t, told.of("EvictionDelayed"))
		for _, reason := range told.reasons("EvictionDelayed") {
			require.Equal(t, "a-0-p0 "+want, reason)
		}
	}
}

func TestRateHoldsThroughAnOutageOfTheAPI(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 12), evictortest.Zone("b", 3))
	start(c, config())
	c.SetAPIDown(true)
	for i := range 12 {
		c.Fail(fmt.Sprintf("a-%d", i))
	}
	c.Advance(30 * time.Minute)
	c.SetAPIDown(false)
	c.Advance(25 * time.Second)
	require.LessOrEqual(t, len(says(c, "NoExecute", "add")), 4, "no burst of what failed meanwhile")
	c.Advance(3 * time.Minute)
	require.Len(t, says(c, "NoExecute", "add"), 12)
}

func TestOutageOfTheAPI(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.Zone("b", 3), evictortest.PodsPerNode(1))
	start(c, config())
	c.Fail("a-0", "a-1")
	c.Advance(2 * time.Minute)
	c.SetAPIDown(true)
	c.Advance(10 * time.Minute)
	require.Empty(t, c.Evicted())
	c.SetAPIDown(false)
	c.Advance(2 * time.Minute)
	require.ElementsMatch(t, []string{"a-0-p0", "a-1-p0"}, c.Evicted(), "what was pending survives")
}

// A delay that a disruption budget asked for in one outage does not delay pods in the next one.
func TestBudgetOfAnOutageDoesNotHoldTheNextOneBack(t *testing.T) {
	cfg := withoutTaints(config(), time.Minute)
	c := evictortest.New(t, evictortest.Zone("a", 6))
	c.AddPod("guarded", "a-0")
	start(c, cfg)
	c.FailWrites(func(write, object string) error {
		if write == "evict" && object == "default/guarded" {
			return apierrors.NewTooManyRequests("budget", 3600)
		}
		return nil
	})
	c.Fail("a-0")
	c.Advance(2 * time.Minute)
	c.Cordon("a-0", true)
	c.Advance(5 * time.Second)
	require.Contains(t, c.Taints("a-0"), "node.kubernetes.io/unschedulable:NoSchedule", "only pods wait for a budget")
	c.AddPod("late", "a-0")
	c.Advance(time.Second)
	require.Equal(t, []string{"late"}, c.Evicted(), "nor does a pod that comes")
	c.Cordon("a-0", false)
	c.Advance(5 * time.Second)
	c.Recover("a-0")
	c.Advance(time.Minute)
	c.AddPod("free", "a-0")
	c.Fail("a-0")
	c.Advance(2 * time.Minute)
	require.Equal(t, []string{"late", "free"}, c.Evicted())
}

// budgetSays is the API server's answer if a disruption budget allows no eviction.
func budgetSays() error {
	answer := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	answer.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause}}
	return answer
}

// An eviction that is refused without a delay is retried after one second, two, four, up to RetryMax, both with and
// without taints. Then it succeeds, and the next one starts over.
func TestRefusedEvictionsBackOff(t *testing.T) {
	for _, taintBased := range []bool{true, false} {
		cfg := config()
		cfg.Nodes.TaintBasedEviction, cfg.Nodes.PodEvictionTimeout = taintBased, time.Minute
		c := evictortest.New(t, evictortest.Zone("a", 6))
		c.AddPod("guarded", "a-0")
		refuses := true
		var tries []time.Duration
		c.FailWrites(func(write, _ string) error {
			if write != "evict" {
				return nil
			}
			tries = append(tries, c.Clock().Since(evictortest.Epoch))
			if refuses {
				return budgetSays()
			}
			return nil
		})
		start(c, cfg)
		c.Fail("a-0")
		c.Advance(time.Hour)
		var waits []time.Duration
		for i := range tries[1:] {
			waits = append(waits, (tries[i+1] - tries[i]).Round(time.Second))
		}
		require.Equal(t, []time.Duration{1, 2, 4, 8, 16, 32, 60, 60}, seconds(waits[:8]))
		require.Less(t, len(tries), 70)
		refuses = false
		c.Advance(time.Minute)
		require.Equal(t, []string{"guarded"}, c.Evicted())
	}
}

func seconds(all []time.Duration) (inSeconds []time.Duration) {
	for _, d := range all {
		inSeconds = append(inSeconds, d/time.Second)
	}
	return inSeconds
}

// The delay that the API server asks for is kept when the node gets another turn, which arms its pods again.
func TestANewTurnAsksNoSooner(t *testing.T) {
	cfg := withoutTaints(config(), time.Minute)
	c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.PodsPerNode(2))
	var asked []time.Duration
	c.FailWrites(func(write, object string) error {
		switch {
		case write != "evict":
			return nil
		case strings.HasSuffix(object, "-p0"):
			return errors.New("it fails, which ends the turn")
		}
		asked = append(asked, c.Clock().Since(evictortest.Epoch))
		return apierrors.NewTooManyRequests("budget", 100)
	})
	start(c, cfg)
	c.Fail("a-0")
	c.Advance(20 * time.Minute)
	require.Greater(t, len(asked), 5)
	for i := range asked[1:] {
		require.GreaterOrEqual(t, asked[i+1]-asked[i], 100*time.Second)
	}
}

// Without taints, a pod whose next try falls due while another pod of its node is tried is not forgotten.
func TestRefusedPodsOfAnEmptiedNodeAreTriedThoughWritesTakeTime(t *testing.T) {
	for _, latency := range []time.Duration{0, 40 * time.Millisecond, 300 * time.Millisecond, 3 * time.Second} {
		cfg := withoutTaints(config(), time.Minute)
		c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(3))
		start(c, cfg)
		c.SetLatency(latency)
		c.FailWrites(func(write, _ string) error {
			if write == "evict" && c.Clock().Since(evictortest.Epoch) < 4*time.Minute {
				return apierrors.NewTooManyRequestsError("busy")
			}
			return nil
		})
		c.Fail("a-0")
		c.Advance(235 * time.Second)
		require.Empty(t, c.Evicted())
		c.DeletePod("a-0-p2")
		c.Advance(125 * time.Second)
		require.ElementsMatch(t, []string{"a-0-p0", "a-0-p1"}, c.Evicted(), latency)
	}
}

// Events of a pod neither move its eviction nor shorten its backoff: a Step ends, and an eviction that a disruption
// budget refuses is retried after the delay in the API's answer.
func TestEventsOfAPodDoNotCutItsBackoffShort(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 2))
	c.AddPod("p", "a-0")
	var told diary
	e := start(c, config(), evictor.Options{Observer: &told})
	key := evictor.PodKey{Namespace: "default", Name: "p"}
	tries := 0
	onWrites(c, "evict", func(string) error {
		tries++
		e.PodChanged(key) // for example, the attempt was recorded on the pod
		return apierrors.NewTooManyRequests("budget", 10)
	})
	c.Taint("a-0", v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute})
	c.Advance(0)
	require.Equal(t, 1, tries, "an item is tried once in a Step")
	c.Advance(25 * time.Second)
	require.Equal(t, 3, tries)
	require.Empty(t, told.of("EvictionMoved"))
}
