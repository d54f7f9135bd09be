package evictor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

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
