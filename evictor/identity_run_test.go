//go:build go1.25

package evictor_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/zone"
)

// behind is a store that lags behind with one node, and counts how often it was asked for that.
type behind struct {
	evictor.NodeStore
	stuck atomic.Pointer[v1.Node]
	asked atomic.Int64
}

func (b *behind) Node(name string) (*v1.Node, bool) {
	if node := b.stuck.Load(); node != nil && node.Name == name {
		if b.asked.Add(1) > 100_000 {
			return nil, false // or a loop that reads it without end would hang the test
		}
		return node, true
	}
	return b.NodeStore.Node(name)
}

// A write in flight when its node is replaced does not bring back the old node.
func TestWriteOfAReplacedNodeDoesNotHideTheNewOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 6))
		var written, replaced atomic.Bool
		clients := c.Clients()
		store := &behind{NodeStore: clients.Nodes}
		clients.Nodes = store
		e, pass := runWith(t, c, config(), clients, evictor.Options{MayHarm: func() error {
			if written.Load() && replaced.CompareAndSwap(false, true) {
				store.stuck.Store(nil)
				c.DeleteNode("a-0")
				c.AddNode("a-0", zone.Key{Zone: "a"})
				c.Fail("a-0")
				time.Sleep(7 * time.Second) // the bubble's clock; the new node is seen
			}
			return nil
		}})
		c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
		pass(10)
		require.True(t, c.HasNoExecute("a-0"))
		c.FailWrites(func(write, object string) error {
			if write == "conditions" && !replaced.Load() {
				written.Store(true)
				node, _ := store.NodeStore.Node("a-0")
				store.stuck.Store(node)
			}
			if write == "taints" && !replaced.Load() {
				return errors.New("denied")
			}
			return nil
		})
		c.Condition("a-0", v1.NodeReady, v1.ConditionTrue) // its taint cannot be lifted
		pass(10)
		c.Fail("a-0")
		pass(120)
		require.True(t, replaced.Load())
		st, ok := e.Node("a-0")
		require.True(t, ok)
		require.Equal(t, v1.ConditionUnknown, st.Verdict.Ready)
		require.True(t, c.HasNoExecute("a-0"))
	})
}

// A store that goes back to the node that had the name before, and stays there, does not keep Run busy while the node is
// due to be looked at again.
func TestAnOlderNodeOfTheNameDoesNotKeepRunBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 6))
		clients := c.Clients()
		store := &behind{NodeStore: clients.Nodes}
		clients.Nodes = store
		cfg := config()
		cfg.NodeMonitorPeriod, cfg.TaintBasedEviction = 0, false
		first, _ := store.Node("a-0")
		c.DeleteNode("a-0")
		c.AddNode("a-0", zone.Key{Zone: "a"})
		_, pass := runWith(t, c, cfg, clients, evictor.Options{})
		c.Fail("a-0") // its pods wait for PodEvictionTimeout
		pass(120)
		store.stuck.Store(first)
		c.Condition("a-1", v1.NodeReady, v1.ConditionFalse)
		pass(60)
		require.Less(t, store.asked.Load(), int64(100))
	})
}
