package simulation

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/internal/scenario"
)

func TestSuccessorsCountOn(t *testing.T) {
	require.Equal(t, "x-r1", successor("x"))
	require.Equal(t, "x-r10", successor("x-r9"))
	require.Regexp(t, reborn, successor("x-r9223372036854775807"))
}

func TestVeryLongPeriods(t *testing.T) {
	long := scenario.Duration(2_500_000 * time.Hour)
	s := &scenario.Scenario{
		Heartbeat: scenario.Heartbeat{Interval: &long, StatusInterval: &long},
		Cluster:   scenario.Cluster{Zones: []scenario.Zone{{Name: "a", Nodes: 4, PodsPerNode: 1}}},
		Until:     at(10 * time.Minute),
	}
	c := New(&Clock{})
	_, err := Play(context.Background(), s, c, Options{})
	require.NoError(t, err)
	for i := range c.nodes {
		require.Zero(t, c.nodes[i].renewed, c.nodes[i].name)
	}
}

func TestComebackAfterAVeryLongTime(t *testing.T) {
	_, r := play(t, &scenario.Scenario{
		Cluster:    scenario.Cluster{Zones: []scenario.Zone{{Name: "a", Nodes: 4, PodsPerNode: 2}}},
		Events:     []scenario.Event{{At: at(2 * time.Minute), Fail: &scenario.Selector{Node: "a-000"}}},
		Reschedule: &scenario.Reschedule{After: at(1<<63 - 1)},
		Until:      at(10 * time.Minute),
	})
	require.Equal(t, 2, r.Evicted)
	require.Zero(t, r.ReturnedPods)
}

func TestSamplesAfterTheEndOfTime(t *testing.T) {
	trace, err := scenario.NewTrace(5_000_000_000, []int{1, 1, 1, 1, 0}) // every 158 years
	require.NoError(t, err)
	d := driver{trace: trace}
	d.drive(nil, 0)
	require.Negative(t, d.at)
}
