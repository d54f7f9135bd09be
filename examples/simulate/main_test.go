package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// simulate runs the command and returns what it printed.
func simulate(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	err = run(context.Background(), args, &out, &errs)
	return out.String(), errs.String(), err
}

func scenarioFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "scenario.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func TestEmbeddedScenarioTellsItsStory(t *testing.T) {
	story, _, err := simulate(t)
	require.NoError(t, err)
	for _, text := range []string{
		"180 nodes and 1,620 pods, 50m0s of virtual time",
		"r1:a               FullDisruption        0.1/s  0 ready, 60 not",
		"r1:b               PartialDisruption    0.01/s  20 ready, 40 not",
		"evicted, after their node fell silent: median",
		"without a live node",
		"evictions cancelled: the node came back",
	} {
		require.Contains(t, story, text)
	}
}

func TestSameScenarioSameBytes(t *testing.T) {
	first, story, err := simulate(t, "--timeline", "-")
	require.NoError(t, err)
	require.Contains(t, story, "Zones", "the story makes room for the timeline")
	second, _, err := simulate(t, "--timeline", "-", "--seed", "7", "--quiet")
	require.NoError(t, err)
	require.Equal(t, first, second)
	require.True(t, strings.HasPrefix(first, `{"t":0.000,"kind":"zone","zone":"r1:a","state":"Normal","rate":0.100,"ready":60,"notReady":0}`+"\n"))
}

func TestQuietAndUntil(t *testing.T) {
	file := filepath.Join(t.TempDir(), "timeline")
	story, errs, err := simulate(t, "--quiet", "--until", "10s", "--timeline", file)
	require.NoError(t, err)
	require.Empty(t, story+errs)
	lines, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, 3, bytes.Count(lines, []byte("\n")))
}

func TestBadInputNamesThePlace(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"unknown field", "cluster: {zones: []}\nuntill: 5m\n", "untill"},
		{"unknown zone", "cluster: {zones: [{name: a, nodes: 3}]}\nevents:\n- {at: 1m, fail: {zone: b}}\nuntil: 5m\n", "event 1"},
		{"unknown node", "cluster: {zones: [{name: a, nodes: 3}]}\nevents:\n- {at: 1m, cordon: {node: a-9}}\nuntil: 5m\n", "a-9"},
		{"negative duration", "cluster: {zones: [{name: a, nodes: 3}]}\nuntil: -5m\n", "until"},
		{"truncated", "cluster: {zones: [{name: a, nodes: 3}\n", "line"},
		{"missing file", "cluster: {files: [nowhere.yaml]}\nuntil: 5m\n", "nowhere.yaml"},
		{"threshold", "config: {unhealthyZoneThreshold: 0}\ncluster: {zones: [{name: a, nodes: 3}]}\nuntil: 5m\n", "unhealthyZoneThreshold"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := simulate(t, "--scenario", scenarioFile(t, tc.text))
			require.ErrorContains(t, err, tc.want)
		})
	}
	_, _, err := simulate(t, "--until", "-1s")
	require.ErrorContains(t, err, "negative")
	_, _, err = simulate(t, "stray")
	require.ErrorContains(t, err, "stray")
	_, _, err = simulate(t, "--scenario", scenarioFile(t, "#"+strings.Repeat("x", 17<<20)))
	require.ErrorContains(t, err, "16 MiB")
	_, _, err = simulate(t, "--timeline", t.TempDir())
	require.ErrorContains(t, err, "timeline")
}

func TestOddObjects(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "objects.yaml"), []byte(`apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: bare}}
- {apiVersion: v1, kind: Node, metadata: {name: odd}, spec: {taints: [{key: k, effect: Unheard}]}, status: {conditions: [{type: Ready, status: "True"}]}}
- {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeName: bare, tolerations: [{operator: Exists, value: ignored}]}}
- {apiVersion: v1, kind: Pod, metadata: {name: lost}, spec: {nodeName: nowhere}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: skipped}}
`), 0o600))
	file := filepath.Join(dir, "scenario.yaml")
	require.NoError(t, os.WriteFile(file, []byte("cluster: {files: [objects.yaml]}\nevents:\n- {at: 1m, fail: {node: bare}}\nuntil: 10m\n"), 0o600))
	story, _, err := simulate(t, "--scenario", file)
	require.NoError(t, err)
	require.Contains(t, story, "2 nodes and 1 pods")
	require.Contains(t, story, "1 more pods are bound to no node")
	require.Contains(t, story, "0 evicted")
	require.Contains(t, story, "1 objects of kind ConfigMap")
}

// What a dump holds and nobody plays is named, above all budgets.
func TestWhatIsNotSimulatedIsNamed(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "objects.yaml"), []byte(`apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: n}}
- {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeName: n, containers: [{name: c, ports: [{containerPort: 1, hostPort: 1}]}]}}
- {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: one}}
- {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: two}}
`), 0o600))
	file := filepath.Join(dir, "scenario.yaml")
	require.NoError(t, os.WriteFile(file, []byte("cluster: {files: [objects.yaml]}\nuntil: 1m\n"), 0o600))
	story, _, err := simulate(t, "--scenario", file)
	require.NoError(t, err)
	require.Contains(t, story, "edition 2: grace 50s, generated pods tolerate an outage for 300s")
	require.Contains(t, story, "2 objects of kind PodDisruptionBudget: deletion does not ask them")
	require.Contains(t, story, "1 pods with host ports")
}

// The recorded cluster and outages, where they are.
func TestRecordedData(t *testing.T) {
	data := os.Getenv("EVICTKIT_DATA")
	if data == "" {
		t.Skip("EVICTKIT_DATA is not set")
	}
	for _, name := range []string{"lost-zone", "spot", "spot-reschedule"} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
			require.NoError(t, err)
			text = bytes.ReplaceAll(text, []byte("EVICTKIT_DATA"), []byte(data))
			until := "12h"
			story, _, err := simulate(t, "--scenario", scenarioFile(t, string(text)), "--until", until)
			require.NoError(t, err)
			require.Contains(t, story, "1,523 nodes and 5,193 pods, 12h0m0s of virtual time")
			require.Contains(t, story, "FullDisruption")
		})
	}
}
