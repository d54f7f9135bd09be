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
		{At: time.Minute, AddPod: &AddPod{Name: "new", Node: "f1"}},
		{At: 2 * time.Minute, DeleteNode: named("f1")},
		{At: 3 * time.Minute, AddNode: &AddNode{Name: "f1", Zone: "a", Region: "r2"}},
		{At: 4 * time.Minute, AddPod: &AddPod{Name: "new", Node: "f1"}},
		{At: 4 * time.Minute, AddPod: &AddPod{Name: "x", Node: "f1"}},
	}
	require.NoError(t, checkedOn(files(t), s))
	s.Events = append(s.Events, Event{At: 4 * time.Minute, AddPod: &AddPod{Name: "x", Node: "f1"}})
	require.EqualError(t, checkedOn(files(t), s), `event 6 (at 4m0s): addPod: pod "x" already exists`)
}

// A trace decides after the events of an instant. Until then a new node is alive, and a silent one stays silent.
func TestNodesThatComeAndGoAtTheInstantOfAConditionOnADrivenZone(t *testing.T) {
	s := sound()
	condition := func(node string) *Condition {
		return &Condition{Nodes: Nodes{Names: []string{node}}, Type: "Ready", Status: "True"}
	}
	s.Events = []Event{
		{At: 11 * time.Minute, DeleteNode: named("c-000")},
		{At: 11 * time.Minute, AddNode: &AddNode{Name: "c-004", Zone: "c"}},
		{At: 11 * time.Minute, Condition: condition("c-004")},
		{At: 11 * time.Minute, Condition: condition("c-001")},
		{At: 12 * time.Minute, Condition: condition("c-001")},
		{At: 12 * time.Minute, Condition: condition("c-004")},
	}
	require.EqualError(t, checked(s), `event 4 (at 11m0s): condition: node "c-001" has failed: only a live kubelet reports conditions
event 6 (at 12m0s): condition: node "c-004" has failed: only a live kubelet reports conditions`)
}

func TestAddedPodsAreBounded(t *testing.T) {
	s := sound()
	s.Zones = append(s.Zones, Zone{Name: "d", Nodes: 999, PodsPerNode: maxPodsPerNode})
	s.Events = []Event{{At: 0, AddNode: &AddNode{Name: "one", PodsPerNode: 50_000}}}
	require.NoError(t, checked(s))
	s.Events = append(s.Events, Event{At: 0, AddNode: &AddNode{Name: "two", PodsPerNode: 50_000}})
	require.EqualError(t, checked(s), `event 2 (at 0s): addNode: podsPerNode: this makes 100000033 generated pods; at most 100000000 are allowed`)
}

// BenchmarkManyDeletedPodsAndAddedNodes would take minutes if the cost grew with the product of the two.
func BenchmarkManyDeletedPodsAndAddedNodes(b *testing.B) {
	const n = 20_000
	s := sound()
	s.Zones = append(s.Zones, Zone{Name: "d", Nodes: 1, PodsPerNode: n})
	for i := range n {
		s.Events = append(s.Events, Event{At: 0, DeletePod: &Pod{Name: podNameOf("d-000", i)}})
	}
	for i := range n {
		s.Events = append(s.Events, Event{At: 0, AddNode: &AddNode{Name: fmt.Sprint("e-", i), Zone: "e"}})
	}
	for i := 0; i < b.N; i++ {
		require.NoError(b, checked(s))
	}
}
