package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// stuck is a scenario with a database that its budget never lets go, and pods that are cut off for five minutes.
func stuck(t *testing.T, more string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "objects.yaml"), []byte(`apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: n}}
- {apiVersion: v1, kind: Node, metadata: {name: m}}
- {apiVersion: v1, kind: Pod, metadata: {name: db-0, labels: {app: db}, ownerReferences: [{kind: StatefulSet, name: db, controller: true}]}, spec: {nodeName: n}}
- {apiVersion: v1, kind: Pod, metadata: {name: web-0, ownerReferences: [{kind: ReplicaSet, name: web, controller: true}]}, spec: {nodeName: m, tolerations: [{operator: Exists}]}}
- {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: db}, spec: {minAvailable: 1, selector: {matchLabels: {app: db}}}}
`), 0o600))
	file := filepath.Join(dir, "scenario.yaml")
	require.NoError(t, os.WriteFile(file, []byte("cluster: {files: [objects.yaml]}\nreschedule: {}\nuntil: 1h\n"+more), 0o600))
	return file
}

const refusedDrain = "the drain of node n has not ended after 59m, with 1 pod left: pod default/db-0: budget db needs 1 healthy pods and has 1"

// A drain that hangs is told in the verdict, once, and with its budget, and an expectation can check it. So it is on the page.
func TestAStuckDrainIsTold(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.html")
	story, _, err := simulate(t, "--report", page, "--scenario", stuck(t, "events: [{at: 1m, drain: {node: n}}]\nexpect: [{figure: drainsUnfinished, atMost: 0}, {figure: evicted, atMost: 0}]\n"))
	require.Equal(t, 2, exitCode(err))
	for _, text := range []string{
		"No node was lost: no pod was evicted. 1 node was drained: 0 pods had to leave. T" + refusedDrain[1:] + ". Disruption budgets refused to let 1 pod go, for up to 59m, until the end.",
		"\n0 of 1 disruption budget not kept (drains respect them; the evictor's deletions and failures do not); 1 refused evictions, see below\n",
		"\nWhat slowed evictions down\n  1 disruption budget refused evictions of 1 pod, 1 of them still at the end: default/db 1 pod for up to 59m\n",
		"drainsUnfinished is 1, more than 0",
	} {
		require.Contains(t, story, text)
	}
	require.Equal(t, 1, strings.Count(story, refusedDrain[1:]))
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(text), "<li>1 node was drained: 0 pods had to leave.</li>\n<li>T"+refusedDrain[1:]+".</li>\n<li>Disruption", "as HTML")
	require.Contains(t, string(text), `<li class="fail"><b>✗ fail</b> expect 1: drainsUnfinished is 1, more than 0</li>`)
	require.Contains(t, string(text), `<li class="pass"><b>✓ pass</b> expect 2: evicted is 0, at most 0</li>`)
}

// Pods that are marked not Ready are told with their workload, and side by side.
func TestPodsWithoutEndpointsAreTold(t *testing.T) {
	file := stuck(t, "events: [{at: 1m, partition: {node: m}}, {at: 6m, recover: {node: m}}, {at: 7m, drain: {node: n, timeout: 1m, then: force}}]\n")
	story, _, err := simulate(t, "--scenario", file)
	require.NoError(t, err)
	require.Contains(t, story, " 1 pod lost its endpoints for up to 4m10s although it ran. ")
	require.Regexp(t, `\ndefault/ReplicaSet/web +1 +1 .* 1 for 4m10s\n`, story)
	table, _, err := simulate(t, "sweep", "--scenario", file, "--set", "config.nodeMonitorGracePeriod=50s,100s")
	require.NoError(t, err)
	require.Regexp(t, `NO ENDPOINTS  LONGEST .*REFUSED  DRAINED  FORCED\n50s .* 1 +4m10s .* 1 +1 +1\n`, table)
}
