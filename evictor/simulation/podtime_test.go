package simulation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/evictkit/evictkit/evictor/simulation"
)

// starting is a Deployment of two pods of which a budget lets one go at a time, on two of four nodes that are drained at a minute.
func starting(ready time.Duration, events ...simulation.Event) simulation.Scenario {
	s := simulation.Scenario{
		Pods:    []*v1.Pod{pod("web-0", "a", "ReplicaSet", "web"), pod("web-1", "b", "ReplicaSet", "web")},
		Objects: []runtime.Object{budgetOf("web", 1)}, ReadyAfter: ready, Until: 10 * time.Minute,
		Events: append(events, simulation.Event{At: time.Minute, Drain: &simulation.Drain{Nodes: simulation.Nodes{Names: []string{"a", "b"}}}}),
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		s.Nodes = append(s.Nodes, node(name, "z", nil))
	}
	return s
}

// A budget holds back the next pod of a drain until the replacement of the last one is Ready.
func TestADrainWaitsUntilReplacementsAreReady(t *testing.T) {
	fails := simulation.Event{At: 80 * time.Second, Fail: &simulation.Nodes{Names: []string{"c"}}}
	back := simulation.Event{At: 3 * time.Minute, Recover: &simulation.Nodes{Names: []string{"c"}}}
	for name, c := range map[string]struct {
		ready  time.Duration
		events []simulation.Event
		want   []string
	}{
		"at once":                        {0, nil, []string{"1m0s a web-0", "1m10s b web-1"}},
		"after a minute":                 {time.Minute, nil, []string{"1m0s a web-0", "2m10s b web-1"}},
		"its node fails while it starts": {time.Minute, []simulation.Event{fails, back}, []string{"1m0s a web-0", "4m0s b web-1"}},
	} {
		r, lines := play(t, starting(c.ready, c.events...))
		require.Equal(t, c.want, of(lines, "drain"), name)
		require.Equal(t, 2, r.Workloads[0].ReadyAtEnd, name)
	}
}

// A deleted pod takes its grace period to end: that of a generated pod always, that of an object if pods take time at all.
func TestADeletedPodTakesItsGracePeriodToEnd(t *testing.T) {
	seconds := int64(30)
	deletes := simulation.Event{At: time.Minute, DeletePod: &simulation.Pod{Name: "db-0"}}
	fails := simulation.Event{At: 70 * time.Second, Fail: &simulation.Nodes{Names: []string{"a"}}}
	back := func(at time.Duration) simulation.Event {
		return simulation.Event{At: at, Recover: &simulation.Nodes{Names: []string{"a"}}}
	}
	for name, c := range map[string]struct {
		ready  time.Duration
		events []simulation.Event
		gone   time.Duration
	}{
		"pods take no time":     {0, []simulation.Event{deletes}, time.Minute},
		"they do":               {time.Second, []simulation.Event{deletes}, 90 * time.Second},
		"deleted again":         {time.Second, []simulation.Event{deletes, {At: 65 * time.Second, DeletePod: deletes.DeletePod}}, 90 * time.Second},
		"by force":              {time.Second, []simulation.Event{deletes, {At: 65 * time.Second, ForceDelete: deletes.DeletePod}}, 65 * time.Second},
		"the node fails":        {time.Second, []simulation.Event{deletes, fails, back(5 * time.Minute)}, 5 * time.Minute},
		"and is back meanwhile": {time.Second, []simulation.Event{deletes, fails, back(80 * time.Second)}, 90 * time.Second},
		"deleted while silent":  {time.Second, []simulation.Event{{At: 50 * time.Second, Fail: fails.Fail}, deletes, back(80 * time.Second)}, 80 * time.Second},
	} {
		db := pod("db-0", "a", "StatefulSet", "db")
		db.Spec.TerminationGracePeriodSeconds = &seconds
		s := simulation.Scenario{Nodes: []*v1.Node{node("a", "z", nil), node("b", "z", nil)}, Pods: []*v1.Pod{db}, ReadyAfter: c.ready, Events: c.events, Until: 10 * time.Minute}
		_, lines := play(t, s)
		require.Len(t, of(lines, "schedule"), 1, name)
		for _, l := range lines {
			if l.Kind == "schedule" {
				require.Equal(t, (c.gone + 10*time.Second).Seconds(), l.T, name)
			}
		}
	}
	s := simulation.Scenario{Zones: []simulation.Zone{{Name: "a", Nodes: 2, PodsPerNode: 1}}, Events: []simulation.Event{{At: time.Minute, Drain: &simulation.Drain{Nodes: simulation.Nodes{Count: 1}}}}, Until: 70 * time.Second}
	s.Zones[0].Pod.TerminationGracePeriodSeconds = 30
	r, _ := play(t, s)
	require.Equal(t, 1, r.TerminatingAtEnd)
}

// A machine that fails starts its pods anew when it is back, however soon. While its network alone fails, they start.
func TestAStartBeginsAgain(t *testing.T) {
	on := &simulation.Nodes{Names: []string{"a"}}
	for name, c := range map[string]struct {
		fails simulation.Event
		want  time.Duration
	}{
		"the machine": {simulation.Event{Fail: on}, 100 * time.Second},
		"its network": {simulation.Event{Partition: &simulation.Partition{Nodes: *on}}, 70 * time.Second},
	} {
		c.fails.At = 80 * time.Second
		r, _ := play(t, simulation.Scenario{
			Nodes: []*v1.Node{node("a", "z", nil), node("b", "z", nil)}, Pods: []*v1.Pod{pod("web-0", "b", "ReplicaSet", "web")},
			ReplaceAfter: 10 * time.Second, ReadyAfter: time.Minute, Until: 10 * time.Minute,
			Events: []simulation.Event{{At: time.Minute, DeletePod: &simulation.Pod{Name: "web-0"}}, c.fails, {At: 100 * time.Second, Recover: on}},
		})
		require.Equal(t, 1, r.Workloads[0].ReadyAtEnd)
		require.InDelta(t, c.want.Hours(), r.Workloads[0].PodHoursMissing, time.Second.Hours(), name)
	}
}
