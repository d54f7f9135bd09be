package simulation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/simulation"
)

// zones returns a scenario of two zones with four nodes each and two pods on each node.
func zones(events ...simulation.Event) simulation.Scenario {
	return simulation.Scenario{
		Zones:  []simulation.Zone{{Name: "a", Nodes: 4, PodsPerNode: 2}, {Name: "b", Region: "r", Nodes: 4, PodsPerNode: 2}},
		Events: events, Until: 10 * time.Minute,
	}
}

// touched returns the nodes of the event lines.
func touched(lines []line) (nodes [][]string) {
	for _, l := range lines {
		if l.Kind == "event" {
			nodes = append(nodes, l.Nodes)
		}
	}
	return nodes
}

func TestNodesChoose(t *testing.T) {
	for name, c := range map[string]struct {
		nodes   simulation.Nodes
		touched []string
	}{
		"by name":         {simulation.Nodes{Names: []string{"b-001", "a-000"}}, []string{"b-001", "a-000"}},
		"zone":            {simulation.Nodes{Zone: "a"}, []string{"a-000", "a-001", "a-002", "a-003"}},
		"region and zone": {simulation.Nodes{Zone: "r:b", Count: 1}, []string{"b-000"}},
		"labels":          {simulation.Nodes{Labels: "topology.kubernetes.io/region=r", Percent: 50}, []string{"b-000", "b-001"}},
		"half up":         {simulation.Nodes{Zone: "a", Percent: 12.5}, []string{"a-000"}},
		"less":            {simulation.Nodes{Zone: "a", Percent: 12.4}, nil},
		"both":            {simulation.Nodes{Zone: "b", Labels: "topology.kubernetes.io/region", Count: 1}, []string{"b-000"}},
		"count of all":    {simulation.Nodes{Count: 2}, []string{"a-000", "a-001"}},
		"percent of all":  {simulation.Nodes{Percent: 100}, []string{"a-000", "a-001", "a-002", "a-003", "b-000", "b-001", "b-002", "b-003"}},
		"by a seed":       {simulation.Nodes{Count: 2, Seed: 1}, []string{"b-001", "b-000"}},
		"another":         {simulation.Nodes{Count: 2, Seed: 3}, []string{"b-003", "a-002"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, lines := play(t, zones(simulation.Event{At: time.Minute, Cordon: &c.nodes}))
			require.Equal(t, [][]string{c.touched}, touched(lines))
		})
	}
}

// What chooses by count goes on to nodes on which it has something to do.
func TestACountGoesOnToNodesOnWhichThereIsSomethingToDo(t *testing.T) {
	one := simulation.Nodes{Zone: "a", Count: 1}
	condition := func(of v1.NodeConditionType, status v1.ConditionStatus) simulation.Event {
		return simulation.Event{Condition: &simulation.Condition{Nodes: one, Type: of, Status: status}}
	}
	lost := func(showAfter time.Duration) simulation.Event {
		return simulation.Event{LoseLeases: &simulation.LoseLeases{Nodes: one, ShowAfter: showAfter}}
	}
	first, second := []string{"a-000"}, []string{"a-001"}
	for name, c := range map[string]struct {
		events []simulation.Event
		want   [][]string
	}{
		"a kubelet's condition":     {[]simulation.Event{condition(v1.NodeReady, v1.ConditionFalse), condition(v1.NodeReady, v1.ConditionFalse)}, [][]string{first, second}},
		"another status":            {[]simulation.Event{condition(v1.NodeReady, v1.ConditionFalse), condition(v1.NodeReady, v1.ConditionTrue)}, [][]string{first, first}},
		"what healthy kubelets say": {[]simulation.Event{condition(v1.NodeReady, v1.ConditionTrue)}, [][]string{nil}},
		"a condition of others":     {[]simulation.Event{condition("MaintenancePlanned", v1.ConditionTrue), condition("MaintenancePlanned", v1.ConditionTrue)}, [][]string{first, second}},
		"of a silent node, too":     {[]simulation.Event{{Fail: &one}, condition("MaintenancePlanned", v1.ConditionTrue), condition(v1.NodeReady, v1.ConditionFalse)}, [][]string{first, first, second}},
		"leases":                    {[]simulation.Event{lost(0), lost(0)}, [][]string{first, second}},
		"leases, shown later":       {[]simulation.Event{lost(0), lost(time.Minute)}, [][]string{first, first}},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range c.events {
				c.events[i].At = time.Duration(i+1) * time.Minute
			}
			_, lines := play(t, zones(c.events...))
			require.Equal(t, c.want, touched(lines))
		})
	}
}

// Each event has its effect on the world.
func TestEventsHappen(t *testing.T) {
	a0 := simulation.Nodes{Names: []string{"a-000"}}
	mine := &simulation.Taint{Nodes: a0, NodeTaint: simulation.NodeTaint{Key: "mine", Value: "x", Effect: v1.TaintEffectNoExecute}}
	added := &simulation.AddNode{Name: "new", Zone: "a", Region: "r", NodeFields: simulation.NodeFields{
		Labels: map[string]string{"pool": "x"}, Taints: []simulation.NodeTaint{{Key: "gpu", Effect: v1.TaintEffectNoSchedule}},
	}}
	for name, c := range map[string]struct {
		events []simulation.Event
		kind   string
		lines  []string
		check  func(*testing.T, *simulation.Report)
	}{
		"Fail, Recover": {
			[]simulation.Event{{At: time.Minute, Fail: &a0}, {At: 3 * time.Minute, Recover: &a0}}, "taint", nil,
			func(t *testing.T, r *simulation.Report) {
				require.Equal(t, []int{1, 1, 1, 0}, []int{r.KubeletFailures, r.UnknownNodes, r.Taints, r.Evicted})
				require.InDelta(t, 2*2./60, r.PodHoursLost, 1e-9)
			},
		},
		"Condition": {
			[]simulation.Event{{At: time.Minute, Condition: &simulation.Condition{Nodes: a0, Type: v1.NodeReady, Status: v1.ConditionFalse}}}, "evict",
			[]string{"6m0s a-000 a-000-p0", "6m0s a-000 a-000-p1"}, nil,
		},
		"Taint": {[]simulation.Event{{At: time.Minute, Taint: mine}}, "evict", []string{"1m0s a-000 a-000-p0", "1m0s a-000 a-000-p1"}, nil},
		"Untaint": {
			[]simulation.Event{{At: time.Minute, Taint: mine}, {At: time.Minute, Untaint: &simulation.Untaint{Nodes: a0, Key: "mine", Effect: v1.TaintEffectNoExecute}}},
			"evict", nil, nil,
		},
		"Cordon, Uncordon": {
			[]simulation.Event{{At: time.Minute, Cordon: &a0}, {At: 2 * time.Minute, Uncordon: &a0}}, "taint",
			[]string{"1m0s a-000 ", "2m0s a-000 "}, nil,
		},
		"DeleteNode": {
			[]simulation.Event{{At: time.Minute, DeleteNode: &a0}}, "schedule",
			[]string{"1m50s a-001 a-000-p0-r1", "1m50s a-002 a-000-p1-r1"}, func(t *testing.T, r *simulation.Report) { require.Equal(t, 3, r.Zones[0].Nodes) },
		},
		"AddNode": {
			[]simulation.Event{
				{At: time.Minute, AddNode: added},
				{At: 2 * time.Minute, Cordon: &simulation.Nodes{Zone: "r:a", Labels: "pool=x"}},
				{At: 3 * time.Minute, Untaint: &simulation.Untaint{Nodes: simulation.Nodes{Zone: "r:a"}, Key: "gpu", Effect: v1.TaintEffectNoSchedule}},
			},
			"taint", []string{"1m0s new ", "2m0s new "}, nil, // the first is the end of admission's taint
		},
		"DeletePod": {
			[]simulation.Event{{At: time.Minute, Fail: &a0}, {At: 2 * time.Minute, DeletePod: &simulation.Pod{Name: "a-000-p1"}}}, "evict",
			[]string{"6m45s a-000 a-000-p0"}, func(t *testing.T, r *simulation.Report) { require.Equal(t, 2, r.TerminatingAtEnd) },
		},
		"ForceDelete": {
			[]simulation.Event{{At: time.Minute, Fail: &a0}, {At: 2 * time.Minute, ForceDelete: &simulation.Pod{Name: "a-000-p1"}}}, "evict",
			[]string{"6m45s a-000 a-000-p0"}, func(t *testing.T, r *simulation.Report) { require.Equal(t, 1, r.TerminatingAtEnd) },
		},
		"API": {
			[]simulation.Event{{At: time.Minute, API: &simulation.API{State: simulation.APIDown}}, {At: time.Minute, Cordon: &a0}, {At: 80 * time.Second, API: &simulation.API{State: simulation.APIUp}}}, "taint",
			[]string{"1m20s a-000 "}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, lines := play(t, zones(c.events...))
			if c.lines != nil || c.check == nil {
				require.Equal(t, c.lines, of(lines, c.kind))
			}
			if c.check != nil {
				c.check(t, r)
			}
			for i := range c.events {
				require.Contains(t, texts(lines), c.events[i].String(), "event %d", i+1)
			}
		})
	}
}

func texts(lines []line) (all []string) {
	for _, l := range lines {
		if l.Kind == "event" {
			all = append(all, l.Text)
		}
	}
	return all
}
