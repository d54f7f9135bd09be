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
	for text, want := range map[string]string{
		cluster:                       "until is missing: it says when the scenario ends",
		"cluster:\n\tzones: []\n":     "line 2, column 1: a tab; YAML allows only spaces for indentation",
		cluster + "until: 9999999h\n": "line 2: 9999999h is too long: the longest duration is 2562047h, 292 years",
		"\x1f\x8b\x08":                "is compressed by gzip: unpack it first",
		cluster + "events: [{at: 1m, fail: {zone: A}}]\nuntil: 5m\n":                  `zone "A" does not exist: the zones are "a", "b"`,
		cluster + "events: [{at: 1m, fial: {zone: a}}]\nuntil: 5m\n":                  `line 2: unknown field "fial" (do you mean fail?)`,
		"cluster: {zones: [{name: a, nodes: 1, capacity: {cpu: 1e20}}]}\nuntil: 5m\n": "capacity: cpu: 1e20 is too large",
	} {
		_, _, err := simulate(t, "--scenario", scenarioFile(t, text))
		require.ErrorContains(t, err, want)
		require.Equal(t, 64, exitCode(err), text)
	}
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
}

func TestAReportIsAPageThatCanBeWritten(t *testing.T) {
	_, _, err := simulate(t, "--report", filepath.Join(t.TempDir(), "x.pdf"))
	require.ErrorContains(t, err, "give it a name that ends in .html")
	require.Equal(t, 64, exitCode(err))
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
	_, _, err = simulate(t, "explain", "--scenario", scenario(""), "--pod", "db")
	require.ErrorContains(t, err, "pod default/db does not exist: is it shop/db or test/db?")
}
