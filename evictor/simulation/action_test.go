package simulation_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation"
)

// zones returns a scenario of two zones with four nodes each and two pods on each node.
func zones(events ...simulation.Event) simulation.Scenario {
	return simulation.Scenario{
		Zones:  []simulation.Zone{{Name: "a", Nodes: 4, PodsPerNode: 2}, {Name: "b", Region: "r", Nodes: 4, PodsPerNode: 2}},
		Events: events, Until: 10 * time.Minute,
	}
}

func at(minutes int, do simulation.Action) simulation.Event {
	return simulation.Event{At: time.Duration(minutes) * time.Minute, Do: do}
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
		"both":            {simulation.Nodes{Zone: "b", Labels: "topology.kubernetes.io/region", Count: 1}, []string{"b-000"}},
		"count of all":    {simulation.Nodes{Count: 2}, []string{"a-000", "a-001"}},
		"percent of all":  {simulation.Nodes{Percent: 100}, []string{"a-000", "a-001", "a-002", "a-003", "b-000", "b-001", "b-002", "b-003"}},
		"by a seed":       {simulation.Nodes{Count: 2, Seed: 1}, []string{"b-001", "b-000"}},
		"another":         {simulation.Nodes{Count: 2, Seed: 3}, []string{"b-003", "a-002"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, lines := play(t, zones(at(1, simulation.Cordon(c.nodes))))
			require.Equal(t, [][]string{c.touched}, touched(lines))
		})
	}
}

// Each action has its effect on the world.
func TestActionsHappen(t *testing.T) {
	a0 := simulation.Nodes{Names: []string{"a-000"}}
	noExecute := v1.Taint{Key: "mine", Value: "x", Effect: v1.TaintEffectNoExecute}
	added := node("new", "a", cpus("1"))
	added.Labels[v1.LabelTopologyRegion] = "r"
	added.Spec.Taints = []v1.Taint{{Key: "gpu", Effect: v1.TaintEffectNoSchedule}}
	for name, c := range map[string]struct {
		events []simulation.Event
		kind   string
		lines  []string
		check  func(*testing.T, *simulation.Report)
	}{
		"Fail, Recover": {
			[]simulation.Event{at(1, simulation.Fail(a0)), at(3, simulation.Recover(a0))}, "taint", nil,
			func(t *testing.T, r *simulation.Report) {
				require.Equal(t, []int{1, 1, 1, 0}, []int{r.KubeletFailures, r.UnknownNodes, r.Taints, r.Evicted})
				require.InDelta(t, 2*2./60, r.PodHoursLost, 1e-9)
			},
		},
		"Partition": {
			[]simulation.Event{at(1, simulation.Partition(a0, 0.5)), at(3, simulation.Recover(a0))}, "taint", nil,
			func(t *testing.T, r *simulation.Report) {
				require.Equal(t, []int{1, 0}, []int{r.Taints, r.Evicted})
				require.InDelta(t, 2./60, r.PodHoursLost, 1e-9, "half of the world reaches them")
			},
		},
		"Condition": {
			[]simulation.Event{at(1, simulation.Condition(a0, v1.NodeReady, v1.ConditionFalse))}, "evict",
			[]string{"6m0s a-000 a-000-p0", "6m0s a-000 a-000-p1"}, nil,
		},
		"Taint":   {[]simulation.Event{at(1, simulation.Taint(a0, noExecute))}, "evict", []string{"1m0s a-000 a-000-p0", "1m0s a-000 a-000-p1"}, nil},
		"Untaint": {[]simulation.Event{at(1, simulation.Taint(a0, noExecute)), at(1, simulation.Untaint(a0, "mine", v1.TaintEffectNoExecute))}, "evict", nil, nil},
		"Cordon, Uncordon": {
			[]simulation.Event{at(1, simulation.Cordon(a0)), at(2, simulation.Uncordon(a0))}, "taint",
			[]string{"1m0s a-000 ", "2m0s a-000 "}, nil,
		},
		"Drain": {
			[]simulation.Event{at(1, simulation.Drain(a0))}, "schedule",
			[]string{"1m10s a-001 a-000-p0-r1", "1m10s a-002 a-000-p1-r1"}, func(t *testing.T, r *simulation.Report) { require.Equal(t, 2, r.Drained) },
		},
		"DeleteNodes": {
			[]simulation.Event{at(1, simulation.DeleteNodes(a0))}, "schedule",
			[]string{"1m10s a-001 a-000-p1-r1", "1m10s a-002 a-000-p0-r1"}, func(t *testing.T, r *simulation.Report) { require.Equal(t, 3, r.Zones[0].Nodes) },
		},
		"ReplaceNodes": {
			[]simulation.Event{at(1, simulation.ReplaceNodes(a0, time.Second))}, "schedule",
			[]string{"1m10s a-000 a-000-p0-r1", "1m10s a-000 a-000-p1-r1"}, func(t *testing.T, r *simulation.Report) { require.Equal(t, 4, r.Zones[0].Nodes) },
		},
		"AddNode": {
			[]simulation.Event{at(1, simulation.AddNode(added)), at(2, simulation.Cordon(simulation.Nodes{Zone: "r:a", Labels: "pool=p-a"})), at(3, simulation.Untaint(simulation.Nodes{Zone: "r:a"}, "gpu", v1.TaintEffectNoSchedule))},
			"taint", []string{"2m0s new "}, nil,
		},
		"DeletePod": {
			[]simulation.Event{at(1, simulation.Fail(a0)), at(2, simulation.DeletePod(evictor.PodKey{Namespace: "default", Name: "a-000-p1"}))}, "evict",
			[]string{"6m45s a-000 a-000-p0"}, func(t *testing.T, r *simulation.Report) { require.Equal(t, 2, r.TerminatingAtEnd) },
		},
		"ForceDeletePod": {
			[]simulation.Event{at(1, simulation.Fail(a0)), at(2, simulation.ForceDeletePod(evictor.PodKey{Namespace: "default", Name: "a-000-p1"}))}, "evict",
			[]string{"6m45s a-000 a-000-p0"}, func(t *testing.T, r *simulation.Report) { require.Equal(t, 1, r.TerminatingAtEnd) },
		},
		"APIDown, APIUp": {
			[]simulation.Event{at(1, simulation.APIDown()), at(1, simulation.Cordon(a0)), {At: 80 * time.Second, Do: simulation.APIUp()}}, "taint",
			[]string{"1m21.3s a-000 "}, nil,
		},
		"APISlow": {[]simulation.Event{at(1, simulation.APISlow(3*time.Second)), at(1, simulation.Cordon(a0))}, "taint", []string{"1m3s a-000 "}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r, lines := play(t, zones(c.events...))
			if c.lines != nil || c.check == nil {
				require.Equal(t, c.lines, of(lines, c.kind))
			}
			if c.check != nil {
				c.check(t, r)
			}
			for i, e := range c.events {
				require.Contains(t, texts(lines), e.Do.String(), "event %d", i+1)
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

// Play reports every fault of a scenario before anything happens.
func TestFaultsAreNamed(t *testing.T) {
	a := simulation.Nodes{Zone: "a"}
	good := func(change func(*simulation.Scenario)) simulation.Scenario {
		s := zones()
		s.Nodes = []*v1.Node{node("x", "x", nil)}
		change(&s)
		return s
	}
	event := func(do simulation.Action) simulation.Scenario {
		return good(func(s *simulation.Scenario) { s.Events = []simulation.Event{at(1, simulation.Cordon(a)), at(2, do)} })
	}
	for want, s := range map[string]simulation.Scenario{
		"until: 0s is not positive":             good(func(s *simulation.Scenario) { s.Until = 0 }),
		"leaseInterval: -1s is negative":        good(func(s *simulation.Scenario) { s.LeaseInterval = -time.Second }),
		"statusInterval: -1s is negative":       good(func(s *simulation.Scenario) { s.StatusInterval = -time.Second }),
		"config: nodeEvictionRate":              good(func(s *simulation.Scenario) { s.Config = evictor.DefaultConfig(); s.Config.NodeEvictionRate = -1 }),
		"nodes[1]: node x already exists":       good(func(s *simulation.Scenario) { s.Nodes = append(s.Nodes, s.Nodes[0]) }),
		"nodes[1]: is nil":                      good(func(s *simulation.Scenario) { s.Nodes = append(s.Nodes, nil) }),
		"nodes[1]: metadata.name is missing":    good(func(s *simulation.Scenario) { s.Nodes = append(s.Nodes, &v1.Node{}) }),
		"pods[0]: is nil":                       good(func(s *simulation.Scenario) { s.Pods = []*v1.Pod{nil} }),
		"pods[0]: metadata.name is missing":     good(func(s *simulation.Scenario) { s.Pods = []*v1.Pod{{}} }),
		"pods[1]: pod default/p already exists": good(func(s *simulation.Scenario) { s.Pods = []*v1.Pod{pod("p", "x", "", ""), pod("p", "", "", "")} }),
		"pods[1]: pod default/q already exists": good(func(s *simulation.Scenario) { s.Pods = []*v1.Pod{pod("q", "", "", ""), pod("q", "", "", "")} }),
		"budgets[0]: is nil":                    good(func(s *simulation.Scenario) { s.Budgets = []*policyv1.PodDisruptionBudget{nil} }),
		"budgets[0]: spec: minAvailable and": good(func(s *simulation.Scenario) {
			b := budgetOf("web", 1)
			b.Spec.MaxUnavailable = b.Spec.MinAvailable
			s.Budgets = []*policyv1.PodDisruptionBudget{b}
		}),
		"workloads[0]: is nil":                                   good(func(s *simulation.Scenario) { s.Workloads = []runtime.Object{nil} }),
		"workloads[0]: metadata.name":                            good(func(s *simulation.Scenario) { s.Workloads = []runtime.Object{deployment("", 1, "1")} }),
		"workloads[0]: Deployment web: replicas: -1 is negative": good(func(s *simulation.Scenario) { s.Workloads = []runtime.Object{deployment("web", -1, "1")} }),
		"workloads[0]: *v1.Node is not a Deployment":             good(func(s *simulation.Scenario) { s.Workloads = []runtime.Object{&v1.Node{}} }),
		`zone 3 (""): name is missing`:                           good(func(s *simulation.Scenario) { s.Zones = append(s.Zones, simulation.Zone{Nodes: 1}) }),
		`zone 3 ("c"): nodes: -1 is negative`:                    good(func(s *simulation.Scenario) { s.Zones = append(s.Zones, simulation.Zone{Name: "c", Nodes: -1}) }),
		"traces[0]: gap: 500ms": good(func(s *simulation.Scenario) {
			s.Traces = []simulation.Trace{{Zone: "a", Gap: time.Second / 2, Alive: []int{1}}}
		}),
		"traces[0]: alive: data is empty": good(func(s *simulation.Scenario) { s.Traces = []simulation.Trace{{Zone: "a", Gap: time.Second}} }),
		`availability 1: zone "q"`: good(func(s *simulation.Scenario) {
			s.Traces = []simulation.Trace{{Zone: "q", Gap: time.Second, Alive: []int{1}}}
		}),
		"event 2 (at 2m0s): has no action":                                       event(simulation.Action{}),
		"event 2 (at 2m0s): nodes: nothing is selected":                          event(simulation.Fail(simulation.Nodes{})),
		`event 2 (at 2m0s): fail: zone "q" does not exist`:                       event(simulation.Fail(simulation.Nodes{Zone: "q"})),
		`event 2 (at 2m0s): fail: node "q" does not exist`:                       event(simulation.Fail(simulation.Nodes{Names: []string{"q"}})),
		"event 2 (at 2m0s): fail: count: 9 is more than":                         event(simulation.Fail(simulation.Nodes{Zone: "a", Count: 9})),
		"event 2 (at 2m0s): fail: count: -1 is negative":                         event(simulation.Fail(simulation.Nodes{Zone: "a", Count: -1})),
		"event 2 (at 2m0s): drain: percent: 101 is outside":                      event(simulation.Drain(simulation.Nodes{Percent: 101})),
		"event 2 (at 2m0s): cordon: selector \"=\"":                              event(simulation.Cordon(simulation.Nodes{Labels: "="})),
		"event 2 (at 2m0s): partition: clients: 2 is outside":                    event(simulation.Partition(a, 2)),
		"event 2 (at 2m0s): condition: type is missing":                          event(simulation.Condition(a, "", v1.ConditionTrue)),
		"event 2 (at 2m0s): taint: effect: \"\" is not one of":                   event(simulation.Taint(a, v1.Taint{Key: "k"})),
		"event 2 (at 2m0s): replaceNode: after: -1s is negative":                 event(simulation.ReplaceNodes(a, -time.Second)),
		"event 2 (at 2m0s): addNode: the node is nil":                            event(simulation.AddNode(nil)),
		"event 2 (at 2m0s): addNode: node \"x\" already exists":                  event(simulation.AddNode(node("x", "x", nil))),
		"event 2 (at 2m0s): deletePod: pod \"default/none\" does not exist":      event(simulation.DeletePod(evictor.PodKey{Namespace: "default", Name: "none"})),
		"event 2 (at 2m0s): api: latency: 0s is not positive":                    event(simulation.APISlow(0)),
		"event 1: at: -1m0s is negative":                                         good(func(s *simulation.Scenario) { s.Events = []simulation.Event{at(-1, simulation.Cordon(a))} }),
		"controller 1: its Start returned nil":                                   good(func(*simulation.Scenario) {}),
		"budgets[0]: \"1x\" is neither a number nor a percentage":                good(func(s *simulation.Scenario) { s.Budgets = []*policyv1.PodDisruptionBudget{badBudget()} }),
		"simulation: until: -1s is not positive\nleaseInterval: -1s is negative": good(func(s *simulation.Scenario) { s.Until, s.LeaseInterval = -time.Second, -time.Second }),
	} {
		t.Run(want, func(t *testing.T) {
			var controllers []simulation.Start
			if strings.HasPrefix(want, "controller") {
				controllers = append(controllers, func(*simulation.World) (simulation.Controller, error) { return nil, nil })
			}
			r, err := simulation.Play(context.Background(), s, controllers...)
			require.ErrorContains(t, err, want)
			require.True(t, strings.HasPrefix(err.Error(), "simulation: "), "%v", err)
			require.Nil(t, r)
		})
	}
}

func badBudget() *policyv1.PodDisruptionBudget {
	b := budgetOf("web", 1)
	b.Spec.MinAvailable.Type, b.Spec.MinAvailable.StrVal = 1, "1x"
	return b
}

// AddNode also takes the zone from the deprecated labels.
func TestAddedNodesAreWhereTheirLabelsSay(t *testing.T) {
	old := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "old", Labels: map[string]string{v1.LabelFailureDomainBetaZone: "a", v1.LabelFailureDomainBetaRegion: "r9"}}}
	_, lines := play(t, zones(at(1, simulation.AddNode(old)), at(2, simulation.Cordon(simulation.Nodes{Zone: "r9:a"}))))
	require.Equal(t, [][]string{nil, {"old"}}, touched(lines))
	require.Len(t, old.Labels, 2)
	require.Equal(t, "an invalid action (addNode: the node is nil)", simulation.AddNode(nil).String())
}
