package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/examples/evictsim/outcome"
)

// The embedded scenario, as Go values, is the same simulation: byte for byte in the timeline, and in every figure that both
// have.
func TestTheLibraryPlaysTheSame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "timeline.jsonl")
	text, _, err := simulate(t, "-o", "json", "--quiet", "--timeline", path)
	require.NoError(t, err)
	want, err := os.ReadFile(path)
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
			{At: 5 * time.Minute, Fail: &simulation.Nodes{Zone: "a"}},
			{At: 15 * time.Minute, Recover: &simulation.Nodes{Zone: "a"}},
			{At: 25 * time.Minute, Fail: &simulation.Nodes{Zone: "b", Count: 40}},
			{At: 40 * time.Minute, Recover: &simulation.Nodes{Zone: "b"}},
		},
		Until:    50 * time.Minute,
		Timeline: timeline.To(&lines),
	})
	require.NoError(t, err)
	require.Equal(t, string(want), lines.String())
	requireFigures(t, o.Figures, *r)
	require.Positive(t, r.Evicted)
	require.Equal(t, o.Cancelled, r.Cancelled)
	require.Len(t, r.Zones, len(o.Zones))
	for i, z := range r.Zones {
		require.Equal(t, o.Zones[i].Name, z.Name)
		requireFigures(t, o.Zones[i].Figures, z)
	}
	require.Len(t, r.Workloads, len(o.Workloads))
	for i, w := range r.Workloads {
		require.Equal(t, o.Workloads[i].Name, w.Namespace+"/"+w.Kind+"/"+w.Name)
		requireFigures(t, o.Workloads[i].Figures, w)
	}
}

// requireFigures compares all figures with the fields of their names.
func requireFigures(t *testing.T, figures map[string]float64, report any) {
	t.Helper()
	of := reflect.ValueOf(report)
	require.NotEmpty(t, figures)
	for name, value := range figures {
		field := of.FieldByName(strings.ToUpper(name[:1]) + strings.TrimSuffix(name[1:], "Seconds"))
		require.True(t, field.IsValid(), name)
		switch is := field.Interface().(type) {
		case int:
			require.InDelta(t, value, is, 0, name)
		case float64:
			require.InDelta(t, value, is, 0, name)
		case time.Duration:
			require.InDelta(t, value, is.Seconds(), 0, name)
		}
	}
}
