package evictor_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/zone"
)

// A client's panic costs one try, not the node.
func TestPanicOfAClientDoesNotBlockItsNode(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4))
	c.Start(config())
	panics := 0
	c.FailWrites(func(write, object string) error {
		if write == "taints" && panics < 2 {
			panics++
			panic("a bug of the client's")
		}
		return nil
	})
	c.Fail("a-0")
	c.Advance(time.Minute)
	require.True(t, c.HasNoExecute("a-0"))
	panics = 1
	c.Recover("a-0")
	c.Advance(10 * time.Second)
	require.Empty(t, c.Taints("a-0"), "recovery above all")
}

// An observer that panics during an eviction still gets what comes after.
func TestPanicOfTheObserverEndsNoDelivery(t *testing.T) {
	panics, heard := true, 0
	c := evictortest.New(t, evictortest.Zone("a", 2))
	c.AddPod("p", "a-0")
	c.Start(config(), evictor.Options{Observer: evictor.ObserverFunc(func(d evictor.Decision) {
		heard++
		if d.Kind == evictor.PodEvicted && panics {
			panics = false
			panic("a bug of the observer's")
		}
	})})
	c.Taint("a-0", v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute})
	c.Advance(time.Minute)
	require.False(t, panics)
	before := heard
	c.Fail("a-1")
	c.Advance(time.Minute)
	require.Greater(t, heard, before)
}

// A pod whose eviction panics is tried again, and delays no other.
func TestPanicOfAnEvictionIsAFailedTry(t *testing.T) {
	for _, taintBased := range []bool{true, false} {
		cfg := config()
		cfg.TaintBasedEviction = taintBased
		failed := 0
		c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(3))
		c.Start(cfg, evictor.Options{Observer: evictor.ObserverFunc(func(d evictor.Decision) {
			if d.Kind == evictor.WriteFailed {
				require.ErrorContains(t, d.Err, "a bug of the client's")
				failed++
			}
		})})
		c.FailWrites(func(write, object string) error {
			if write == "evict" && object == "default/a-0-p0" && failed < 2 {
				panic("a bug of the client's")
			}
			return nil
		})
		c.Fail("a-0")
		c.Advance(10 * time.Minute)
		require.Equal(t, []string{"a-0-p1", "a-0-p2", "a-0-p0"}, c.Evicted())
		require.Equal(t, 2, failed)
	}
}

// The same for a pod that cannot be marked.
func TestPanicOfAMarkHoldsNoOtherPodUp(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(3))
	c.Start(config())
	c.FailWrites(func(write, object string) error {
		if write == "podStatus" && object == "default/a-0-p0" {
			panic("a bug of the client's")
		}
		return nil
	})
	c.Fail("a-0")
	c.Advance(50 * time.Second)
	require.Len(t, says(c, `"podNotReady"`), 2)
}

// panickyStore panics a given number of times when it is read.
type panickyStore struct {
	evictor.PodStore
	panics int
}

func (s *panickyStore) step() {
	if s.panics > 0 {
		s.panics--
		panic("a bug of the store's")
	}
}

func (s *panickyStore) Pod(key evictor.PodKey) (*v1.Pod, bool) {
	s.step()
	return s.PodStore.Pod(key)
}

func (s *panickyStore) PodsOnNode(node string, visit func(*v1.Pod) bool) {
	s.step()
	s.PodStore.PodsOnNode(node, visit)
}

// A store that panics during a write or a last check leaves no lock behind.
func TestPanicOfAStoreIsAFailedTry(t *testing.T) {
	for _, taintBased := range []bool{true, false} {
		cfg := config()
		cfg.TaintBasedEviction = taintBased
		c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(2))
		clients := c.Clients()
		store := &panickyStore{PodStore: clients.Pods}
		clients.Pods = store
		e, err := evictor.New(cfg, clients, evictor.Options{Clock: c.Clock()})
		require.NoError(t, err)
		c.Feed(e)
		step := func(d time.Duration) {
			for until := c.Clock().Now().Add(d); c.Clock().Now().Before(until); c.Advance(time.Second) {
				_, err := e.Step(context.Background())
				require.NoError(t, err)
			}
		}
		c.Fail("a-0")
		step(5 * time.Minute)
		require.Empty(t, c.Evicted())
		store.panics = 1
		step(2 * time.Minute)
		require.Zero(t, store.panics)
		require.Len(t, c.Evicted(), 2)
	}
}

// panicky is a store in which one call panics.
type panicky struct {
	evictor.Clients
	until int
}

func (p *panicky) call() {
	if p.until--; p.until == 0 {
		panic("a bug of the store's")
	}
}

func (p *panicky) Synced() bool { return true }

func (p *panicky) Nodes(visit func(*v1.Node) bool) { p.Clients.Nodes.Nodes(visit) }

func (p *panicky) Node(name string) (*v1.Node, bool) {
	p.call()
	return p.Clients.Nodes.Node(name)
}

func (p *panicky) Pod(key evictor.PodKey) (*v1.Pod, bool) {
	p.call()
	return p.Clients.Pods.Pod(key)
}

func (p *panicky) PodsOnNode(node string, visit func(*v1.Pod) bool) {
	p.call()
	p.Clients.Pods.PodsOnNode(node, visit)
}

// After a panic, a caller that recovers and calls Step again has lost neither decisions nor nodes to be looked at.
func TestPanicDuringAStepLosesNothing(t *testing.T) {
	caught := 0
	for nth := 1; nth < 40; nth++ {
		c := evictortest.New(t, evictortest.Zone("a", 8), evictortest.PodsPerNode(1))
		clients := c.Clients()
		store := &panicky{Clients: c.Clients()}
		clients.Nodes, clients.Pods = store, store
		e, err := evictor.New(config(), clients, evictor.Options{Clock: c.Clock()})
		require.NoError(t, err)
		c.Feed(e)
		pass := func(d time.Duration) {
			for until := c.Clock().Now().Add(d); c.Clock().Now().Before(until); c.Advance(time.Second) {
				func() {
					defer func() {
						if recover() != nil {
							caught++
						}
					}()
					_, err := e.Step(context.Background())
					require.NoError(t, err)
				}()
			}
		}
		pass(10 * time.Second)
		c.Fail("a-0", "a-1")
		pass(30 * time.Second)
		store.until = nth
		c.Taint("a-2", v1.Taint{Key: "one", Effect: v1.TaintEffectNoExecute})
		c.Taint("a-3", v1.Taint{Key: "one", Effect: v1.TaintEffectNoExecute})
		c.AddPod("p", "a-0", evictortest.TolerateFor(v1.TaintNodeUnreachable, 1))
		c.Cordon("a-4", true)
		pass(time.Minute)
		require.LessOrEqual(t, store.until, 0)
		require.ElementsMatch(t, []string{"a-2-p0", "a-3-p0", "p"}, c.Evicted(), nth)
		require.True(t, c.HasNoExecute("a-0") && c.HasNoExecute("a-1"), nth)
		require.NotEmpty(t, c.Taints("a-4"), nth)
	}
	require.Greater(t, caught, 10)
}

// A policy that panics when a node has gone is asked again in the next Step, in exact mode too.
func TestPanicOfThePolicyIsNotTheLastWord(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3))
	cfg := config()
	cfg.NodeMonitorPeriod = 0
	panics := false
	e, err := evictor.New(cfg, c.Clients(), evictor.Options{Clock: c.Clock(), Policy: zone.PolicyFunc(func(s zone.Situation) zone.Ruling {
		if panics {
			panic("a bug of the policy's")
		}
		return zone.Ruling{State: zone.Normal, Rate: float64(s.Counts.Total)}
	})})
	require.NoError(t, err)
	c.Feed(e)
	step := func() {
		_, err := e.Step(context.Background())
		require.NoError(t, err)
		c.Advance(time.Second)
	}
	step()
	require.InDelta(t, 3, e.Zones()[0].Rate, 0)
	panics = true
	c.DeleteNode("a-0")
	require.Panics(t, step)
	panics = false
	step()
	require.InDelta(t, 2, e.Zones()[0].Rate, 0)
}
