package edge_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/examples/edge"
)

// platform is three sites of three nodes, and the controller's process. Node a-0 may live on its own for an hour.
type platform struct {
	*evictortest.Cluster
	sites *edge.Sites
}

func started(t *testing.T) *platform {
	labels := evictortest.NodeLabels(func(node string) map[string]string {
		labels := map[string]string{edge.Site: node[:1]}
		if node == "a-0" {
			labels[edge.Autonomy] = "1h"
		}
		return labels
	})
	p := &platform{Cluster: evictortest.New(t, evictortest.Zone("a", 3), evictortest.Zone("b", 3), evictortest.Zone("c", 3), evictortest.PodsPerNode(1), labels)}
	p.restart()
	p.Drive(func(context.Context) (time.Time, error) { return p.sites.Step(p.Evictor().NodeChanged), nil })
	p.Advance(10 * time.Minute)
	return p
}

// restart begins a process that knows nothing of the one before.
func (p *platform) restart() {
	p.sites = &edge.Sites{Nodes: p.Clients().Nodes, Clock: p.Clock()}
	p.Start(evictor.DefaultConfig(), p.sites.Options())
}

// TestANodeMayLiveOnItsOwn for an hour, with as many restarts as there may be. Then it is tainted, and its pod leaves five
// minutes later. Others are tainted at once.
func TestANodeMayLiveOnItsOwn(t *testing.T) {
	cluster := started(t)
	cluster.Fail("a-0", "b-0")
	for range 5 {
		cluster.Advance(10 * time.Minute)
		require.False(t, cluster.HasNoExecute("a-0"))
		cluster.restart()
	}
	require.Equal(t, []string{"b-0-p0"}, cluster.Evicted())
	cluster.Advance(10*time.Minute + 50*time.Second) // its last heartbeat may be ten seconds old, and verdicts fall at passes
	require.False(t, cluster.HasNoExecute("a-0"))
	cluster.Advance(10 * time.Second)
	require.True(t, cluster.HasNoExecute("a-0"))
	cluster.Advance(5 * time.Minute)
	require.Equal(t, []string{"b-0-p0", "a-0-p0"}, cluster.Evicted())
}

// TestItMayBeBackInTime: nothing has happened to it.
func TestItMayBeBackInTime(t *testing.T) {
	cluster := started(t)
	cluster.Fail("a-0")
	cluster.Advance(55 * time.Minute)
	cluster.restart()
	cluster.Recover("a-0")
	cluster.Advance(2 * time.Hour)
	require.NotContains(t, strings.Join(cluster.Timeline(), "\n"), "NoExecute", "not even for a moment")
	require.Empty(t, cluster.Evicted())
}

// TestASiteThatIsCutOffKeepsItsPods, a night and two restarts long. A node that is dead when the site is back loses its pods.
func TestASiteThatIsCutOffKeepsItsPods(t *testing.T) {
	cluster := started(t)
	cluster.Fail("b-0", "b-1", "b-2")
	cluster.Advance(time.Hour)
	cluster.restart()
	cluster.Advance(7 * time.Hour)
	cluster.restart()
	cluster.Advance(time.Hour)
	require.Empty(t, cluster.Evicted())
	cluster.Recover("b-0", "b-1")
	cluster.Advance(10 * time.Minute)
	require.Equal(t, []string{"b-2-p0"}, cluster.Evicted())
}

// TestASiteThatIsCutOffBitByBit: it keeps its pods too if its last node falls silent before they have left, and when its
// nodes come back one by one.
func TestASiteThatIsCutOffBitByBit(t *testing.T) {
	cluster := started(t)
	for _, node := range []string{"b-0", "b-1", "b-2"} {
		cluster.Fail(node)
		cluster.Advance(time.Minute)
	}
	cluster.restart()
	cluster.Advance(8 * time.Hour)
	for _, node := range []string{"b-2", "b-1", "b-0"} {
		cluster.Recover(node)
		cluster.Advance(30 * time.Second)
	}
	cluster.Advance(time.Hour)
	require.Empty(t, cluster.Evicted())
}
