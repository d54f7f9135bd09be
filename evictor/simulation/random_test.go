package simulation

import (
	"fmt"
	"math/rand"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
)

// randomScenario makes a scenario from a seed: a few zones, half an hour, and everything that can happen.
func randomScenario(seed int64) Scenario {
	r := rand.New(rand.NewSource(seed))
	s := Scenario{Config: evictor.DefaultConfig(), Until: 30 * time.Minute, ReplaceAfter: -1}
	maybe := func(n int) bool { return r.Intn(n) == 0 }
	if maybe(6) {
		s.Config.Nodes.NodeMonitorPeriod = 0
	}
	if maybe(4) {
		s.Config.Nodes.TaintBasedEviction = false
	}
	if maybe(4) {
		s.Config.Nodes.NodeEvictionRate = []float64{0, 0.03, 0.3, 1, 7}[r.Intn(5)]
		s.Config.Nodes.LargeClusterSizeThreshold = r.Intn(6)
	}
	if maybe(3) {
		s.ReplaceAfter = time.Duration(r.Intn(30)) * time.Second
	}
	var nodes []string
	for i := range 1 + r.Intn(3) {
		z := Zone{Name: string(rune('a' + i)), Nodes: 1 + r.Intn(8), PodsPerNode: r.Intn(3), DaemonSetPodsPerNode: r.Intn(2)}
		if !maybe(3) {
			z.TolerationSeconds = ptr([]TolerationSeconds{0, 30, 300, -1}[r.Intn(4)])
		}
		for k := range z.Nodes {
			nodes = append(nodes, z.NodeName(k))
		}
		s.Zones = append(s.Zones, z)
	}
	gone := map[string]bool{}
	silent := map[string]bool{}
	when := time.Duration(0)
	for i := range 3 + r.Intn(15) {
		when += time.Duration(r.Intn(180000)) * time.Millisecond
		e := Event{At: when}
		node := nodes[r.Intn(len(nodes))]
		if gone[node] {
			continue
		}
		zone := s.Zones[r.Intn(len(s.Zones))].Name
		switch r.Intn(12) {
		case 0, 1:
			e.Fail = named(node)
			silent[node] = true
		case 2:
			e.Fail = &Nodes{Zone: zone}
			for _, n := range nodes {
				silent[n] = true // perhaps: no condition is set on any
			}
		case 3, 4:
			e.Recover = &Nodes{Zone: zone}
		case 5:
			if silent[node] {
				continue
			}
			e.Condition = &Condition{Nodes: Nodes{Names: []string{node}}, Type: "Ready", Status: []v1.ConditionStatus{"False", "True", "Unknown"}[r.Intn(3)]}
		case 6:
			e.Taint = &Taint{Nodes: Nodes{Names: []string{node}}, NodeTaint: NodeTaint{Key: []string{"k", v1.TaintNodeUnreachable}[r.Intn(2)], Effect: "NoExecute"}}
		case 7:
			e.Untaint = &Untaint{Nodes: Nodes{Names: []string{node}}, Key: []string{"k", v1.TaintNodeUnreachable}[r.Intn(2)], Effect: "NoExecute"}
		case 8:
			e.API = &API{State: []string{APIDown, APIUp}[r.Intn(2)]}
		case 9:
			e.Restart = &Restart{}
		case 10:
			e.DeleteNode = named(node)
			gone[node] = true
		case 11:
			e.AddPod = &AddPod{Name: fmt.Sprint("extra-", i), Node: node, TolerationSeconds: ptr(TolerationSeconds(r.Intn(100)))}
		}
		s.Events = append(s.Events, e)
	}
	return s
}
