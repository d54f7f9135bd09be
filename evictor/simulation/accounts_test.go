package simulation_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation"
)

// Pods that nothing recreates are counted and named, whatever deletes them.
func TestPodsThatNobodyRecreatesAreLostForGood(t *testing.T) {
	a, one := simulation.Nodes{Names: []string{"a-000"}}, evictor.PodKey{Namespace: "default", Name: "a-000-p0"}
	for name, c := range map[string]struct {
		event simulation.Event
		owner simulation.Owner
		never bool // nothing comes back, by the scenario
		want  []evictor.PodKey
	}{
		"evicted":                    {simulation.Event{Fail: &a}, simulation.NoOwner, false, []evictor.PodKey{one}},
		"drained":                    {simulation.Event{Drain: &simulation.Drain{Nodes: a, Bare: "evict"}}, simulation.NoOwner, false, []evictor.PodKey{one}},
		"on a deleted node":          {simulation.Event{DeleteNode: &a}, simulation.NoOwner, false, []evictor.PodKey{one}},
		"without replacements":       {simulation.Event{Fail: &a}, simulation.NoOwner, true, []evictor.PodKey{one}},
		"a controller recreates it":  {simulation.Event{Fail: &a}, "", false, nil},
		"but not in this simulation": {simulation.Event{Fail: &a}, "", true, nil},
	} {
		c.event.At = time.Minute
		s := simulation.Scenario{Zones: []simulation.Zone{{Name: "a", Nodes: 3, PodsPerNode: 1, DaemonSetPodsPerNode: 1}}, Events: []simulation.Event{c.event}, Until: 20 * time.Minute}
		s.Zones[0].Pod.Owner = c.owner
		if c.never {
			s.ReplaceAfter = -1
		}
		r, _ := play(t, s)
		require.Equal(t, c.want, r.LostPods, name)
		require.Equal(t, len(c.want), r.LostForGood, name)
	}
}

// A report names some of many pods.
func TestOnlyTheFirstPodsThatAreLostAreNamed(t *testing.T) {
	s := simulation.Scenario{
		Zones:  []simulation.Zone{{Name: "a", Nodes: 3, PodsPerNode: 15, Pod: simulation.PodFields{Owner: simulation.NoOwner}}},
		Events: []simulation.Event{{At: time.Minute, Drain: &simulation.Drain{Nodes: simulation.Nodes{Count: 2}, Bare: "evict"}}}, Until: 5 * time.Minute,
	}
	r, _ := play(t, s)
	require.Equal(t, 30, r.LostForGood)
	require.Len(t, r.LostPods, 20)
}

// What was still on a node when it was deleted has died with it.
func TestPodsDieWithTheirNodes(t *testing.T) {
	for name, c := range map[string]struct {
		event simulation.Event
		want  int
	}{
		"deleted":       {simulation.Event{DeleteNode: &simulation.Nodes{Count: 2}}, 4},
		"replaced":      {simulation.Event{ReplaceNode: &simulation.ReplaceNode{Nodes: simulation.Nodes{Count: 2}, After: 2 * time.Minute}}, 4},
		"drained first": {simulation.Event{Roll: &simulation.Roll{Nodes: simulation.Nodes{Count: 2}}}, 0},
	} {
		c.event.At = time.Minute
		s := simulation.Scenario{Zones: []simulation.Zone{{Name: "a", Nodes: 3, PodsPerNode: 2, DaemonSetPodsPerNode: 1}}, Events: []simulation.Event{c.event}, Until: 5 * time.Minute}
		r, _ := play(t, s)
		require.Equal(t, c.want, r.DiedWithNodes, name)
		require.Zero(t, r.Evicted, name)
	}
}

// Pods of DaemonSets are in no figure but the one that counts them.
func TestPodsOfDaemonSetsAreInNoOtherFigure(t *testing.T) {
	of := func(daemons int) map[string]float64 {
		s := simulation.Scenario{Zones: []simulation.Zone{{Name: "a", Nodes: 4, PodsPerNode: 2, DaemonSetPodsPerNode: daemons}, {Name: "b", Nodes: 4}}, Until: 40 * time.Minute}
		some, all := simulation.Nodes{Zone: "a", Count: 2}, simulation.Nodes{Zone: "a"}
		s.Events = []simulation.Event{
			{At: time.Minute, Fail: &some},
			{At: 10 * time.Minute, Taint: &simulation.Taint{Nodes: all, NodeTaint: simulation.NodeTaint{Key: "x", Effect: v1.TaintEffectNoExecute}}},
			{At: 20 * time.Minute, Recover: &some},
			{At: 30 * time.Minute, DeleteNode: &all},
		}
		r, _ := play(t, s)
		figures := map[string]float64{"left": float64(len(r.Left))}
		for _, f := range append(simulation.Figures(r), simulation.Figures(&r.Zones[0])...) {
			figures[f.Name] += f.Value
		}
		require.EqualValues(t, 4*daemons, figures["daemonSetPods"])
		delete(figures, "daemonSetPods")
		return figures
	}
	require.Equal(t, of(0), of(2))
}

// Only pods that some node refuses because it has too little room could preempt others there.
func TestPodsThatSpreadRefusesCouldNotPreempt(t *testing.T) {
	for name, c := range map[string]struct {
		room string // of each node, in CPUs; three are used
		want int
	}{
		"there is room": {"8", 0},
		"there is none": {"3", 1},
	} {
		s := simulation.Scenario{Until: 20 * time.Minute, Events: []simulation.Event{{At: time.Minute, Fail: &simulation.Nodes{Names: []string{"a"}}}}}
		for i, zone := range []string{"a", "b", "c"} {
			s.Nodes = append(s.Nodes, node(zone, zone, cpus(c.room)))
			web, low := pod(fmt.Sprintf("web-%d", i), zone, "ReplicaSet", "web"), pod(fmt.Sprintf("low-%d", i), zone, "ReplicaSet", "low")
			web.Spec, low.Spec.Containers = spread(web.Spec), template("low", "2").Spec.Containers
			s.Pods = append(s.Pods, web, low)
		}
		r, _ := play(t, s)
		require.Positive(t, r.PendingAtEnd, name)
		require.Equal(t, c.want, r.PendingThatCouldPreempt, name)
	}
}

// spread is a pod of priority that asks for a CPU and is spread evenly over the zones.
func spread(s v1.PodSpec) v1.PodSpec {
	high := int32(1000)
	s.Priority, s.Containers = &high, template("web", "1").Spec.Containers
	s.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: budgetOf("web", 1).Spec.Selector,
	}}
	return s
}
