//go:build go1.25

package evictor_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/zone"
)

// Nodes whose pods cannot be marked do not make each other try again without a wait.
func TestMarksThatFailOnSeveralNodesAreTriedRarely(t *testing.T) {
	for _, workers := range []int{1, 2, 32} {
		synctest.Test(t, func(t *testing.T) {
			c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.PodsPerNode(2))
			cfg := config()
			cfg.NodeWorkers = workers
			var tries atomic.Int64 // by every worker
			c.FailWrites(func(write, object string) error {
				if write == "podStatus" && tries.Add(1) < 100_000 {
					return apierrors.NewForbidden(v1.Resource("pods"), object, errors.New("no"))
				}
				return nil
			})
			_, pass := run(t, c, cfg, evictor.Options{})
			c.Fail("a-0", "a-1", "a-2")
			pass(100)
			require.Less(t, tries.Load(), int64(200))
		})
	}
}

// A write that finds a permission refused while Run sleeps is made as soon as that permission is granted again.
func TestRefusalThatOnlyAWorkerSawIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 4))
		cfg := config()
		cfg.NodeMonitorPeriod = 0
		var closed atomic.Pointer[time.Time]
		_, pass := run(t, c, cfg, evictor.Options{MayHarm: func() error {
			if at := closed.Load(); at != nil && time.Since(*at) > 0 && time.Since(*at) < 500*time.Millisecond {
				return errors.New("not now")
			}
			return nil
		}})
		c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
		pass(10)
		require.True(t, c.HasNoExecute("a-0"))
		c.FailWrites(func(write, object string) error {
			if now := time.Now(); write == "taints" && closed.CompareAndSwap(nil, &now) {
				return apierrors.NewConflict(v1.Resource("nodes"), object, errors.New("changed"))
			}
			return nil
		})
		c.Fail("a-0")
		for closed.Load() == nil {
			pass(1)
		}
		pass(3)
		require.Contains(t, c.Taints("a-0"), "node.kubernetes.io/unreachable:NoExecute")
	})
}

// A permission that is refused for a moment, which only an eviction notices, costs no more than that in turns.
func TestRefusalThatOnlyAWorkerSawDelaysNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 10))
		c.AddPod("p", "a-9", evictortest.TolerateFor("maintenance", 130))
		cfg := config()
		cfg.NodeMonitorPeriod, cfg.NodeEvictionRate = 0, 0.01
		closed := time.Now().Add(129500 * time.Millisecond)
		_, pass := run(t, c, cfg, evictor.Options{MayHarm: func() error {
			if since := time.Since(closed); since > 0 && since < time.Second {
				return errors.New("not now")
			}
			return nil
		}})
		c.Taint("a-9", v1.Taint{Key: "maintenance", Effect: v1.TaintEffectNoExecute})
		c.Fail("a-0", "a-1")
		pass(140)
		require.Len(t, tainted(c, "a", 2), 1)
		pass(2)
		require.Len(t, tainted(c, "a", 2), 2, "one second later than without the refusal")
	})
}

// What the program says of a node may change without an event of the node. If a write that fails notices it, Run acts on
// it.
func TestHoldThatOnlyAWriteNoticesActsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(1), evictortest.Heartbeats(10*time.Second, 2*time.Hour))
		cfg := config()
		cfg.NodeMonitorPeriod = 0
		var held atomic.Bool
		_, pass := run(t, c, cfg, evictor.Options{Hold: func(node *v1.Node) (string, bool) {
			return "repair", held.Load() && node.Name == "a-0"
		}})
		c.FailWrites(func(write, object string) error {
			if write == "podStatus" {
				return apierrors.NewForbidden(v1.Resource("pods"), object, errors.New("no"))
			}
			return nil
		})
		c.Fail("a-0")
		pass(100)
		require.True(t, c.HasNoExecute("a-0"))
		held.Store(true)
		pass(45) // the pod is tried again meanwhile
		require.False(t, c.HasNoExecute("a-0"))
	})
}

// The half that evicts has no verdicts, so a lease changes nothing for it.
func TestLeasesDoNotWakeTheHalfThatEvicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 1))
		cfg := config()
		cfg.NodeMonitorPeriod, cfg.Half = 0, evictor.TaintEviction
		var asked atomic.Int64
		e, pass := run(t, c, cfg, evictor.Options{MayHarm: func() error {
			asked.Add(1)
			return nil
		}})
		pass(1)
		asked.Store(0)
		for range 100 {
			e.LeaseRenewed("a-0", time.Now())
			time.Sleep(time.Millisecond)
			synctest.Wait()
		}
		require.Zero(t, asked.Load())
	})
}

// While the store shows an older version of a node whose write is the probe of a failing API server, another is the
// probe.
func TestProbeOfANodeThatTheStoreDoesNotShowHoldsNoOtherUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 6))
		clients := c.Clients()
		store := &behind{NodeStore: clients.Nodes}
		clients.Nodes = store
		older, _ := store.Node("a-0")
		var tries atomic.Int64 // by every worker
		_, pass := runWith(t, c, config(), clients, evictor.Options{})
		c.FailWrites(func(write, object string) error {
			tries.Add(1)
			return apierrors.NewServiceUnavailable("down")
		})
		c.Cordon("a-0", true)
		c.Cordon("a-1", true)
		pass(300)
		store.stuck.Store(older)
		pass(10)
		tries.Store(0)
		pass(60)
		require.Greater(t, tries.Load(), int64(10))
	})
}

// goner is a client that once ends the goroutine that calls it.
type goner struct {
	evictor.NodeWriter
	gone atomic.Bool
}

func (g *goner) UpdateConditions(ctx context.Context, node *v1.Node, conditions []v1.NodeCondition) error {
	if g.gone.CompareAndSwap(false, true) {
		runtime.Goexit()
	}
	return g.NodeWriter.UpdateConditions(ctx, node, conditions)
}

// A client that ends its goroutine costs one try, like one that panics.
func TestClientThatEndsItsGoroutineCostsOneTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(1))
		clients := c.Clients()
		clients.NodeWriter = &goner{NodeWriter: clients.NodeWriter}
		_, pass := runWith(t, c, config(), clients, evictor.Options{})
		c.Fail("a-0")
		pass(100)
		require.True(t, c.HasNoExecute("a-0"))
	})
}

// podGoner is a client that ends the goroutine of its first eviction.
type podGoner struct {
	evictor.PodWriter
	gone atomic.Bool
}

func (g *podGoner) Evict(ctx context.Context, pod evictor.PodRef, why evictor.Decision) error {
	if g.gone.CompareAndSwap(false, true) {
		runtime.Goexit()
	}
	return g.PodWriter.Evict(ctx, pod, why)
}

// For an eviction that is a failure like any other: it is reported, and the next try evicts the pod.
func TestEvictionWhoseClientEndsItsGoroutineFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 4))
		c.AddPod("p", "a-0", evictortest.TolerateFor(v1.TaintNodeUnreachable, 10))
		clients := c.Clients()
		clients.PodWriter = &podGoner{PodWriter: clients.PodWriter}
		e, pass := runWith(t, c, config(), clients, evictor.Options{})
		c.Fail("a-0")
		pass(200)
		require.Equal(t, []string{"p"}, c.Evicted())
		var kinds []evictor.Kind
		for _, d := range e.Explain("default/p") {
			if d.Kind == evictor.WriteFailed || d.Kind == evictor.PodEvicted {
				kinds = append(kinds, d.Kind)
			}
		}
		require.Equal(t, []evictor.Kind{evictor.WriteFailed, evictor.PodEvicted}, kinds)
	})
}

// A Budget may be shared. What others change in it holds evictions back, and lets them go on, also in exact mode.
func TestWhatOthersTellTheBudgetCountsInExactMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 10))
		c.AddPod("p", "a-0", evictortest.TolerateFor(v1.TaintNodeUnreachable, 60))
		cfg := fast()
		cfg.NodeMonitorPeriod = 0
		b := newBudget(t, c, budget.Bound{Name: "a storm", Of: budget.Bad, Max: budget.Count(3)})
		_, pass := run(t, c, cfg, evictor.Options{Budget: b, Exceeded: func(*budget.Refusal) zone.Pending { return zone.Wait }})
		for _, m := range []string{"x-0", "x-1", "x-2", "x-3"} {
			b.SetAt(m, evictor.Member{Ready: true}, time.Now())
		}
		c.Fail("a-0")
		pass(95)
		for _, m := range []string{"x-0", "x-1", "x-2", "x-3"} {
			b.SetAt(m, evictor.Member{Ready: false}, time.Now())
		}
		pass(30)
		require.Empty(t, c.Evicted())
		for _, m := range []string{"x-0", "x-1", "x-2", "x-3"} {
			b.SetAt(m, evictor.Member{Ready: true}, time.Now())
		}
		pass(2)
		require.Equal(t, []string{"p"}, c.Evicted())
	})
}

// An eviction that failed is not forgotten while an observer is slow to be told of it: if the API server answers another
// call meanwhile, it is tried again at once and not after its backoff.
func TestAnswerWhileAFailureIsBeingTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 12), evictortest.PodsPerNode(1), evictortest.Tolerations(evictortest.TolerateFor(v1.TaintNodeUnreachable, 60)))
		var slow, times atomic.Int64
		_, pass := run(t, c, config(), evictor.Options{Observer: evictor.ObserverFunc(func(d evictor.Decision) {
			if d.Kind == evictor.WriteFailed && d.Pod.Name == "a-0-p0" && slow.Load() > 0 {
				times.Add(1)
				<-time.After(7 * time.Second)
			}
		})})
		c.Fail("a-0", "a-1")
		pass(90)
		c.SetAPIDown(true)
		pass(400)
		require.Empty(t, c.Evicted())
		slow.Store(1)
		for times.Load() == 0 {
			pass(1)
		}
		c.SetAPIDown(false)
		pass(8)
		require.ElementsMatch(t, []string{"a-0-p0", "a-1-p0"}, c.Evicted())
	})
}
