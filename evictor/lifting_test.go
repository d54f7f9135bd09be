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

// A node that recovers loses its NoSchedule taint too, whatever write of it waits for its backoff.
func TestBackoffOfAWriteDoesNotHoldLiftingBack(t *testing.T) {
	cfg := config()
	cfg.NodeEvictionRate = 0
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(1))
	c.Start(cfg)
	forbid(c, "podStatus")
	c.Fail("a-0")
	c.Advance(5 * time.Minute)
	require.NotEmpty(t, c.Taints("a-0"))
	c.Recover("a-0")
	c.Advance(5 * time.Second)
	require.Empty(t, c.Taints("a-0"))
}

// lateStore shows every node as it was when late began, like an informer whose events are late.
type lateStore struct {
	evictor.NodeStore
	seen map[string]*v1.Node
	late bool
}

func (s *lateStore) Node(name string) (*v1.Node, bool) {
	if old := s.seen[name]; s.late && old != nil {
		return old, true
	}
	node, ok := s.NodeStore.Node(name)
	s.seen[name] = node
	return node, ok
}

// A taint that was written exists, even if the store does not show it yet: the node has had its turn, and counts under
// the cap.
func TestTaintThatTheStoreDoesNotShowYetIsThere(t *testing.T) {
	for _, period := range []time.Duration{0, 5 * time.Second} {
		cfg := config()
		cfg.MaxFailedNodes, cfg.NodeMonitorPeriod = 1, period
		c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.Zone("b", 4))
		clients := c.Clients()
		store := &lateStore{NodeStore: clients.Nodes, seen: map[string]*v1.Node{}}
		clients.Nodes = store
		clients.NodeWriter = reportsAfterConditions{clients.NodeWriter, func(node string) {
			if node == "a-0" { // the store shows this write, and nothing after it
				store.late, store.seen = true, map[string]*v1.Node{}
			}
		}}
		queued := map[string]int{}
		e, err := evictor.New(cfg, clients, evictor.Options{Clock: c.Clock(), Observer: evictor.ObserverFunc(func(d evictor.Decision) {
			if d.Kind == evictor.NodeQueued {
				queued[d.Node]++
			}
		})})
		require.NoError(t, err)
		c.Feed(e)
		step := func(d time.Duration) {
			for until := c.Clock().Now().Add(d); c.Clock().Now().Before(until); c.Advance(time.Second) {
				next, err := e.Step(context.Background())
				require.NoError(t, err)
				require.True(t, next.After(c.Clock().Now()))
				e.NodeChanged("a-0")
			}
		}
		step(0)
		c.Fail("a-0", "b-0")
		step(60 * time.Second)
		require.True(t, store.late)
		require.True(t, c.HasNoExecute("a-0"))
		store.late = false
		e.NodeChanged("a-0")
		step(5 * time.Second)
		require.False(t, c.HasNoExecute("b-0"))
		require.Equal(t, map[string]int{"a-0": 1, "b-0": 1}, queued)
		c.Untaint("a-0", v1.TaintNodeUnreachable, v1.TaintEffectNoExecute) // by somebody else; this is seen at once
		step(10 * time.Second)
		require.Equal(t, 2, queued["a-0"])
		require.NotEqual(t, c.HasNoExecute("a-0"), c.HasNoExecute("b-0"))
	}
}
