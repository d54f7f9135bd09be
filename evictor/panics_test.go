package evictor_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// survived takes the panics that a test means.
func survived(any, any, []byte) {}

// A client's panic is a failed try, of a node or of one pod, which delays no other. Recovery is above all.
func TestPanicOfAClientIsAFailedTry(t *testing.T) {
	for _, row := range []struct {
		cfg           evictor.Config
		write, object string
	}{
		{config(), "taints", "a-0"}, {config(), "podStatus", "default/a-0-p0"}, {config(), "evict", "default/a-0-p0"},
		{withoutTaints(config(), 5*time.Minute), "evict", "default/a-0-p0"},
	} {
		t.Run(fmt.Sprintf("%s, taints %t", row.write, row.cfg.Nodes.TaintBasedEviction), func(t *testing.T) {
			var told diary
			c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(3))
			start(c, row.cfg, evictor.Options{Observer: &told, OnPanic: survived})
			panics := 2
			onWrites(c, row.write, func(object string) error {
				if object == row.object && panics > 0 {
					panics--
					panic("a bug of the client's")
				}
				return nil
			})
			c.Fail("a-0")
			c.Advance(46 * time.Second)
			require.GreaterOrEqual(t, len(says(c, `"podNotReady"`)), 2, "the others of its pods")
			c.Advance(14 * time.Second)
			require.Equal(t, row.cfg.Nodes.TaintBasedEviction, c.HasNoExecute("a-0"))
			c.Advance(9 * time.Minute)
			require.Len(t, says(c, `"podNotReady"`), 3)
			want := []string{"a-0-p0", "a-0-p1", "a-0-p2"}
			if row.write == "evict" {
				want = []string{"a-0-p1", "a-0-p2", "a-0-p0"}
			}
			require.Equal(t, want, c.Evicted())
			failed := told.of("WriteFailed")
			require.Len(t, failed, 2)
			require.ErrorContains(t, failed[0].Err, "a bug of the client's")
			panics = 1
			c.Recover("a-0")
			c.Advance(10 * time.Second)
			require.Empty(t, c.Taints("a-0"))
		})
	}
}

// panicky is a store in which one call panics.
type panicky struct {
	cluster.NodeStore
	cluster.PodStore
	until int
}

func (p *panicky) call() {
	if p.until--; p.until == 0 {
		panic("a bug of the store's")
	}
}

func (p *panicky) Node(name string) (*v1.Node, bool) {
	p.call()
	return p.NodeStore.Node(name)
}

func (p *panicky) Pod(key evictor.PodKey) (*v1.Pod, bool) {
	p.call()
	return p.PodStore.Pod(key)
}

func (p *panicky) PodsOnNode(node string, visit func(*v1.Pod) bool) {
	p.call()
	p.PodStore.PodsOnNode(node, visit)
}

// After a panic, a caller that recovers and calls Step again has lost neither decisions nor nodes to be looked at, and no
// lock is left behind.
func TestPanicDuringAStepLosesNothing(t *testing.T) {
	for _, cfg := range inBothModes(config(), 30*time.Second) {
		nth := 1
		for panicsAt(t, cfg, nth) {
			nth++
		}
		require.Greater(t, nth, 100)
	}
}

// panicsAt has the store panic at its nth call after two nodes have failed. It returns false if there are not so many.
func panicsAt(t *testing.T, cfg evictor.Config, nth int) bool {
	caught := 0
	c := evictortest.New(t, evictortest.Zone("a", 8), evictortest.PodsPerNode(1))
	clients := c.Clients()
	store := &panicky{NodeStore: clients.Nodes, PodStore: clients.Pods}
	clients.Nodes, clients.Pods = store, store
	e, err := newTested(cfg, clients, evictor.Options{Clock: c.Clock()})
	require.NoError(t, err)
	lost := false
	onWrites(c, "evict", func(object string) error {
		if object != "default/a-0-p0" || lost {
			return nil
		}
		lost = true
		return errors.New("the connection broke")
	})
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
	pass(2 * time.Minute)
	if store.until > 0 {
		return false
	}
	want := []string{"a-2-p0", "a-3-p0", "p"}
	if !cfg.Nodes.TaintBasedEviction {
		want = append(want, "a-0-p0", "a-1-p0")
	}
	require.ElementsMatch(t, want, c.Evicted(), nth)
	require.Equal(t, cfg.Nodes.TaintBasedEviction, c.HasNoExecute("a-0") && c.HasNoExecute("a-1"), nth)
	require.NotEmpty(t, c.Taints("a-4"), nth)
	return true
}

// An observer that panics during an eviction still gets what comes after.
func TestPanicOfTheObserverEndsNoDelivery(t *testing.T) {
	panics, heard := true, 0
	c := evictortest.New(t, evictortest.Zone("a", 2))
	c.AddPod("p", "a-0")
	start(c, config(), evictor.Options{OnPanic: survived, Observer: observe(func(d decision) {
		heard++
		if d.Kind == "PodEvicted" && panics {
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
