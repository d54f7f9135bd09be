package controlplane

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/examples/scenariofile"
)

// The periods are the usual ones, but kubelets report every ten seconds, as they do when they find a wrong status.
var downConfig = FleetConfig{Zones: 2, NodesPerZone: 40, PodsPerNode: 1, Toleration: 30 * time.Second, Renewal: 10 * time.Second, Report: 10 * time.Second}

// TestAnOutageIsAsTheSimulatorSays kills the API server for 15, 60 and 150 seconds, while no node fails, and counts the
// nodes that are found not ready: by evictord and by kube-controller-manager, each with its defaults and two replicas
// that are started again when they end, as a kubelet would. The simulator says the same of both.
func TestAnOutageIsAsTheSimulatorSays(t *testing.T) {
	if os.Getenv("EVICTKIT_FULL") == "" {
		t.Skip("it takes eight minutes: set EVICTKIT_FULL")
	}
	for p, program := range programs {
		t.Run(program.name, func(t *testing.T) {
			t.Parallel()
			c := open(t)
			fleet, err := StartFleet(c.ctx, c.client, c.view, downConfig)
			require.NoError(t, err)
			args := program.flags
			for replica := range 2 {
				c.supervise(t, fmt.Sprintf("%s-%d", program.name, replica), program.group, program.path(c), args...)
			}
			c.leads(t, []string{leaseName, "kube-controller-manager"}[p], "")
			for _, lasts := range []time.Duration{15 * time.Second, time.Minute, 150 * time.Second} {
				ill := map[string]bool{}
				note := func(now *Now) string {
					for _, node := range fleet.Nodes() {
						_, unknown := now.Unknown(node)
						_, tainted := now.Tainted(node)
						ill[node] = ill[node] || unknown || tainted
					}
					return ""
				}
				c.hold(t, 20*time.Second, note) // leases are watched
				c.plane.KillAPIServer()
				outage := time.NewTimer(lasts)
				<-outage.C
				require.NoError(t, c.plane.StartAPIServer())
				c.hold(t, 75*time.Second, note) // a grace period and a takeover
				found := 0
				for _, is := range ill {
					if is {
						found++
					}
				}
				says := simulated(t, p, lasts)
				t.Logf("%s, API server down for %s: %d of %d nodes not ready; the simulator says %d", program.name, lasts, found, len(fleet.Nodes()), says)
				require.Equal(t, says, found)
			}
		})
	}
}

// supervise runs a program until the test ends, and starts it again ten seconds after it ends.
func (c *cluster) supervise(t *testing.T, name, group, path string, args ...string) {
	t.Helper()
	kubeconfig, err := c.plane.Kubeconfig(name, group)
	require.NoError(t, err)
	over := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for round := 1; ; round++ {
			process, err := c.plane.StartProcess(fmt.Sprintf("%s-%d", name, round), path, append([]string{"--kubeconfig=" + kubeconfig}, args...)...)
			if err != nil {
				t.Error(err)
				return
			}
			select {
			case <-over:
				process.Kill()
				return
			case <-process.done:
			}
			pause := time.NewTimer(10 * time.Second)
			select {
			case <-over:
				return
			case <-pause.C:
			}
		}
	})
	t.Cleanup(func() {
		close(over)
		running.Wait()
	})
}

const downScenario = `cluster: {zones: [{name: a, nodes: 40, podsPerNode: 1, tolerationSeconds: 30}, {name: b, nodes: 40, podsPerNode: 1, tolerationSeconds: 30}]}
events: [{at: 301s, api: {state: down}}, {at: %s, api: {state: up}}]
until: 20m
`

// simulated returns how often a node becomes Unknown, played with our engine (0) or upstream's (1).
func simulated(t *testing.T, engine int, lasts time.Duration) (unknown int) {
	path := filepath.Join(t.TempDir(), "down.yaml")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, downScenario, 301*time.Second+lasts), 0o600))
	if engine == 0 {
		file, err := scenariofile.Load(path)
		require.NoError(t, err)
		s, _ := file.Simulation(t.Context(), nil)
		report, err := simulation.Play(t.Context(), s)
		require.NoError(t, err)
		return report.UnknownNodes
	}
	out, err := exec.CommandContext(t.Context(), "go", "run", "../oracle", path).Output()
	require.NoError(t, err)
	for text := range bytes.Lines(out) {
		l, err := timeline.Parse(text)
		require.NoError(t, err)
		if l.Kind == timeline.KindCondition && l.Type == string(v1.NodeReady) && l.Status == string(v1.ConditionUnknown) {
			unknown++
		}
	}
	return unknown
}
