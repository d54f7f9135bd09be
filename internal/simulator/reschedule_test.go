package simulator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/internal/scenario"
)

func TestPodsComeBackOnNodesThatStillExist(t *testing.T) {
	_, r := play(t, &scenario.Scenario{
		Cluster: scenario.Cluster{Zones: []scenario.Zone{{Name: "a", Nodes: 4, PodsPerNode: 2, TolerationSeconds: ptr(int64(10))}}},
		Events: []scenario.Event{
			{At: at(time.Minute), DeleteNode: &scenario.NodeRef{Node: "a-001"}},
			{At: at(2 * time.Minute), Fail: &scenario.Selector{Node: "a-000"}},
		},
		Reschedule: &scenario.Reschedule{},
		Until:      at(10 * time.Minute),
	})
	require.Equal(t, 2, r.Evicted)
	require.Equal(t, 2, r.Rescheduled)
	require.Zero(t, r.Waiting)
}

func TestPodsThatFoundNoNodeAreTriedAtEachPass(t *testing.T) {
	lines, r := play(t, &scenario.Scenario{
		Cluster: scenario.Cluster{Zones: []scenario.Zone{{Name: "a", Nodes: 1, PodsPerNode: 1}, {Name: "b", Nodes: 1}}},
		Events: []scenario.Event{
			{At: at(0), Cordon: &scenario.NodeRef{Node: "b-000"}},
			{At: at(time.Minute), Fail: &scenario.Selector{Node: "a-000"}},
			{At: at(5*time.Minute + time.Second), Uncordon: &scenario.NodeRef{Node: "b-000"}},
		},
		Reschedule: &scenario.Reschedule{},
		Until:      at(10 * time.Minute),
	})
	require.Equal(t, 1, r.Rescheduled)
	require.Contains(t, lines, `{"t":305.000,"kind":"schedule","node":"b-000","pod":"a-000-p0-r1"}`)
}
