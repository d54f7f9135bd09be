package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhereEnginesDiffer: two engines are compared for each workload and node. The same within a second is no difference, nor is how
// often a pod is tried that finds no node.
func TestWhereEnginesDiffer(t *testing.T) {
	const scenario = `{cluster: {zones: [{name: a, nodes: 2, podsPerNode: 1, tolerationSeconds: 10}, {name: b, nodes: 2, podsPerNode: 1}]},
config: {unhealthyZoneThreshold: 1}, events: [{at: 1m, fail: {nodes: [a-000]}}], reschedule: {after: 10s}, until: 10m}`
	// Ours: Unknown at 105 s, evicted 10 s later, and bound after ten more.
	for _, row := range []struct{ lines, want string }{
		{`{"t":115.500,"kind":"evict","node":"a-000","pod":"a-000-p0"}
{"t":125.500,"kind":"schedule","node":"a-001","pod":"a-000-p0-r1","was":"a-000-p0"}`, "upstream)\n  nowhere\n"},
		{`{"t":115.500,"kind":"evict","node":"a-000","pod":"a-000-p0"}
{"t":300.000,"kind":"pending","pod":"a-000-p0"}
{"t":400.000,"kind":"pending","pod":"a-000-p0"}`, "  default/ReplicaSet/a    1 / 1     1 / 0    0 / 1"},
		{`{"t":115.500,"kind":"evict","node":"a-000","pod":"a-000-p0"}
{"t":127.000,"kind":"schedule","node":"b-001","pod":"a-000-p0-r1","was":"a-000-p0"}`, "  b-001    0 / 0  0 / 1"},
		{`{"t":5.000,"kind":"evict","node":"b-000","pod":"b-000-p0"}`, "  default/ReplicaSet/b    0 / 1"},
	} {
		program := standIn(t, "oracle", `echo '{"Report":{"Nodes":4,"Pods":4,"Until":600000000000},"Left":{}}' >"$4"; echo '`+row.lines+`'`)
		text, _, err := simulate(t, "--scenario", scenarioFile(t, scenario), "--engine", "both", "--upstream-program", program)
		require.NoError(t, err)
		require.Contains(t, text, row.want)
	}
}

// TestWhoOwnsPodsThatComeLater: the workload of their namespace whose name theirs begins with, the longest, and of two kinds of the
// same name always the same.
func TestWhoOwnsPodsThatComeLater(t *testing.T) {
	all := owners{map[string]string{"web-1": "known"}, map[string]string{
		"default/Job/web": "web-", "default/ReplicaSet/web": "web-", "default/Job/web-api": "web-api-", "shop/Job/web": "shop/web-",
	}}
	for pod, want := range map[string]string{
		"web-1": "known", "web-2": "default/Job/web", "web-api-1": "default/Job/web-api", "shop/web-2": "shop/Job/web", "shop/db-1": bare, "web-prod/x-1": bare,
	} {
		require.Equal(t, want, all.owner(pod), pod)
	}
}
