package simulation

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSuccessorsCountOn(t *testing.T) {
	require.Equal(t, "x-r1", successor("x"))
	require.Equal(t, "x-r10", successor("x-r9"))
	require.Regexp(t, reborn, successor("x-r9223372036854775807"))
}

func TestVeryLongPeriods(t *testing.T) {
	const long = 2_500_000 * time.Hour
	s := Scenario{
		LeaseInterval: long, StatusInterval: long,
		Zones:        []Zone{{Name: "a", Nodes: 4, PodsPerNode: 1}},
		Until:        10 * time.Minute,
		ReplaceAfter: -1,
	}
	c := newCluster(clockOf(nil))
	_, err := s.playOn(context.Background(), c)
	require.NoError(t, err)
	for i := range c.nodes {
		require.Zero(t, c.nodes[i].renewed, c.nodes[i].Name)
	}
}

// More pod-hours than a Duration holds are counted.
func TestVeryManyPodHours(t *testing.T) {
	_, r := play(t, Scenario{
		Zones: []Zone{{Name: "a", Nodes: 100, PodsPerNode: 10}}, LeaseInterval: 1000 * time.Hour, StatusInterval: 1000 * time.Hour,
		Events: []Event{{At: 0, Fail: &Nodes{Zone: "a"}}}, Until: 9000 * time.Hour, ReplaceAfter: -1,
	})
	require.InEpsilon(t, 9e6, r.PodHoursMissing, 1e-3)
	require.InEpsilon(t, 9e6, r.PodHoursLost, 1e-3)
}

func TestComebackAfterAVeryLongTime(t *testing.T) {
	_, r := play(t, Scenario{
		Zones:        []Zone{{Name: "a", Nodes: 4, PodsPerNode: 2}},
		Events:       []Event{{At: 2 * time.Minute, Fail: named("a-000")}},
		ReplaceAfter: 1<<63 - 1,
		Until:        10 * time.Minute,
	})
	require.Equal(t, 2, r.Evicted)
	require.Zero(t, r.ReturnedPods)
}
