package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The summary and the page say what takes no time because the scenario does not say how long it takes.
func TestReadersAreToldWhatTakesNoTime(t *testing.T) {
	for name, c := range map[string]struct {
		events, more    string
		drains, written bool
	}{
		"a lost zone":             {"fail: {zone: a}", "", false, true},
		"a lost zone, paced":      {"fail: {zone: a}", "config: {kubeAPIQPS: 20}", false, false},
		"a drain":                 {"drain: {zone: a}", "reschedule: {after: 10s}", true, false},
		"a drain that takes time": {"drain: {zone: a}", "reschedule: {after: 10s, ready: 45s}", false, false},
	} {
		file := filepath.Join(t.TempDir(), "scenario.yaml")
		text := "cluster: {zones: [{name: a, nodes: 10, podsPerNode: 10}, {name: b, nodes: 10}]}\nevents: [{at: 1m, " + c.events + "}]\nuntil: 5m\n" + c.more
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		page := file + ".html"
		story, _, err := simulate(t, "--scenario", file, "--report", page)
		require.NoError(t, err, name)
		shown, err := os.ReadFile(page)
		require.NoError(t, err, name)
		for part, said := range map[string]bool{"drains take no time here": c.drains, "writes take no time here; at the usual 20 a second, the last would wait": c.written} {
			if said {
				require.Contains(t, story, part, name)
				require.Contains(t, string(shown), part, name)
			} else {
				require.NotContains(t, story, part, name)
				require.NotContains(t, string(shown), part, name)
			}
		}
	}
}

func TestTheSummarySaysWhatPodsTolerate(t *testing.T) {
	for zones, says := range map[string]string{
		"[{name: a, nodes: 2, podsPerNode: 1}]":                                           "heartbeat every 10s; generated pods tolerate an outage for 5m\n",
		"[{name: a, nodes: 2, podsPerNode: 1, tolerationSeconds: 30}]":                    "; generated pods tolerate an outage for 30s\n",
		"[{name: a, nodes: 2, podsPerNode: 1, tolerationSeconds: none}]":                  "; generated pods tolerate no outage\n",
		"[{name: a, nodes: 2, podsPerNode: 1, pod: {tolerations: [{operator: Exists}]}}]": "heartbeat every 10s\n",
		"[{name: a, nodes: 2}]": "heartbeat every 10s\n",
		"[{name: a, nodes: 2, podsPerNode: 1, tolerationSeconds: 0}, {name: b, nodes: 1, podsPerNode: 1}]": "; generated pods tolerate an outage for 0s to 5m\n",
	} {
		story, _, err := simulate(t, "--scenario", scenarioFile(t, "cluster: {zones: "+zones+"}\nuntil: 1m\n"))
		require.NoError(t, err)
		require.Contains(t, story, says, zones)
	}
}
