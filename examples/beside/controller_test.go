package beside_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/examples/beside"
)

// started returns a cluster of three nodes with an evictor, and the controller beside it.
func started(t *testing.T) (*evictortest.Cluster, *beside.Incidents) {
	cluster := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	incidents := beside.New(cluster.Clients().Nodes, cluster.Clock())
	cluster.Feed(incidents)
	cluster.Drive(incidents.Step)
	cluster.Start(evictor.DefaultConfig())
	return cluster, incidents
}

// TestAnIncidentComesBeforeThePodsGo: somebody has five minutes to look at it.
func TestAnIncidentComesBeforeThePodsGo(t *testing.T) {
	cluster, incidents := started(t)
	cluster.Fail("a-0")
	cluster.Advance(50 * time.Second)
	require.Empty(t, incidents.Open())
	cluster.Advance(10 * time.Second)
	require.Equal(t, []string{"a-0"}, incidents.Open())
	require.Empty(t, cluster.Evicted())
	cluster.Advance(5 * time.Minute)
	require.Equal(t, []string{"a-0-p0"}, cluster.Evicted())
}

// TestANodeThatFlapsIsOneIncident: it stays open while the node is healthy for a minute, and closes five minutes after
// the last recovery.
func TestANodeThatFlapsIsOneIncident(t *testing.T) {
	cluster, incidents := started(t)
	for range 3 {
		cluster.Fail("a-0")
		cluster.Advance(2 * time.Minute)
		cluster.Recover("a-0")
		cluster.Advance(time.Minute)
		require.Equal(t, []string{"a-0"}, incidents.Open())
	}
	cluster.Advance(beside.Settled)
	require.Empty(t, incidents.Open())
	require.Empty(t, cluster.Evicted())
}

// TestADeletedNodeHasNoIncident, whatever its state was before.
func TestADeletedNodeHasNoIncident(t *testing.T) {
	cluster, incidents := started(t)
	cluster.Fail("a-0")
	cluster.Advance(time.Minute)
	require.Equal(t, []string{"a-0"}, incidents.Open())
	cluster.DeleteNode("a-0")
	cluster.Advance(time.Second)
	require.Empty(t, incidents.Open())
}
