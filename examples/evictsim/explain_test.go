package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The settings in effect, and the story of a node, say that its kubelet is not Ready at first.
func TestAKubeletThatStartsIsTold(t *testing.T) {
	starts := []string{"--set", "heartbeat.notReadyFor=15s"}
	story, _, err := simulate(t, starts...)
	require.NoError(t, err)
	require.Contains(t, story, "\n  a kubelet that starts reports Ready=False for 15s\n")
	told, _, err := simulate(t, append(starts, "-o", "json", "--quiet")...)
	require.NoError(t, err)
	require.Regexp(t, `"name": "notReadyFor",\s+"value": "15s"`, told)
	story, _, err = simulate(t, append([]string{"explain", "--node", "a-000"}, starts...)...)
	require.NoError(t, err)
	require.Contains(t, story, " 15m0s  the kubelet starts, and reports Ready=False for 15s\n")
	require.Contains(t, story, "15m15s  the kubelet reports Ready=True\n")
}

func TestExplain(t *testing.T) {
	story, _, err := simulate(t, "explain", "--pod", "a-000-p1")
	require.NoError(t, err)
	for i, want := range []string{
		"0s  pod default/a-000-p1 is on node a-000 of zone r1:a",
		"5m0s  the kubelet falls silent",
		"5m45s  node a-000: no heartbeat seen for 55s (grace 50s), Ready True → Unknown",
		"due 10m45s",
		"5m50s  zone r1:a: Normal → FullDisruption, 60 of 60 not ready, rate 0.1/s",
		"pod default/a-000-p1: evicted",
		"pod default/a-000-p1-r1 replaces default/a-000-p1",
		"15m0s  the kubelet is back",
	} {
		at := strings.Index(story, want)
		require.GreaterOrEqual(t, at, 0, "%d: %s in\n%s", i, want, story)
	}
	require.NotContains(t, story, "a-000-p2", "the story of one pod")
	story, _, err = simulate(t, "explain", "--node", "b-039")
	require.NoError(t, err)
	require.Contains(t, story, "node b-039 of zone r1:b has 9 pods")
	_, _, err = simulate(t, "explain", "--pod", "nobody")
	require.ErrorContains(t, err, "pod default/nobody does not exist")
	_, _, err = simulate(t, "explain", "--node", "nowhere")
	require.ErrorContains(t, err, "node nowhere does not exist")
	for _, args := range [][]string{nil, {"--pod", "shop/"}, {"--pod", "/cart"}, {"--node", "b-039", "-o", "json"}} {
		_, _, err = simulate(t, append([]string{"explain"}, args...)...)
		require.Equal(t, 64, exitCode(err), "%q", args)
	}
}

// TestExplainWhatIsDueInDays: a pod that tolerates the taint for longer than a day is due then, and not on the first one.
func TestExplainWhatIsDueInDays(t *testing.T) {
	file := scenarioFile(t, `cluster: {zones: [{name: a, nodes: 4, podsPerNode: 1, pod: {tolerations: [{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 90000}]}}]}
events: [{at: 1m, fail: {node: a-000}}]
until: 30h
`)
	story, _, err := simulate(t, "explain", "--pod", "a-000-p0", "--scenario", file)
	require.NoError(t, err)
	require.Regexp(t, `due 25h1m\d+s`, story)
}

// TestExplainAGroup: a pod that leaves with another one says so.
func TestExplainAGroup(t *testing.T) {
	file := scenarioFile(t, `cluster: {zones: [{name: a, nodes: 4, podsPerNode: 1, pod: {labels: {set: train}}}, {name: b, nodes: 4, podsPerNode: 1}]}
together: [set]
events:
- {at: 1m, fail: {node: a-000}}
until: 30m
expect: [{figure: evicted, atLeast: 4, atMost: 4}]
`)
	story, _, err := simulate(t, "--scenario", file)
	require.NoError(t, err)
	require.Contains(t, story, "pods with the same value of a label leave together: set")
	story, _, err = simulate(t, "explain", "--scenario", file, "--pod", "a-001-p0")
	require.NoError(t, err)
	require.Contains(t, story, "evicted from node a-001: goes with pod default/a-000-p0: tolerated node.kubernetes.io/unreachable:NoExecute for 5m0s")
	_, _, err = simulate(t, "--scenario", file, "--set", "together=[a b]")
	require.ErrorContains(t, err, `"a b" is no label`)
}

// TestExplainTellsWhoTookThePod: the story of a pod also says what others than the evictor did to it, and nothing of its
// node once it is gone.
func TestExplainTellsWhoTookThePod(t *testing.T) {
	file := scenarioFile(t, `cluster:
  zones:
  - {name: a, nodes: 2, podsPerNode: 1, capacity: {cpu: 1}, pod: {requests: {cpu: 1}}}
  - {name: b, nodes: 1, podsPerNode: 1, taints: [{key: db, effect: NoSchedule}], pod: {owner: StatefulSet/db}}
events:
- {at: 1m, drain: {node: a-000}}
- {at: 2m, fail: {node: a-000}}
- {at: 6m, fail: {node: b-000}}
- {at: 15m, outOfService: {node: b-000}}
- {at: 20m, recover: {node: a-000}}
- {at: 21m, deleteNode: {node: a-001}}
reschedule: {after: 10s}
until: 30m
`)
	story := func(of, name string) []string {
		text, _, err := simulate(t, "explain", "--scenario", file, of, name)
		require.NoError(t, err)
		return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	}
	last := func(n int, lines []string) []string { return lines[len(lines)-n:] }
	require.Equal(t, []string{
		" 1m0s  the node is cordoned",
		" 1m0s  the node is drained",
		" 1m0s  pod default/a-000-p0: evicted by the drain",
		"1m10s  pod default/a-000-p0: its replacement is Pending, 0/3 nodes: 1 cordoned, 1 cpu, 1 taint",
	}, last(4, story("--pod", "a-000-p0")))
	require.Equal(t, []string{
		" 15m0s  someone adds the taint node.kubernetes.io/out-of-service=nodeshutdown:NoExecute",
		" 15m0s  pod default/b-000-p0: its object is gone",
		" 15m0s  pod default/b-000-p0: its object is removed, because the node is out of service",
		"15m10s  pod default/b-000-p0 is on node a-001 of zone a",
		"15m10s  pod default/b-000-p0 replaces default/b-000-p0, which was deleted at 15m0s",
		" 21m0s  the node is deleted",
		" 21m0s  node a-001: gone: deleted",
		"21m40s  pod default/b-000-p0: its object is removed, because the node no longer exists",
		"21m50s  pod default/b-000-p0: its replacement is Pending, 0/2 nodes: 1 cordoned, 1 not Ready",
	}, last(9, story("--pod", "b-000-p0")))
	require.Equal(t, "pod default/b-000-p0: its node silent from 6m on; evicted at 11m55s; its object was gone at 15m; replaced at 15m10s by default/b-000-p0 on node a-001",
		story("--pod", "b-000-p0")[0])
	require.Contains(t, story("--node", "a-000"), " 1m0s  pod default/a-000-p0: evicted by the drain")
}

// TestExplainWhatADrainMayNotEvict: a budget that refuses is told of once for each pod, in its story and its node's.
func TestExplainWhatADrainMayNotEvict(t *testing.T) {
	budget := `{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web", "namespace": "default"},
		"spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}}}`
	objects := filepath.Join(t.TempDir(), "objects.json")
	require.NoError(t, os.WriteFile(objects, []byte(budget), 0o600))
	file := scenarioFile(t, `cluster:
  files: [`+objects+`]
  zones: [{name: a, nodes: 2, podsPerNode: 1, pod: {labels: {app: web}}}]
events:
- {at: 1m, drain: {node: a-000}}
- {at: 2m, addPod: {name: x, node: a-001, labels: {app: web}, owner: ReplicaSet/a}}
until: 30m
`)
	const kept = "1m0s  pod default/a-000-p0: the drain tries again every 5s: budget web needs 2 healthy pods and has 2\n"
	for _, of := range [][]string{{"--pod", "a-000-p0"}, {"--node", "a-000"}} {
		story, _, err := simulate(t, append([]string{"explain", "--scenario", file}, of...)...)
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(story, kept), story)
		require.Contains(t, story, "pod default/a-000-p0: evicted by the drain")
	}
	story, _, err := simulate(t, "explain", "--scenario", file, "--pod", "x")
	require.NoError(t, err)
	require.NotContains(t, story, "tries again")
}

// TestExplainWhatWasAdded: pods and nodes that an event adds have a story from then on.
func TestExplainWhatWasAdded(t *testing.T) {
	file := scenarioFile(t, `cluster: {zones: [{name: a, nodes: 3}, {name: "b", nodes: 1}]}
events:
- {at: 1m, addPod: {name: x, node: a-000, tolerationSeconds: 0}}
- {at: 2m, addNode: {name: b-100, zone: b, podsPerNode: 1}}
- {at: 3m, addNode: {name: bare}}
- {at: 4m, fail: {nodes: [a-000, b-000, b-100]}}
until: 20m
`)
	for _, of := range []struct{ flag, name, first, second, later string }{
		{"--pod", "x", " 1m0s  pod default/x is on node a-000 of zone a", " 1m0s  pod default/x is added", "4m45s  pod default/x: evicted from node a-000: "},
		{"--pod", "b-100-p0", " 2m0s  pod default/b-100-p0 is on node b-100 of zone b", " 2m0s  pod default/b-100-p0 is added", "9m45s  pod default/b-100-p0: evicted from node b-100: "},
		{"--node", "b-100", " 2m0s  the node registers", " 2m0s  pod default/b-100-p0 is added", "4m55s  zone :b: Normal → FullDisruption, 2 of 2 not ready"},
	} {
		story, _, err := simulate(t, "explain", "--scenario", file, of.flag, of.name)
		require.NoError(t, err)
		lines := strings.Split(story, "\n")
		require.Equal(t, []string{of.first, of.second}, lines[3:5], of.name)
		require.Contains(t, story, "\n"+of.later)
		require.NotContains(t, story, "without a zone", of.name)
	}
}
