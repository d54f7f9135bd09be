package evictor_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
)

// Without TaintBasedEviction our two taints order nothing, whoever has set them, and go when the node is well. With it they
// order again.
func TestTaintBasedEvictionIsTurnedOffAndOnInAnOutage(t *testing.T) {
	cfg := config()
	c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.PodsPerNode(1))
	start(c, cfg)
	c.Fail("a-0", "a-1")
	c.Advance(2 * time.Minute)
	require.True(t, c.HasNoExecute("a-0"))
	require.True(t, c.HasNoExecute("a-1"))

	off := cfg
	off.Nodes.TaintBasedEviction, off.Nodes.PodEvictionTimeout = false, time.Hour
	start(c, off)
	c.Advance(time.Minute)
	c.Recover("a-0")
	c.Advance(10 * time.Second)
	require.Empty(t, c.Taints("a-0"))
	c.Advance(20 * time.Minute)
	require.Empty(t, c.Evicted())
	require.True(t, c.HasNoExecute("a-1"))

	start(c, cfg)
	c.Advance(time.Minute)
	require.Equal(t, []string{"a-1-p0"}, c.Evicted())
}

// The node lifecycle half alone lifts them, too. The half that evicts has no such setting: who sets taints orders.
func TestTaintBasedEvictionIsTurnedOffInEachHalf(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.PodsPerNode(1))
	clients, off := c.Clients(), config()
	off.Nodes.TaintBasedEviction, off.Nodes.PodEvictionTimeout = false, time.Hour
	nodes, err := nodelifecycle.New(off.Nodes, clients, nodelifecycle.Options{Clock: c.Clock()})
	require.NoError(t, err)
	c.Drive(nodes.Step)
	pods, err := tainteviction.New(config().Pods(), tainteviction.Clients{Nodes: clients.Nodes, Pods: clients.Pods, Evicter: clients.PodWriter, Source: clients.Source}, tainteviction.Options{Clock: c.Clock()})
	require.NoError(t, err)
	c.Drive(pods.Step)
	c.Advance(time.Minute)
	c.Fail("a-1")
	c.Advance(time.Minute)
	for _, node := range []string{"a-0", "a-1"} {
		c.Taint(node, v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute})
	}
	c.Advance(10 * time.Minute)
	require.Empty(t, c.Taints("a-0"), "it is well")
	require.True(t, c.HasNoExecute("a-1"))
	require.Equal(t, []string{"a-1-p0"}, c.Evicted())
}

// TimeAdded is of another process's clock. Who has watched the taint come counts by its own, so that a slow clock of the leader
// before it shortens no toleration.
func TestAStandbyCountsByItsOwnClock(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.PodsPerNode(1))
	e := start(c, config())
	e.Pause("it only watches")
	c.Advance(time.Minute)
	c.Fail("a-0")
	c.Advance(time.Minute)
	slow := v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute}
	added := metav1.NewTime(c.Clock().Now().Add(-70 * time.Second))
	slow.TimeAdded = &added
	c.Taint("a-0", slow)
	c.Advance(10 * time.Second)
	e.Resume("it only watches")
	c.Advance(289 * time.Second)
	require.Empty(t, c.Evicted())
	c.Advance(time.Second)
	require.Equal(t, []string{"a-0-p0"}, c.Evicted())
}

// While the evictor was blind, a node that was Unknown before may have renewed: its lease is read before it is tainted.
func TestLeasesAreReadAgainAfterBlindness(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.PodsPerNode(1))
	e := start(c, config())
	e.Pause("first")
	c.Fail("a-0")
	c.Advance(2 * time.Minute)
	e.SetObserverHealth(errors.New("the watches are dead"))
	c.Advance(time.Minute)
	e.SetObserverHealth(nil)
	nodes, _ := e.Silent()
	require.Contains(t, nodes, "a-0")
}
