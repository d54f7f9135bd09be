package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWrongInputIsAnsweredBeforeTheRun: an answer says where the fault is and how to mend it.
func TestWrongInputIsAnsweredBeforeTheRun(t *testing.T) {
	const cluster = "cluster: {zones: [{name: a, nodes: 3}, {name: b, nodes: 1}]}\n"
	file := filepath.Join(t.TempDir(), "budget.yaml")
	require.NoError(t, os.WriteFile(file, []byte("apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {namespace: shop, name: web}\nspec: {minAvailable: 1, selector: {}}\n"), 0o600))
	budgets := "cluster: {files: [" + file + "], zones: [{name: a, nodes: 3}]}\nuntil: 5m\n"
	const podsOfA = "cluster: {zones: [{name: a, nodes: 3, podsPerNode: 1}]}\nuntil: 5m\n"
	for text, want := range map[string]string{
		cluster:                       ":1: until is missing: it says when the scenario ends",
		"cluster:\n\tzones: []\n":     ":2: column 1: a tab; YAML allows only spaces for indentation",
		cluster + "until: 9999999h\n": ":2: until: 9999999h is too long: the longest duration is 2562047h, 292 years",
		"\x1f\x8b\x08":                ": the file is compressed by gzip: unpack it first",
		cluster + "until: 5m\nevents:\n- at: 1m\n  fail:\n    zone: A\n":                                                       `:6: event 1 (at 1m0s): fail: zone "A" does not exist: the zones are "a", "b"`,
		cluster + "until: 5m\nevents:\n- at: -1m\n  fail: {zone: a}\n":                                                         ":4: event 1: at: -1m0s is negative",
		cluster + "until: 5m\nevents:\n- {at: 1m, fail: {zone: a}}\n- at: 1m\n":                                                ":5: event 2 (at 1m0s): 0 actions (), not exactly one",
		cluster + "until: 5m\nevents:\n- &e {at: 1m, fail: {zone: a}}\n- <<: *e\n  at: -1m\n":                                  ":6: event 2: at: -1m0s is negative",
		cluster + "until: 5m\nevents:\n- at: 1m\n  fail:\n    node: a-0o2\n":                                                   ":6: event 1 (at 1m0s): fail: node a-0o2 does not exist (do you mean a-002?)",
		cluster + "until: 5m\nevents:\n- {at: 1m, deleteNode: {node: a-000}}\n- {at: 2m, cordon: {node: a-000}}\n":             ":5: event 2 (at 2m0s): cordon: node a-000 does not exist",
		"cluster: {zones: [{name: a, nodes: 1, podsPerNode: 2}]}\nuntil: 5m\nevents: [{at: 1m, deletePod: {name: a-000-p}}]\n": ":3: event 1 (at 1m0s): deletePod: pod a-000-p does not exist (do you mean a-000-p0?)",
		cluster + "events: [{at: 1m, fial: {zone: a}}]\nuntil: 5m\n":                                                           ":2: event 1: unknown field \"fial\" (do you mean fail?)",
		cluster + "until: 5m\nconfig:\n  nodeEvictionRate: -1\n  unhealthyZoneThreshold: 55\n":                                 ":5: config: unhealthyZoneThreshold: Invalid value: 55: must lie in (0,1]",
		cluster + "until: 5m\nexpect:\n- figure: evictd\n  atMost: 0\n":                                                        `:4: expect 1: figure: "evictd" is not one of those of the cluster (do you mean evicted?)`,
		cluster + "until: 5m\nexpect:\n- {figure: evicted, zone: A, atMost: 0}\n":                                              `:4: expect 1: zone "A" does not exist: the zones are "a", "b"`,
		budgets + "expect:\n- figure: belowSeconds\n  budget: shop/wbe\n  atMost: 0\n":                                         ":5: expect 1: budget shop/wbe does not exist (do you mean shop/web?)",
		budgets + "expect:\n- {figure: belowSeconds, budget: web, atMost: 0}\n":                                                ":4: expect 1: budget web does not exist (do you mean shop/web?)",
		podsOfA + "expect: [{figure: belowSeconds, workload: default/ReplicaSet/A, atMost: 0}]\n":                              ":3: expect 1: workload default/ReplicaSet/A does not exist (do you mean default/ReplicaSet/a?)",
		podsOfA + "expect: [{figure: belowSeconds, workload: a, atMost: 0}]\n":                                                 ":3: expect 1: workload a does not exist (do you mean default/ReplicaSet/a?)",
		"until: 5m\ncluster:\n  zones:\n  - name: a\n    nodes: 10000000\n":                                                    `:5: zone 1 ("a"): nodes: 10000000 is more than 1000000`,
		"cluster: {zones: [{name: a, nodes: 1, capacity: {cpu: 1e20}}]}\nuntil: 5m\n":                                          ":1: zone 1 (\"a\"): capacity: cpu: 1e20 is too large",
	} {
		file := scenarioFile(t, text)
		_, _, err := simulate(t, "--scenario", file)
		require.ErrorContains(t, err, file+want)
		require.Equal(t, 64, exitCode(err), text)
	}
	file = scenarioFile(t, cluster+"until: 5m\nevents: [{at: 1m, fail: {zone: a}}]\n")
	_, _, err := simulate(t, "--scenario", file, "--set", "events.1.fail.zone=A")
	require.ErrorContains(t, err, file+": --set events.1.fail.zone=A: event 1 (at 1m0s): fail: zone", "what --set changed is in no line")
}

func TestWrongObjectsAreAnsweredBeforeTheRun(t *testing.T) {
	node := func(status string) string {
		return `{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": ` + status + `}`
	}
	pod := func(cpu string) string {
		return node("{}") + `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"nodeName": "n", "containers": [{"resources": {"requests": {"cpu": "` + cpu + `"}}}]}}`
	}
	for text, want := range map[string]string{
		node(`{"allocatable": {"pods": "-5"}}`):                        `(Node "n"): status.allocatable: pods: -5 is negative`,
		node(`{"conditions": [{"type": "Ready", "status": "Maybe"}]}`): `status.conditions: Ready: "Maybe" is not one of True, False and Unknown`,
		pod("-1"):                            "spec.containers[0].resources.requests: cpu: -1 is negative",
		pod("1e20"):                          "cpu: 100e18 is too large",
		"NAME STATUS\nn1 Ready\n":            "line 1: not an object, but plain text: kubectl get writes objects with -o yaml",
		"[" + node("{}") + "]":               "begins with a list: write",
		"\x1f\x8b\x08":                       "is compressed by gzip: unpack it first",
		"kind: Node\nmetadata:\n\tname: n\n": "line 3, column 1: a tab",
	} {
		file := filepath.Join(t.TempDir(), "objects")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, _, err := simulate(t, "--scenario", scenarioFile(t, "cluster: {files: ["+file+"]}\nuntil: 5m\n"))
		require.ErrorContains(t, err, want)
		require.Equal(t, 64, exitCode(err), text)
	}
}

func TestAnEventAfterTheEndIsTold(t *testing.T) {
	file := scenarioFile(t, "cluster: {zones: [{name: a, nodes: 3}]}\nevents: [{at: 1h, fail: {zone: a}}]\nuntil: 10m\n")
	_, errs, err := simulate(t, "--quiet", "--scenario", file)
	require.NoError(t, err)
	require.Equal(t, "warning: "+file+": event 1 (at 1h) never happens: the scenario ends at 10m\n", errs)
	file = scenarioFile(t, "cluster: {zones: [{name: a, nodes: 3}]}\nuntil: 10m\nevents:\n"+
		"- {at: 5m, repeat: {every: 4m, events: [{at: 0s, fail: {zone: a}}, {at: 3m, recover: {zone: a}}, {at: 6m, cordon: {zone: a}}]}}\n"+
		"- {at: 11m, repeat: {every: 4m, events: [{at: 0s, fail: {zone: a}}, {at: 3m, recover: {zone: a}}]}}\n")
	_, errs, err = simulate(t, "--quiet", "--scenario", file)
	require.NoError(t, err)
	require.Equal(t, "warning: "+file+": event 3 of the repeat in event 1 (at 11m) never happens: the scenario ends at 10m\n"+
		"warning: "+file+": event 2 (at 11m) never happens: the scenario ends at 10m\n", errs)
}

func TestWhatAnEventAddsMayBeExpected(t *testing.T) {
	_, _, err := simulate(t, "--quiet", "--scenario", scenarioFile(t, "cluster: {zones: [{name: a, nodes: 3}]}\nuntil: 5m\n"+
		"events: [{at: 1m, addNode: {name: b-0, zone: b, podsPerNode: 1}}]\n"+
		"expect: [{figure: evicted, zone: b, atMost: 0}, {figure: desired, workload: default/ReplicaSet/b, atLeast: 1}]\n"))
	require.NoError(t, err)
}

func TestAReportIsAPageThatCanBeWritten(t *testing.T) {
	_, _, err := simulate(t, "--report", filepath.Join(t.TempDir(), "x.pdf"))
	require.ErrorContains(t, err, "give it a name that ends in .html")
	require.Equal(t, 64, exitCode(err))
	none := filepath.Join(t.TempDir(), "none", "x.html")
	_, _, err = simulate(t, "drill", "no-such-dump.yaml", "--report", none)
	require.ErrorContains(t, err, none+" cannot be written: no such file or directory", "before anything is read")
	for _, flag := range []string{"--report", "--timeline"} {
		file := filepath.Join(t.TempDir(), "none", "x.html")
		_, _, err = simulate(t, flag, file)
		require.ErrorContains(t, err, file+" cannot be written: no such file or directory")
	}
}

func TestSweepOverEvents(t *testing.T) {
	out, _, err := simulate(t, "sweep", "--quiet", "-o", "csv", "--set", "events=[{at: 1m, fail: {zone: a}}],[{at: 1m, fail: {zone: a, count: 1}}]")
	require.NoError(t, err)
	require.Contains(t, out, "count: 1")
}

func TestExplainFindsThePodAndSaysWhyItStays(t *testing.T) {
	file := filepath.Join(t.TempDir(), "objects.json")
	text := `{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}`
	for _, key := range [][2]string{{"shop", "web"}, {"shop", "db"}, {"test", "db"}} {
		text += `{"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "` + key[0] + `", "name": "` + key[1] + `"}, "spec": {"nodeName": "n",
			"tolerations": [{"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3600}]}}`
	}
	text += `{"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "shop", "name": "once"}, "spec": {"nodeName": "n"}, "status": {"phase": "Succeeded"}}`
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	scenario := func(events string) string {
		return scenarioFile(t, "cluster: {files: ["+file+"], zones: [{name: a, nodes: 3}]}\nevents: ["+events+"]\nuntil: 10m\n")
	}
	story, _, err := simulate(t, "explain", "--scenario", scenario(""), "--pod", "web")
	require.NoError(t, err)
	require.Contains(t, story, "pod shop/web is on node n")
	require.Contains(t, story, "At the end it is still there: nothing asks it to leave: node n has no NoExecute taint\n")
	story, _, err = simulate(t, "explain", "--scenario", scenario("{at: 1m, fail: {node: n}}"), "--pod", "shop/web")
	require.NoError(t, err)
	require.Contains(t, story, "At the end it is still there: its eviction is not yet done; the last word is: ")
	require.Contains(t, story, "1h1m")
	for pod, want := range map[string]string{"shop/once": "it has ended, and no pod that has is evicted\n", "shop/web": "node n is not Ready, and its turn has not come\n"} {
		story, _, err = simulate(t, "explain", "--set", "config.taintBasedEviction=false", "--scenario", scenario("{at: 8m, fail: {node: n}}"), "--pod", pod)
		require.NoError(t, err)
		require.Contains(t, story, "At the end it is still there: "+want)
	}
	_, _, err = simulate(t, "explain", "--scenario", scenario(""), "--pod", "db")
	require.ErrorContains(t, err, "pod default/db does not exist: is it shop/db or test/db?")
	for asked, want := range map[string]string{"--pod=shop/wbe": "pod shop/wbe does not exist (do you mean shop/web?)", "--node=a-01": "node a-01 does not exist (do you mean a-001?)"} {
		_, _, err = simulate(t, "explain", "--scenario", scenario(""), asked)
		require.ErrorContains(t, err, want)
	}
}
