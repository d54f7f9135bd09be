package evictor_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// panicky is a store of which one call panics.
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

// Who recovers from a panic and steps on has lost nothing of what was told, nor any node that was to be looked at.
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

// watchedStore lets a test see each look at a node, and answer in the store's place.
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

// A store that lacks a node for a moment, as after a list from a cache that is behind, loses no eviction: when the
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
