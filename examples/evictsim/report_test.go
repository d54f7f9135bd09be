package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestReportIsOneFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out.html")
	_, _, err := simulate(t, "--report", file, "--quiet")
	require.NoError(t, err)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Less(t, len(text), 2<<20)
	require.NotContains(t, string(text), "%%", "every part is in its place")
	require.Contains(t, string(text), `{"text":"fail zone a at 5m for 10m","spans":[[300,900]],"zones":["r1:a"]}`)
	require.Contains(t, string(text), "slowed to one node every 1m40s")
	for _, args := range [][]string{{"--report", "-"}, {"explain", "--node", "a-000", "--report", file}, {"--report", file, "--timeline", file}} {
		_, _, err = simulate(t, args...)
		require.Equal(t, 64, exitCode(err), args)
	}
}

// TestStoriesHaveABound: the stories of the nodes that failed last are left out completely, and counted.
func TestStoriesHaveABound(t *testing.T) {
	s := newStories()
	text := strings.Repeat("x", storyBytes/10)
	for round := range 5 {
		for _, node := range []string{"a", "b", "c"} {
			s.add(node, time.Duration(round), text, "")
		}
	}
	told, untold := s.told()
	require.Len(t, told["a"], 5)
	require.NotContains(t, told, "c")
	require.Equal(t, 3-len(told), untold)
	require.LessOrEqual(t, s.bytes, storyBytes)
}

// A page tells of a pod what explain tells: that a drain evicted it, and which pod replaced it, although that is on another node.
func TestStoriesOfPodsEndWithTheirReplacements(t *testing.T) {
	file := scenarioFile(t, "cluster: {zones: [{name: a, nodes: 3, podsPerNode: 1}]}\nevents: [{at: 1m, drain: {node: a-000}}]\nreschedule: {after: 5s}\nuntil: 2m\n")
	page, lines := filepath.Join(t.TempDir(), "out.html"), filepath.Join(t.TempDir(), "lines")
	_, _, err := simulate(t, "--scenario", file, "--report", page, "--timeline", lines, "--quiet")
	require.NoError(t, err)
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Regexp(t, `"a-000":\[.*{"at":60,"text":"pod default/a-000-p0: evicted by the drain","pod":"default/a-000-p0"}.*`+
		`{"at":65,"text":"pod default/a-000-p0 is replaced by default/a-000-p0-r1 on node a-00[12]","pod":"default/a-000-p0"}\]`, string(text))
	written, err := os.ReadFile(lines)
	require.NoError(t, err)
	require.Contains(t, string(written), `"kind":"drain","node":"a-000","pod":"a-000-p0"`, "the file has them, too")
}

// Pods that wait for one with a lower ordinal are told beside those that are Pending.
func TestHeldPodsAreTold(t *testing.T) {
	file := scenarioFile(t, `
cluster: {zones: [{name: a, nodes: 3}]}
events:
- {at: 0, addPod: {name: web-0, node: a-000, owner: StatefulSet/web}}
- {at: 0, addPod: {name: web-1, node: a-001, owner: StatefulSet/web}}
- {at: 1m, fail: {node: a-000}}
- {at: 20m, drain: {node: a-001}}
reschedule: {after: 5s}
until: 1h
`)
	page := filepath.Join(t.TempDir(), "out.html")
	story, _, err := simulate(t, "--scenario", file, "--report", page)
	require.NoError(t, err)
	require.Contains(t, story, "\n1 held at the end, 1 at the peak: not created, because one with a lower ordinal is not Running and Ready")
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Regexp(t, `"held":\[0,[0,]*1,1`, string(text))
	require.Contains(t, string(text), `"mostHeld":1`)
}
