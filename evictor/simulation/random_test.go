package simulation

import (
	"context"
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/internal/scenario"
)

// randomScenario makes a scenario from a seed: a few zones, half an hour, and everything that can happen.
func randomScenario(seed int64) *scenario.Scenario {
	r := rand.New(rand.NewSource(seed))
	s := &scenario.Scenario{Until: at(30 * time.Minute)}
	maybe := func(n int) bool { return r.Intn(n) == 0 }
	if maybe(6) {
		s.Config.NodeMonitorPeriod = at(0)
	}
	if maybe(4) {
		s.Config.TaintBasedEviction = ptr(false)
	}
	if maybe(4) {
		s.Config.NodeEvictionRate = ptr([]float64{0, 0.03, 0.3, 1, 7}[r.Intn(5)])
		s.Config.LargeClusterSizeThreshold = ptr(r.Intn(6))
	}
	if maybe(3) {
		s.Reschedule = &scenario.Reschedule{After: at(time.Duration(r.Intn(30)) * time.Second)}
	}
	var nodes []string
	for i := range 1 + r.Intn(3) {
		z := scenario.Zone{Name: string(rune('a' + i)), Nodes: 1 + r.Intn(8), PodsPerNode: r.Intn(3), DaemonSetPodsPerNode: r.Intn(2)}
		if !maybe(3) {
			z.TolerationSeconds = ptr([]scenario.TolerationSeconds{0, 30, 300, -1}[r.Intn(4)])
		}
		for k := range z.Nodes {
			nodes = append(nodes, z.NodeName(k))
		}
		s.Cluster.Zones = append(s.Cluster.Zones, z)
	}
	gone := map[string]bool{}
	silent := map[string]bool{}
	when := time.Duration(0)
	for i := range 3 + r.Intn(15) {
		when += time.Duration(r.Intn(180000)) * time.Millisecond
		e := scenario.Event{At: at(when)}
		node := nodes[r.Intn(len(nodes))]
		if gone[node] {
			continue
		}
		zone := s.Cluster.Zones[r.Intn(len(s.Cluster.Zones))].Name
		switch r.Intn(12) {
		case 0, 1:
			e.Fail = &scenario.Selector{Node: node}
			silent[node] = true
		case 2:
			e.Fail = &scenario.Selector{Zone: &zone}
			for _, n := range nodes {
				silent[n] = true // perhaps: no condition is set on any
			}
		case 3, 4:
			e.Recover = &scenario.Selector{Zone: &zone}
		case 5:
			if silent[node] {
				continue
			}
			e.Condition = &scenario.Condition{Selector: scenario.Selector{Node: node}, Type: "Ready", Status: []string{"False", "True", "Unknown"}[r.Intn(3)]}
		case 6:
			e.Taint = &scenario.Taint{Selector: scenario.Selector{Node: node}, Key: []string{"k", v1.TaintNodeUnreachable}[r.Intn(2)], Effect: "NoExecute"}
		case 7:
			e.Untaint = &scenario.Untaint{Selector: scenario.Selector{Node: node}, Key: []string{"k", v1.TaintNodeUnreachable}[r.Intn(2)], Effect: "NoExecute"}
		case 8:
			e.API = &scenario.API{State: []string{scenario.APIDown, scenario.APIUp}[r.Intn(2)]}
		case 9:
			e.Restart = &scenario.Restart{}
		case 10:
			e.DeleteNode = &scenario.Selector{Node: node}
			gone[node] = true
		case 11:
			e.AddPod = &scenario.AddPod{Name: fmt.Sprint("extra-", i), Node: node, TolerationSeconds: ptr(scenario.TolerationSeconds(r.Intn(100)))}
		}
		s.Events = append(s.Events, e)
	}
	return s
}

// checkPlay plays a scenario and checks what must hold whatever happens in it.
func checkPlay(t testing.TB, s *scenario.Scenario) []string {
	c := New(&Clock{})
	var lines []string
	var last scenario.Line
	evicted := map[string]time.Duration{}
	tainted := map[string]int{} // by zone
	steps := 0
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	_, err := Play(ctx, s, c, Options{
		Line: func(l scenario.Line) error {
			if len(lines) > 0 {
				require.LessOrEqual(t, scenario.Compare(last, l), 0, "lines are sorted")
			}
			last = l
			lines = append(lines, string(l.AppendJSON(nil)))
			return nil
		},
		Decision: func(d evictor.Decision) {
			if steps++; steps > 200000 {
				stop() // it does not end
			}
			switch d.Kind {
			case evictor.PodEvicted:
				id := string(d.Pod.UID)
				require.NotContains(t, evicted, id, "a pod is evicted once")
				evicted[id] = d.Time.Sub(Epoch)
				n := c.nodes[c.nodeByID[d.Node]]
				noExecute := false
				for _, taint := range n.taints {
					noExecute = noExecute || taint.Effect == v1.TaintEffectNoExecute
				}
				require.True(t, noExecute || n.failed || n.kubeletStatus(v1.NodeReady) != v1.ConditionTrue, "%s of %s justifies no eviction", d.Pod.PodKey, d.Node)
			case evictor.TaintsWritten:
				for _, taint := range d.Added {
					swap := len(d.Removed) > 0
					if taint.Effect == v1.TaintEffectNoExecute && !swap {
						tainted[c.nodes[c.nodeByID[d.Node]].zone.String()]++
					}
				}
			}
		},
	})
	require.NoError(t, err)
	restarts := 1
	for _, e := range s.Events {
		if e.Restart != nil {
			restarts++
		}
	}
	for zone, n := range tainted {
		require.LessOrEqual(t, float64(n), s.Settings().NodeEvictionRate*s.Settings().Until.Seconds()+float64(restarts), zone)
	}
	return lines
}

func TestRandomScenarios(t *testing.T) {
	played := 0
	for seed := range int64(200) {
		s := randomScenario(seed)
		if s.Check(New(&Clock{}).Inventory()) != nil {
			continue // the generator may make some invalid events
		}
		played++
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			first := checkPlay(t, s)
			require.Equal(t, first, checkPlay(t, s), "the same bytes again")
		})
	}
	require.Greater(t, played, 100)
}
