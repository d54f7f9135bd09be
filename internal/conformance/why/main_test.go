package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor/simulation"
)

const lost = `config: {nodeEvictionRate: 0.5}
cluster: {zones: [{name: a, nodes: 6, podsPerNode: 2}, {name: b, nodes: 6, podsPerNode: 2}]}
events:
- {at: 1m, fail: {zone: a}}
- {at: 8m, recover: {zone: a}}
until: 12m
`

// oracle is the program that plays upstream's controllers.
var oracle string

func TestMain(m *testing.M) { os.Exit(tested(m)) }

// tested builds the oracle once: to link all of Kubernetes takes most of a minute.
func tested(m *testing.M) int {
	dir, err := os.MkdirTemp("", "why")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	oracle = filepath.Join(dir, "oracle")
	if out, err := exec.Command("go", "build", "-o", oracle, "../oracle").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// upstream plays a scenario, and returns its timeline and its report.
func upstream(ctx context.Context, t *testing.T, path string) (lines []byte, told simulation.Report) {
	t.Helper()
	report := filepath.Join(t.TempDir(), "report.json")
	lines, err := exec.CommandContext(ctx, oracle, "-report", report, path).Output()
	require.NoError(t, err)
	text, err := os.ReadFile(report)
	require.NoError(t, err)
	answer := struct{ Report *simulation.Report }{&told}
	require.NoError(t, json.Unmarshal(text, &answer))
	return lines, told
}

// Upstream's controllers play what ours play, with pods that come back, and their report agrees with their timeline.
// Every difference has a reason.
func TestUpstreamPlaysAndReports(t *testing.T) {
	path := filepath.Join(t.TempDir(), "scenario.yaml")
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Minute)
	defer stop()
	require.NoError(t, os.WriteFile(path, []byte(lost+"reschedule: {after: 10s}\n"), 0o600))
	timeline, r := upstream(ctx, t, path)
	require.Equal(t, 12, r.Evicted)
	require.Equal(t, 12, bytes.Count(timeline, []byte(`"kind":"evict"`)))
	require.Equal(t, 12, r.ReturnedPods)
	require.Equal(t, 12, r.NeedlessEvictions)
	require.Zero(t, r.LostEvictions)
	require.Len(t, r.Zones, 2)
	require.Equal(t, 12, r.Zones[0].Evicted)
	require.Equal(t, []simulation.Limit(nil), r.Zones[0].Limits, "upstream does not say what it waits for")

	require.NoError(t, os.WriteFile(path, []byte(lost), 0o600))
	answer, err := ask(ctx, oracle, path)
	require.NoError(t, err)
	require.Zero(t, answer.Unexplained, answer.First)
}
