package evictor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// After a start, an old node that never reported is watched for a whole start-up grace period before it is Unknown, and
// its pods are deleted once it has been silent for the timeout since, however old it is.
func TestANodeThatNeverReportedIsWatchedBeforeItIsEmptied(t *testing.T) {
	for _, period := range []time.Duration{0, 5 * time.Second} {
		cfg := config()
		cfg.TaintBasedEviction, cfg.NodeMonitorPeriod, cfg.PodEvictionTimeout = false, period, 100*time.Second
		c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
		c.Fail("a-0")
		c.Advance(time.Hour)
		clients := c.Clients()
		store := &withoutConditions{clients.Nodes, "a-0"}
		clients.Nodes = store
		c.FailWrites(func(string, string) error {
			store.name = "" // the conditions are written
			return nil
		})
		e, err := evictor.New(cfg, clients, evictor.Options{Clock: c.Clock()})
		require.NoError(t, err)
		c.Feed(e)
		c.Drive(e.Step)
		c.Advance(59 * time.Second)
		v, _ := e.Node("a-0")
		require.Empty(t, v.Verdict.Ready)
		c.Advance(40 * time.Second)
		v, _ = e.Node("a-0")
		require.EqualValues(t, "Unknown", v.Verdict.Ready)
		require.Empty(t, c.Evicted())
		c.Advance(7 * time.Second)
		require.Equal(t, []string{"a-0-p0"}, c.Evicted())
	}
}

// withoutConditions shows a node without its conditions.
type withoutConditions struct {
	evictor.NodeStore
	name string
}

func (s *withoutConditions) Node(name string) (*v1.Node, bool) {
	node, ok := s.NodeStore.Node(name)
	if ok && name == s.name {
		node = node.DeepCopy()
		node.Status.Conditions = nil
	}
	return node, ok
}
