package evictor_test

import (
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
)

// A delay that a disruption budget asked for in one outage does not delay pods in the next one.
func TestBudgetOfAnOutageDoesNotHoldTheNextOneBack(t *testing.T) {
	cfg := config()
	cfg.TaintBasedEviction, cfg.PodEvictionTimeout = false, time.Minute
	c := evictortest.New(t, evictortest.Zone("a", 6))
	c.AddPod("guarded", "a-0")
	e := c.Start(cfg)
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
	c.Cordon("a-0", false)
	c.Advance(5 * time.Second)
	require.Equal(t, evictor.Backlog{Name: "lifts"}, e.Backlogs()[3], "nothing is left to lift")
	c.Recover("a-0")
	c.Advance(time.Minute)
	c.AddPod("free", "a-0")
	c.Fail("a-0")
	c.Advance(2 * time.Minute)
	require.Equal(t, []string{"free"}, c.Evicted())
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
		cfg.TaintBasedEviction, cfg.PodEvictionTimeout = taintBased, time.Minute
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
		c.Start(cfg)
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

// A pod that is added to a node being emptied leaves at once, even if the node's other pods are refused.
func TestPodThatComesDoesNotWaitForTheRefused(t *testing.T) {
	cfg := config()
	cfg.TaintBasedEviction, cfg.PodEvictionTimeout = false, time.Minute
	c := evictortest.New(t, evictortest.Zone("a", 6))
	c.AddPod("guarded", "a-0")
	c.FailWrites(func(write, object string) error {
		if write == "evict" && object == "default/guarded" {
			return budgetSays()
		}
		return nil
	})
	c.Start(cfg)
	c.Fail("a-0")
	c.Advance(10 * time.Minute)
	c.AddPod("late", "a-0")
	c.Advance(time.Second)
	require.Equal(t, []string{"late"}, c.Evicted())
}

// Within a Step, evictions that were not tried yet come before those that were refused.
func TestRefusedEvictionsComeLast(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 6))
	for i := range 5 {
		c.AddPod(fmt.Sprint("guarded-", i), "a-0")
	}
	var order []string
	c.FailWrites(func(write, object string) error {
		if write == "evict" {
			order = append(order, strings.TrimPrefix(object, "default/"))
			if strings.Contains(object, "guarded") {
				return budgetSays()
			}
		}
		return nil
	})
	c.Start(config())
	c.Taint("a-0", v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute})
	c.AddPod("free", "a-1", evictortest.TolerateFor("drain", 3))
	c.Taint("a-1", v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute})
	c.Advance(2 * time.Second)
	require.Len(t, order, 10)
	c.Advance(time.Second)
	require.Equal(t, "free", order[10])
	require.Len(t, order, 16)
}

// A refused eviction that is cancelled leaves nothing behind, and is armed like a new one afterwards.
func TestRefusedEvictionThatIsCalledOff(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 6))
	c.AddPod("p", "a-0")
	refuses := true
	c.FailWrites(func(write, _ string) error {
		if write == "evict" && refuses {
			return budgetSays()
		}
		return nil
	})
	e := c.Start(config())
	drain := v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute}
	c.Taint("a-0", drain)
	c.Advance(time.Minute)
	require.Len(t, e.Evictions(), 1)
	require.Equal(t, 1, e.Backlogs()[1].Len)
	c.Untaint("a-0", "drain", v1.TaintEffectNoExecute)
	c.Advance(0)
	require.Empty(t, e.Evictions())
	require.Len(t, says(c, `"cancel"`), 1)
	refuses = false
	c.Taint("a-0", drain)
	c.Advance(0)
	require.Equal(t, []string{"p"}, c.Evicted())
}

// The delay that the API server asks for is kept when the node gets another turn, which arms its pods again.
func TestANewTurnAsksNoSooner(t *testing.T) {
	cfg := config()
	cfg.TaintBasedEviction, cfg.PodEvictionTimeout = false, time.Minute
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
	c.Start(cfg)
	c.Fail("a-0")
	c.Advance(20 * time.Minute)
	require.Greater(t, len(asked), 5)
	for i := range asked[1:] {
		require.GreaterOrEqual(t, asked[i+1]-asked[i], 100*time.Second)
	}
}

func TestDisruptionBudgetBlocksWithoutLosing(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(2))
	c.Start(config())
	blocked := true
	c.FailWrites(func(write, object string) error {
		if write == "evict" && blocked && strings.HasSuffix(object, "-p0") {
			return apierrors.NewTooManyRequests("budget", 10)
		}
		return nil
	})
	c.Fail("a-0")
	c.Advance(10 * time.Minute)
	require.Equal(t, []string{"a-0-p1"}, c.Evicted(), "the other one is not held up")
	blocked = false
	c.Advance(11 * time.Second)
	require.Equal(t, []string{"a-0-p1", "a-0-p0"}, c.Evicted())
}
