package controlplane

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sizeConfig is a cluster as large as Kubernetes supports, with the usual periods.
var sizeConfig = FleetConfig{
	Zones: 5, NodesPerZone: 1000, PodsPerNode: 10, Toleration: 300 * time.Second, Renewal: 10 * time.Second, Report: 5 * time.Minute,
	PastAPIServer: true, // five hundred updates a second would need most of a core
}

const (
	usualGrace = 50 * time.Second
	lost       = 50 // nodes at once
)

// Five thousand nodes and fifty thousand pods: what the controller needs while nothing fails, and how soon it notices
// that fifty nodes are gone. It takes a quarter of an hour and 6 GiB of memory, so it must be requested:
//
//	EVICTKIT_SIZE=1 go test -run TestSize -v -count=1 -timeout 1h
func TestSize(t *testing.T) {
	if os.Getenv("EVICTKIT_SIZE") == "" {
		t.Skip("EVICTKIT_SIZE is not set")
	}
	c, err := startCluster(sizeConfig)
	require.NoError(t, err)
	kubeconfig, err := c.plane.Kubeconfig("size", "system:masters")
	require.NoError(t, err)
	s := startSized(t, c.plane, c.controller, kubeconfig)
	s.waitReady(t, 2*soon)
	c.wait(t, 10*soon, func(now *Now) string { // the taint that all new nodes have
		for _, node := range now.nodes {
			if len(node.Spec.Taints) > 0 {
				return "there are still taints"
			}
		}
		return ""
	})
	cpu, rate := s.quiet(t, &c.Renewals, func(d time.Duration) { c.hold(t, d, c.nothingFails) })
	renewed := float64(len(c.Nodes())) / sizeConfig.Renewal.Seconds()
	require.Greater(t, rate, 0.95*renewed, "this machine is too busy: the kubelets do not keep up")
	_, inUse := heap(t, s.debug)

	var nodes []string
	for z := range sizeConfig.Zones {
		nodes = append(nodes, c.Zone(z)[:lost/sizeConfig.Zones]...)
	}
	late := c.lose(t, s, nodes, "as machines do, each some time after its last renewal", false)
	var others []string
	for z := range sizeConfig.Zones {
		others = append(others, c.Zone(z)[500:500+lost/sizeConfig.Zones]...)
	}
	lateTogether := c.lose(t, s, others, "all just after a renewal", true)
	t.Logf("memory of the process: %.1f MiB at most", mib(s.status(t).peak))

	require.Less(t, cpu, 0.05)
	require.Less(t, mib(inUse), 150.0)
	require.Less(t, mib(s.status(t).peak), 350.0)
	require.Less(t, late, time.Second)
	require.Less(t, lateTogether, time.Second)
}

func (c *cluster) nothingFails(now *Now) string {
	for name, at := range now.unknown {
		return fmt.Sprintf("node %s is Unknown since %s", name, at)
	}
	return ""
}

// lose stops nodes and returns how long after the grace period the last of them was seen to be Unknown.
func (c *cluster) lose(t *testing.T, s *sized, nodes []string, how string, together bool) (most time.Duration) {
	t.Helper()
	c.Stop(nodes...)
	if together {
		require.NoError(t, each(nodes, func(node string) error {
			c.kubelet[node].renew(c.ctx)
			return nil
		}))
	}
	sent := requestsSent(t, s.metrics)
	c.wait(t, usualGrace+soon, func(now *Now) string {
		for _, node := range nodes {
			if _, ok := now.Unknown(node); !ok {
				return fmt.Sprintf("node %s is not Unknown", node)
			}
		}
		return ""
	})
	var late []time.Duration
	beats := c.LastBeat(nodes[0])
	spread := beats
	c.view.Look(func(now *Now) {
		for _, node := range nodes {
			unknown, _ := now.Unknown(node)
			beat := c.LastBeat(node)
			late = append(late, unknown.Sub(beat)-usualGrace)
			if beat.Before(beats) {
				beats = beat
			}
			if beat.After(spread) {
				spread = beat
			}
		}
	})
	slices.Sort(late)
	t.Logf("%d nodes lost, %s (within %s): Unknown after the grace period and %s in the median, %s at most; requests sent: %v",
		len(nodes), how, spread.Sub(beats).Round(time.Millisecond), median(late).Round(time.Millisecond), late[len(late)-1].Round(time.Millisecond),
		less(requestsSent(t, s.metrics), sent))
	return late[len(late)-1]
}
