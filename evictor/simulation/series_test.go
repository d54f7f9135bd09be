package simulation

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSeries(t *testing.T) {
	s := Scenario{
		LeasesTogether: true,
		Zones:          []Zone{{Name: "a", Nodes: 2, PodsPerNode: 4}, {Name: "b", Nodes: 3}},
		Events: []Event{
			{At: time.Minute, Fail: named("a-000")},
			{At: 10 * time.Minute, Recover: named("a-000")},
			{At: 11 * time.Minute, DeleteNode: named("a-000")},
		},
		Until:        12 * time.Minute,
		ReplaceAfter: -1,
		Points:       12,
	}
	r, err := Play(context.Background(), s)
	require.NoError(t, err)
	series := r.Series
	require.Equal(t, time.Minute, series.Step)
	require.Len(t, series.Zones, 2)
	// Silent from 1m, Unknown and tainted at 1m45s, evicted at 6m45s, back and lifted at 10m, gone at 11m.
	require.Equal(t, []int{2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 1, 1}, series.Zones[":a"][stateLive])
	require.Equal(t, []int{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, series.Zones[":a"][stateSilent])
	require.Equal(t, []int{0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0}, series.Zones[":a"][stateTainted])
	require.Equal(t, []int{3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3}, series.Zones[":b"][stateLive])
	require.Equal(t, []int{0, 0, 0, 0, 0, 0, 0, 4, 4, 4, 4, 4, 4}, series.Evicted)
	require.Equal(t, []int{0, 0, 0, 0, 0, 0, 0, 4, 4, 4, 0, 0, 0}, series.Terminating)
	require.Equal(t, [][]byte{{100, 50, 50, 50}}, series.Workloads)
	require.Len(t, series.Delays, 101)
	require.Equal(t, 345*time.Second, series.Delays[100])
}

// A workload that appears after the last sample of workloads has a series, too.
func TestSeriesOfAWorkloadOfTheLastSeconds(t *testing.T) {
	r, err := Play(context.Background(), Scenario{
		Zones:  []Zone{{Name: "a", Nodes: 2, PodsPerNode: 1}},
		Events: []Event{{At: 329 * time.Second, AddPod: &AddPod{Name: "x", Node: "a-000", PodFields: PodFields{Owner: "Job/late"}}}}, Until: 330 * time.Second, Points: 480,
	})
	require.NoError(t, err)
	require.Len(t, r.Series.Workloads, 2)
}

// What is most, and where events happen, is told exactly, not as of the next step.
func TestSeriesKnowsWhenAPeakBegan(t *testing.T) {
	r, err := Play(context.Background(), Scenario{
		LeasesTogether: true,
		Zones:          []Zone{{Name: "a", Nodes: 4, PodsPerNode: 4}, {Name: "b", Nodes: 3}},
		Events: []Event{
			{At: 61 * time.Second, Fail: &Nodes{Zone: "a", Count: 2}}, {At: 62 * time.Second, Recover: &Nodes{Zone: "a", Count: 1}},
			{At: 5 * time.Minute, DeleteNode: named("b-000")}, {At: 6 * time.Minute, Restart: &Restart{}},
		},
		Until: 12 * time.Minute, ReplaceAfter: -1, Points: 3,
	})
	require.NoError(t, err)
	require.Equal(t, 8, r.Series.Peaks[0])
	require.Equal(t, 61*time.Second, r.Series.PeaksAt[0], "between two steps")
	require.Equal(t, []int{0, 4, 0, 0}, r.Series.Without)
	require.Equal(t, 4, r.Series.Peaks[4])
	require.Equal(t, 415*time.Second, r.Series.PeaksAt[4])
	require.Equal(t, 61*time.Second, r.Zones[0].LowestAt)
	var zones [][]string
	for _, touched := range r.Series.Touched {
		zones = append(zones, touched.Zones)
	}
	require.Equal(t, [][]string{{":a"}, {":a"}, {":b"}}, zones)
}
