package simulation

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A deleted node took its pods along: a new node of its name has none of them.
func TestPodsOfADeletedNodeDoNotComeBackWithItsName(t *testing.T) {
	s := sound()
	s.Events = []Event{
		{At: after(time.Minute), AddPod: &AddPod{Name: "new", Node: "f1"}},
		{At: after(2 * time.Minute), DeleteNode: &Selector{Node: "f1"}},
		{At: after(3 * time.Minute), AddNode: &AddNode{Name: "f1", Zone: "a", Region: "r2"}},
		{At: after(4 * time.Minute), AddPod: &AddPod{Name: "new", Node: "f1"}},
		{At: after(4 * time.Minute), AddPod: &AddPod{Name: "x", Node: "f1"}},
	}
	require.NoError(t, s.Check(files()))
	s.Events = append(s.Events, Event{At: after(4 * time.Minute), AddPod: &AddPod{Name: "x", Node: "f1"}})
	require.EqualError(t, s.Check(files()), `event 6 (at 4m0s): addPod: pod "x" already exists`)
}

// A trace decides after the events of an instant. Until then a new node is alive, and a silent one stays silent.
func TestNodesThatComeAndGoAtTheInstantOfAConditionOnADrivenZone(t *testing.T) {
	s := sound()
	condition := func(node string) *Condition {
		return &Condition{Selector: Selector{Node: node}, Type: "Ready", Status: "True"}
	}
	s.Events = []Event{
		{At: after(11 * time.Minute), DeleteNode: &Selector{Node: "c-000"}},
		{At: after(11 * time.Minute), AddNode: &AddNode{Name: "c-004", Zone: "c"}},
		{At: after(11 * time.Minute), Condition: condition("c-004")},
		{At: after(11 * time.Minute), Condition: condition("c-001")},
		{At: after(12 * time.Minute), Condition: condition("c-001")},
		{At: after(12 * time.Minute), Condition: condition("c-004")},
	}
	require.EqualError(t, s.Check(nil), `event 4 (at 11m0s): condition: node "c-001" has failed: only a live kubelet reports conditions
event 6 (at 12m0s): condition: node "c-004" has failed: only a live kubelet reports conditions`)
}

func TestAddedPodsAreBounded(t *testing.T) {
	s := sound()
	s.Cluster.Zones = append(s.Cluster.Zones, Zone{Name: "d", Nodes: 999, PodsPerNode: MaxPodsPerNode})
	s.Events = []Event{{At: after(0), AddNode: &AddNode{Name: "one", PodsPerNode: 50_000}}}
	require.NoError(t, s.Check(nil))
	s.Events = append(s.Events, Event{At: after(0), AddNode: &AddNode{Name: "two", PodsPerNode: 50_000}})
	require.EqualError(t, s.Check(nil), `event 2 (at 0s): addNode: podsPerNode: this makes 100000033 generated pods; at most 100000000 are allowed`)
}

// BenchmarkManyDeletedPodsAndAddedNodes would take minutes if the cost grew with the product of the two.
func BenchmarkManyDeletedPodsAndAddedNodes(b *testing.B) {
	const n = 20_000
	s := sound()
	s.Cluster.Zones = append(s.Cluster.Zones, Zone{Name: "d", Nodes: 1, PodsPerNode: n})
	for i := range n {
		s.Events = append(s.Events, Event{At: after(0), DeletePod: &DeletePod{Name: PodName("d-000", i)}})
	}
	for i := range n {
		s.Events = append(s.Events, Event{At: after(0), AddNode: &AddNode{Name: fmt.Sprint("e-", i), Zone: "e"}})
	}
	for i := 0; i < b.N; i++ {
		require.NoError(b, s.Check(nil))
	}
}
