package evictor_test

import (
	"errors"
	"fmt"
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

// Events of a pod neither move its eviction nor shorten its backoff: a Step ends, and an eviction that a disruption
// budget refuses is retried after the delay in the API's answer.
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
			e.PodChanged(key) // for example, the attempt was recorded on the pod
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

// No events of a pod or a node shorten the backoff of the node's writes.
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

// A pod that changed while its node was emptied is read again.
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

// watchedStore lets a test see each read of a node, and answer in place of the store.
type watchedStore struct {
	evictor.NodeStore
	missing func(name string) bool
}

func (w *watchedStore) Node(name string) (*v1.Node, bool) {
	if w.missing != nil && w.missing(name) {
		return nil, false
	}
	return w.NodeStore.Node(name)
}

// A store that lacks a node for a moment, for example after a list from a stale cache, loses no eviction. When the
// evictor looks again nothing seems to have happened.
func TestNodeThatIsMissingAtTheLastCheckLosesNoEviction(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4))
	c.AddPod("p", "a-0", evictortest.TolerateFor("one", 30))
	clients := c.Clients()
	store := &watchedStore{NodeStore: clients.Nodes}
	clients.Nodes = store
	s := stepped(t, c, config(), clients)
	c.Taint("a-0", v1.Taint{Key: "one", Effect: v1.TaintEffectNoExecute})
	s.run(27 * time.Second)
	looks := 0
	store.missing = func(name string) bool {
		if name == "a-0" {
			looks++
		}
		return name == "a-0" && looks == 1
	}
	s.run(10 * time.Second)
	require.Greater(t, looks, 1)
	require.Equal(t, []string{"p"}, c.Evicted())
}

func TestConflictIsReadAgain(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	c.Start(config())
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
	budget := apierrors.NewTooManyRequests("it would violate the pod's disruption budget", 10)
	budget.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause}}
	for want, answer := range map[string]error{"TooManyRequests": overload, "DisruptionBudget": fmt.Errorf("evicting: %w", budget)} {
		t.Run(want, func(t *testing.T) {
			c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
			reasons := make(map[string]int)
			c.Start(config(), evictor.Options{Observer: evictor.ObserverFunc(func(d evictor.Decision) {
				if d.Kind == evictor.EvictionDelayed {
					reasons[d.Reason]++
				}
			})})
			c.FailWrites(func(write, _ string) error {
				if write == "evict" {
					return answer
				}
				return nil
			})
			c.Fail("a-0")
			c.Advance(10 * time.Minute)
			require.Len(t, reasons, 1)
			require.NotZero(t, reasons[want])
		})
	}
}

func TestRateHoldsThroughAnOutageOfTheAPI(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 12), evictortest.Zone("b", 3))
	c.Start(config())
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
	c.Start(config())
	c.Fail("a-0", "a-1")
	c.Advance(2 * time.Minute)
	c.SetAPIDown(true)
	c.Advance(10 * time.Minute)
	require.Empty(t, c.Evicted())
	c.SetAPIDown(false)
	c.Advance(2 * time.Minute)
	require.ElementsMatch(t, []string{"a-0-p0", "a-1-p0"}, c.Evicted(), "what was pending survives")
}
