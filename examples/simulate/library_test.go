package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/examples/simulate/outcome"
)

// The embedded scenario, as Go values, is the same simulation: byte for byte in the timeline, and in every figure that both
// have.
func TestTheLibraryPlaysTheSame(t *testing.T) {
	timeline := filepath.Join(t.TempDir(), "timeline.jsonl")
	text, _, err := simulate(t, "-o", "json", "--quiet", "--timeline", timeline)
	require.NoError(t, err)
	want, err := os.ReadFile(timeline)
	require.NoError(t, err)
	var o outcome.Outcome
	require.NoError(t, json.Unmarshal([]byte(text), &o))

	var lines bytes.Buffer
	zone := func(name string) simulation.Zone {
		return simulation.Zone{Name: name, Region: "r1", Nodes: 60, PodsPerNode: 8, DaemonSetPodsPerNode: 1}
	}
	r, err := simulation.Play(context.Background(), simulation.Scenario{
		Zones: []simulation.Zone{zone("a"), zone("b"), zone("c")},
		Events: []simulation.Event{
			{At: 5 * time.Minute, Do: simulation.Fail(simulation.Nodes{Zone: "a"})},
			{At: 15 * time.Minute, Do: simulation.Recover(simulation.Nodes{Zone: "a"})},
			{At: 25 * time.Minute, Do: simulation.Fail(simulation.Nodes{Zone: "b", Count: 40})},
			{At: 40 * time.Minute, Do: simulation.Recover(simulation.Nodes{Zone: "b"})},
		},
		Until:    50 * time.Minute,
		Timeline: &lines,
	})
	require.NoError(t, err)
	require.Equal(t, string(want), lines.String())
	requireFigures(t, o.Figures, map[string]float64{
		"nodes": float64(r.Nodes), "pods": float64(r.Pods), "kubeletFailures": float64(r.Failures), "unknownNodes": float64(r.Unknown),
		"taints": float64(r.Tainted), "podsMarkedNotReady": float64(r.MarkedPods), "mostEndpointsGone": float64(r.MostEndpointsGone),
		"evicted": float64(r.Evicted), "evictedFromLiveNodes": float64(r.EvictedFromLive), "evictedWhileRunning": float64(r.EvictedWhileRunning),
		"drained": float64(r.Drained), "firstEvictionSeconds": r.FirstEviction.Seconds(), "lastEvictionSeconds": r.LastEviction.Seconds(),
		"evictionDelayMedianSeconds": r.MedianDelay.Seconds(), "evictionDelayWorstSeconds": r.WorstDelay.Seconds(),
		"needlessEvictions": float64(r.Needless), "lostEvictions": float64(r.Lost), "returnedPods": float64(r.Returned),
		"pendingAtEnd": float64(r.Pending), "mostPending": float64(r.MostPending),
		"terminatingAtEnd": float64(r.Terminating), "mostTerminating": float64(r.MostTerminating), "podHoursLost": r.PodHoursLost,
	})
	require.Positive(t, r.Evicted)
	require.Equal(t, o.Cancelled, r.Cancelled)
	require.Len(t, r.Zones, len(o.Zones))
	for i, z := range r.Zones {
		require.Equal(t, o.Zones[i].Name, z.Name)
		requireFigures(t, o.Zones[i].Figures, map[string]float64{
			"nodes": float64(z.Nodes), "lowestNodes": float64(z.LowestNodes), "pods": float64(z.Pods), "kubeletFailures": float64(z.Failures),
			"unknownNodes": float64(z.Unknown), "taints": float64(z.Tainted), "evicted": float64(z.Evicted),
			"firstEvictionSeconds": z.FirstEviction.Seconds(), "lastEvictionSeconds": z.LastEviction.Seconds(),
		})
	}
	require.Len(t, r.Workloads, len(o.Workloads))
	for i, w := range r.Workloads {
		require.Equal(t, o.Workloads[i].Name, w.Namespace+"/"+w.Kind+"/"+w.Name)
		requireFigures(t, o.Workloads[i].Figures, map[string]float64{
			"desired": float64(w.Desired), "lowestReady": float64(w.Lowest), "readyAtEnd": float64(w.AtEnd),
			"belowSeconds": w.Below.Seconds(), "belowHalfSeconds": w.BelowHalf.Seconds(), "podHoursLost": w.PodHoursLost,
		})
	}
}

// requireFigures compares those that are there.
func requireFigures(t *testing.T, want, figures map[string]float64) {
	t.Helper()
	for name, value := range figures {
		require.Contains(t, want, name)
		require.InDelta(t, want[name], value, 1e-9, name)
	}
}
