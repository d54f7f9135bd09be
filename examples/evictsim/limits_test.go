package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const braked = `cluster: {zones: [{name: a, nodes: 60, podsPerNode: 2}]}
events: [{at: 1m, condition: {zone: a, count: 2, type: MaintenancePlanned, status: "True"}}, {at: 5m, fail: {zone: a, count: 7}}]
budget: {bounds: [{name: few, of: Acting, max: 2}]}
maintenance: 10m
until: 40m
`

// Evictions that a budget or maintenance held back are not blamed on the rate. What both say is among the settings, and a budget that
// is never spent is not the fastest.
func TestBrakesAreToldAndNotBlamedOnTheRate(t *testing.T) {
	file := scenarioFile(t, braked)
	story, _, err := simulate(t, "--scenario", file)
	require.NoError(t, err)
	for _, text := range []string{
		"\n  budget of nodes: few: Acting at most 2\n", "\n  nodes that announce maintenance are spared for up to 10m\n",
		"\n  the budget refused to have nodes of a tainted by its bound few; from 6m10s on, up to 5 nodes waited, 33m50s in all\n",
		"\n  nodes of a were spared, because they announced MaintenancePlanned; from 5m45s on, up to 2 nodes waited, 5m15s in all\n",
		"\n  10 on silent nodes at the end: on nodes whose turn is refused\n",
	} {
		require.Contains(t, story, text)
	}
	require.NotContains(t, story, "was limited to one node every 10s; from 6m")

	text, _, err := simulate(t, "--scenario", file, "-o", "json")
	require.NoError(t, err)
	var o struct {
		Settings []struct{ Name, Value string }
		Zones    []struct {
			Limits []struct{ Held, Refused string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(text), &o))
	settings := make(map[string]string)
	for _, s := range o.Settings {
		settings[s.Name] = s.Value
	}
	require.Equal(t, "few: Acting at most 2", settings["budget"])
	require.Equal(t, "10m0s", settings["maintenance"])
	require.Contains(t, o.Zones[0].Limits, struct{ Held, Refused string }{"", "Budget: few"})

	table, _, err := simulate(t, "compare", file, scenarioFile(t, braked[:len(braked)-len("maintenance: 10m\nuntil: 40m\n")]+"until: 40m\n"))
	require.NoError(t, err)
	require.Regexp(t, `^scenario +maintenance +EVICTED  NOT EVICTED .*\n.* 10m0s .*\n.* - `, table)
	table, _, err = simulate(t, "sweep", "--scenario", file, "--set", "budget.bounds.1.max=0,2,9")
	require.NoError(t, err)
	require.Regexp(t, `^max +EVICTED  NOT EVICTED .* MEDIAN DELAY .*\n0 +0 +14 .*\n2 +4 +10 .*\n9 +14 +0 `, table)
	require.Regexp(t, `\n0 .* 40m .*\n2 .* 40m .*\n9 .* 6m`, table)
}

// An expectation about the time of what never happened does not hold.
func TestAnExpectedTimeThatNeverCame(t *testing.T) {
	for _, of := range []string{"figure: evictionDelayWorstSeconds", "figure: lastEvictionSeconds", "figure: firstEvictionSeconds, zone: a"} {
		story, _, err := simulate(t, "--scenario", scenarioFile(t, "cluster: {zones: [{name: a, nodes: 9, podsPerNode: 1}]}\nuntil: 1h\nexpect: [{"+of+", atMost: 8m}]\n"))
		require.Equal(t, 2, exitCode(err), of)
		require.Contains(t, story, "is the time of what never happened")
	}
}

// What would do nothing is told: a misspelt announcement, one without maintenance, a bound per a label that no node has, and a trace
// with more nodes than its zone. A zone's default for tolerations is that of the cluster.
func TestWhatDoesNothingIsTold(t *testing.T) {
	const cluster = "cluster: {zones: [{name: a, nodes: 3, podsPerNode: 1}]}\nuntil: 20m\n"
	trace := filepath.Join(t.TempDir(), "a.json")
	require.NoError(t, os.WriteFile(trace, []byte(`{"metadata": {"gap_seconds": 600}, "data": [2, 1]}`), 0o600))
	for text, want := range map[string]string{
		"events: [{at: 1m, condition: {zone: a, type: MaintenancePlaned, status: True}}]\nmaintenance: 1h\n": "warning: event 1: MaintenancePlaned announces no maintenance (do you mean MaintenancePlanned?)",
		"events: [{at: 1m, condition: {zone: a, type: Drained, status: True}}]\n":                            "warning: event 1: Drained announces maintenance, which spares no node without maintenance: 1h, for example",
		"availability: [{zone: a, file: " + trace + ", scale: 2}]\n":                                         `warning: trace 1: its scale of 2 makes more than the 3 nodes of zone "a" alive; more than all are all`,
	} {
		story, _, err := simulate(t, "--scenario", scenarioFile(t, cluster+text))
		require.NoError(t, err)
		require.Contains(t, story, "  "+want+"\n")
	}
	for _, text := range []string{
		"events: [{at: 1m, condition: {zone: a, type: KernelDeadlock, status: True}}, {at: 1m, condition: {zone: a, type: Drained, status: True}}]\nmaintenance: 1h\n",
		"availability: [{zone: a, file: " + trace + ", scale: 1}]\n",
	} {
		story, _, err := simulate(t, "--scenario", scenarioFile(t, cluster+text))
		require.NoError(t, err)
		require.NotContains(t, story, "warning")
	}
	file := scenarioFile(t, cluster+"budget:\n  bounds:\n  - {name: few, of: Acting, max: 1}\n  - {name: zoned, of: Acting, per: topology.kubernetes.io/zoen, max: 1}\n")
	_, _, err := simulate(t, "--scenario", file)
	require.ErrorContains(t, err, file+":6: budget: bound 2: per: no node has the label topology.kubernetes.io/zoen (do you mean topology.kubernetes.io/zone?)")
	require.Equal(t, 64, exitCode(err))

	table, _, err := simulate(t, "sweep", "--set", "cluster.defaultTolerationSeconds=30,none")
	require.NoError(t, err)
	require.NotRegexp(t, `\n30 .* 10m45s .*\nnone .* 10m45s `, table)
}

// What keeps pods that are due from leaving is not blamed on a rate, either: a bound that evictions wait for, and a pod of their group.
func TestWhatHeldBackEvictionsThatWereDue(t *testing.T) {
	const zones = "cluster: {zones: [{name: a, nodes: 10, podsPerNode: 2}, {name: b, nodes: 10, podsPerNode: 2, pod: {labels: {set: x}}}]}\n"
	story, _, err := simulate(t, "--scenario", scenarioFile(t, zones+`budget: {bounds: [{name: a storm, of: Bad, max: 3}], exceeded: Wait}
events: [{at: 1m, fail: {zone: a, count: 2}}, {at: 4m, fail: {zone: b, count: 4}}, {at: 20m, recover: {zone: b}}]
until: 40m
`))
	require.NoError(t, err)
	require.Contains(t, story, "\n  the budget let 6 pods wait that had to leave, because its bound a storm was exceeded; from 6m45s on, for up to 13m30s\n")

	const group = zones + `together: [set]
maintenance: %s
events: [{at: 1m, condition: {node: b-007, type: MaintenancePlanned, status: "True"}}, {at: 2m, fail: {node: b-000}}]
until: 40m
`
	story, _, err = simulate(t, "--scenario", scenarioFile(t, fmt.Sprintf(group, "1h")))
	require.NoError(t, err)
	require.Contains(t, story, "\n  2 pods waited that had to leave, because the node of another pod of their group was spared; from 7m50s on, for up to 32m10s, 2 of them until the end\n")
	require.Contains(t, story, "At the end, 2 pods are on a silent node, due, but another pod of their group may not leave.")
	story, _, err = simulate(t, "--scenario", scenarioFile(t, fmt.Sprintf(group, "20m")))
	require.NoError(t, err)
	require.Regexp(t, `\n  2 pods waited that had to leave, because the node of another pod of their group was spared; from 7m50s on, for up to 14m\d*s?\n`, story)
	require.Contains(t, story, ": 20 of 40 pods were evicted, ")
}
