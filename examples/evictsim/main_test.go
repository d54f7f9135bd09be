package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// simulate runs the command and returns what it printed.
func simulate(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	err = run(context.Background(), args, strings.NewReader(""), &out, &errs)
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
		"evictkit: 180 nodes and 1,440 pods (and 180 of DaemonSets), 50m of virtual time\n",
		"  grace 50s, pass every 5s, heartbeat every 10s; generated pods tolerate an outage for 5m\n",
		"\n100 kubelets fell silent, 65 nodes tainted NoExecute\n",
		"\n268 pods evicted from 10m45s to 39m15s; delay after the silence began: median 8m5s",
		"\n  208 of them needlessly: the node was silent for no longer than 10m\n", "\n  60 of them from nodes that were silent for longer, and back within 10m of the eviction\n",
		"evictions cancelled: the node came back\n",
		"\n168 pod-hours lost (pods without a live node)\n", "Zone r1:a lost all of its 60 nodes",
		"\nr1:b     60      20   480       60  30m50s  39m15s\n",
		"\ndefault/ReplicaSet/a     0  480    5m",
		"\n  r1:b was slowed to one node every 1m40s because 67 % of its nodes were not Ready (55 % or more); from 25m55s on, up to 39 nodes waited, 14m5s in all\n",
	} {
		require.Contains(t, story, text)
	}
	require.Less(t, strings.Count(story, "\n"), 40, "one screen")
}

// On a narrow terminal sentences are broken, and tables fit.
func TestTheStoryFits80Columns(t *testing.T) {
	for _, args := range [][]string{nil, {"--set", "config.nodeEvictionRate=1"}} {
		story, _, err := simulate(t, args...)
		require.NoError(t, err)
		whole := strings.Join(strings.Fields(story), " ")
		story = wrapped(story, 80)
		require.Equal(t, whole, strings.Join(strings.Fields(story), " "))
		for line := range strings.Lines(story) {
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 80, line)
		}
	}
	require.Equal(t, "  a sentence that\n    is long, and\n    longer\n  one_word_of_many_letters\nA  TABLE  IS  WHOLE\n",
		wrapped("  a sentence that is long, and longer\n  one_word_of_many_letters\nA  TABLE  IS  WHOLE\n", 17))
}

func TestSameScenarioSameBytes(t *testing.T) {
	first, story, err := simulate(t, "--timeline", "-", "--seed", "3")
	require.Contains(t, story, "nothing in a simulation is random")
	require.NoError(t, err)
	require.Contains(t, story, "ZONE", "the story makes room for the timeline")
	second, _, err := simulate(t, "--timeline", "-", "--seed", "7", "--quiet")
	require.NoError(t, err)
	require.Equal(t, first, second)
	settings, rest, _ := strings.Cut(first, "\n")
	require.True(t, strings.HasPrefix(settings, `{"t":0.000,"kind":"settings",`), settings)
	require.Contains(t, settings, `,"nodeMonitorGracePeriod":50.000,`)
	require.True(t, strings.HasPrefix(rest, `{"t":0.000,"kind":"zone","zone":"r1:a","state":"Normal","rate":0.100,"ready":60,"notReady":0}`+"\n"))
}

func TestQuietAndUntil(t *testing.T) {
	file := filepath.Join(t.TempDir(), "timeline")
	story, errs, err := simulate(t, "--quiet", "--until", "10s", "--timeline", file)
	require.NoError(t, err)
	require.Empty(t, story+errs)
	lines, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, 4, bytes.Count(lines, []byte("\n")))
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
- {apiVersion: v1, kind: Pod, metadata: {name: waiting}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: skipped}}
- {apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: one}}
- {apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: two}}
`), 0o600))
	file := filepath.Join(dir, "scenario.yaml")
	require.NoError(t, os.WriteFile(file, []byte("cluster: {files: [objects.yaml]}\nevents:\n- {at: 1m, fail: {node: bare}}\nuntil: 10m\n"), 0o600))
	story, _, err := simulate(t, "--scenario", file)
	require.NoError(t, err)
	require.Contains(t, story, "2 nodes and 1 pod,")
	require.Contains(t, story, "ignored: 2 pods without a node in the files; 2 of kind Ingress; 1 of kind ConfigMap\n")
	require.Contains(t, story, "\n0 pods evicted\n")
	require.Contains(t, story, "\n(no zone)      2       1     1        0      -     -\n")
}

// A pod that waited for its own node comes back there. One hour is not plural.
func TestOnePodComesBack(t *testing.T) {
	story, _, err := simulate(t, "--scenario", scenarioFile(t, "cluster: {zones: [{name: a, nodes: 1, podsPerNode: 1}, {name: b, nodes: 1, unschedulable: true}]}\nevents:\n- {at: 1m, fail: {node: a-000}}\n- {at: 61m, recover: {node: a-000}}\nreschedule: {}\nuntil: 2h\n"))
	require.NoError(t, err)
	require.Contains(t, story, "\n  1 came back\n")
	require.Contains(t, story, "\n1 pod-hour lost (pods without a live node)\n")
}

// What is in a dump and not simulated is named. Budgets are reported, also if evictions ignore them.
func TestWhatIsNotSimulatedIsNamed(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "objects.yaml"), []byte(`apiVersion: v1
kind: List
items:
- {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: one}, spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}}
- {apiVersion: v1, kind: Pod, metadata: {name: p, labels: {app: web}}, spec: {nodeName: n, volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]}}
- {apiVersion: v1, kind: Node, metadata: {name: n}}
- {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: two}, spec: {maxUnavailable: 100%, selector: {}}}
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}
`), 0o600))
	file := filepath.Join(dir, "scenario.yaml")
	require.NoError(t, os.WriteFile(file, []byte("cluster: {files: [objects.yaml]}\nevents:\n- {at: 1m, fail: {node: n}}\n- {at: 3m, recover: {node: n}}\n- {at: 1h, restart: {}}\nuntil: 5m\n"), 0o600))
	story, _, err := simulate(t, "--scenario", file)
	require.NoError(t, err)
	require.Contains(t, story, "1 node and 1 pod,", "a pod that stands before its node is read all the same")
	require.Contains(t, story, "  ignored: persistent volume claims of 1 pod; 1 of kind Deployment; 1 event after the end\n")
	require.Contains(t, story, "\n1 of 2 disruption budgets not kept (evictions are deletions, which ignore them)\n")
	require.Contains(t, story, "\ndefault/one     0       1   1         2m         1\n")

	story, _, err = simulate(t, "--scenario", file, "--set", "config.useEvictionAPI=true")
	require.NoError(t, err)
	require.Contains(t, story, "\n1 of 2 disruption budgets not kept (evictions respect them; failures and deletions do not)\n")
}

// Where there are budgets, the worst workloads say for how long theirs were not kept.
func TestWorkloadsSayHowLongTheirBudgetWasNotKept(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "objects.yaml"), []byte(`apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: n}}
- {apiVersion: v1, kind: Pod, metadata: {name: p, labels: {app: web}, ownerReferences: [{kind: ReplicaSet, name: web, controller: true}]}, spec: {nodeName: n}}
- {apiVersion: v1, kind: Pod, metadata: {name: q, ownerReferences: [{kind: ReplicaSet, name: free, controller: true}]}, spec: {nodeName: n}}
- {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}}
`), 0o600))
	file := filepath.Join(dir, "scenario.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`cluster: {files: [objects.yaml]}
events:
- {at: 1m, fail: {node: n}}
- {at: 90s, recover: {node: n}}
until: 5m
expect: [{figure: belowBudgetSeconds, workload: default/ReplicaSet/web, atMost: 29}]
`), 0o600))
	story, _, err := simulate(t, "--scenario", file)
	require.Equal(t, 2, exitCode(err))
	require.Contains(t, story, "belowBudgetSeconds of workload default/ReplicaSet/web is 30, more than 29")
	require.Contains(t, story, "  BELOW  HALF  MISSING  BUDGET\n")
	require.Regexp(t, `\ndefault/ReplicaSet/web .* 30s +30s +0h +30s\n`, story)
	require.Regexp(t, `\ndefault/ReplicaSet/free .* 30s +30s +0h +-\n`, story)
}

// A budget of the scenario bounds what is tainted, and says so.
func TestAScenarioWithABudget(t *testing.T) {
	file := scenarioFile(t, `cluster: {zones: [{name: a, nodes: 10, podsPerNode: 1}, {name: b, nodes: 10, podsPerNode: 1}]}
config: {nodeEvictionRate: 1}
budget: {bounds: [{name: one of a zone, per: topology.kubernetes.io/zone, of: Acting, max: 1}]}
events:
- {at: 1m, fail: {zone: a, count: 3}}
- {at: 1m, fail: {zone: b, count: 1}}
until: 20m
expect: [{figure: evicted, atLeast: 2, atMost: 2}]
`)
	_, _, err := simulate(t, "--scenario", file)
	require.NoError(t, err)
	story, _, err := simulate(t, "explain", "--scenario", file, "--node", "a-002")
	require.NoError(t, err)
	require.Contains(t, story, `budget "one of a zone" allows at most 1 in topology.kubernetes.io/zone "a": 2 is too many`)
	_, _, err = simulate(t, "--scenario", file, "--set", "budget.bounds=[]")
	require.ErrorContains(t, err, "scenario.yaml:3: budget: bounds: there are none")
	_, _, err = simulate(t, "--scenario", file, "--set", "budget.bounds=[{name: a, of: bad, max: {a: 1}}]")
	require.ErrorContains(t, err, `"bad" must be Bad, Unavailable, Healthy, Acting or Recent`)
}

// The README asks what a cluster would do, from the output of kubectl and without a scenario.
func TestWhatTheReadmeAsksOfADump(t *testing.T) {
	page, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, command, found := strings.Cut(string(page), "\ngo run -C examples ./evictsim --set ")
	require.True(t, found)
	command, _, _ = strings.Cut(command, "\n")
	sets := strings.Split(strings.Trim(command, "'"), "' --set '")
	require.Len(t, sets, 2)
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("dump.yaml", []byte(`apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: n, labels: {topology.kubernetes.io/zone: eu-1a}}}
- {apiVersion: v1, kind: Node, metadata: {name: o, labels: {topology.kubernetes.io/zone: eu-1b}}}
- {apiVersion: v1, kind: Pod, metadata: {name: p, ownerReferences: [{kind: ReplicaSet, name: web, controller: true}]}, spec: {nodeName: n}}
`), 0o600))
	story, _, err := simulate(t, "--set", sets[0], "--set", sets[1])
	require.NoError(t, err)
	require.Contains(t, story, "evictkit: 2 nodes and 1 pod, 50m of virtual time\n")
	require.Contains(t, story, "\n1 pod evicted from 1m45s")

	for _, other := range regexp.MustCompile("`(fail: {[^`]*})`").FindAllStringSubmatch(string(page), -1) {
		_, _, err := simulate(t, "--set", sets[0], "--set", "events=[{at: 1m, "+strings.ReplaceAll(other[1], "NAME", "n")+"}]")
		require.NoError(t, err, other[1])
	}
	embedded, err := read(t.Context(), "", nil)
	require.NoError(t, err)
	typed, err := read(t.Context(), "-", strings.NewReader(""))
	require.NoError(t, err)
	require.Equal(t, typed.dir, embedded.dir, "go run -C starts the program elsewhere")
}

// The recorded cluster and outages, if they are available.
func TestRecordedData(t *testing.T) {
	data := os.Getenv("EVICTKIT_DATA")
	if data == "" {
		t.Skip("EVICTKIT_DATA is not set")
	}
	scenarios := []string{"lost-zone", "spot", "spot-reschedule"}
	if os.Getenv("EVICTKIT_FULL") == "" {
		scenarios = scenarios[:1] // with the race detector, all take minutes
	}
	for _, name := range scenarios {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
			require.NoError(t, err)
			text = bytes.ReplaceAll(text, []byte("EVICTKIT_DATA"), []byte(data))
			until := "12h"
			story, _, err := simulate(t, "--scenario", scenarioFile(t, string(text)), "--until", until)
			require.NoError(t, err)
			require.Contains(t, story, "1,523 nodes and 5,193 pods, 12h of virtual time")
			require.Contains(t, story, "us-west-2:us-west-2a was limited to one node every 10s")
			require.Less(t, strings.Count(story, "\n"), 50, "one screen")
		})
	}
}

// Of a dump of three zones one is lost. Pods that are spread over the zones wait for it, and so does the database, whose
// disk is there. What is not simulated makes the figures lower bounds, and a Job that fails is named.
func TestADumpDecidesWherePodsComeBack(t *testing.T) {
	dir := t.TempDir()
	dump := &strings.Builder{}
	pod := func(kind, owner, name, node, spec string) {
		fmt.Fprintf(dump, "---\napiVersion: v1\nkind: Pod\nmetadata: {name: %s, labels: {app: %s}, ownerReferences: [{kind: %s, name: %s, controller: true}]}\nspec: {nodeName: %s, %s}\n",
			name, owner, kind, owner, node, spec)
	}
	for i, zone := range []string{"a", "b", "c"} {
		for k := range 2 {
			node := fmt.Sprint(zone, k)
			pod("ReplicaSet", "web", "web-"+node, node, "topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]")
			pod("Job", "batch", "batch-"+node, node, "containers: [{name: c}]")
		}
		pod("ReplicaSet", "db", "db-"+zone, zone+"0", fmt.Sprintf("volumes: [{name: v, persistentVolumeClaim: {claimName: disk-%d}}]", i))
	}
	pod("ReplicaSet", "unknown", "unknown", "b0", "volumes: [{name: v, persistentVolumeClaim: {claimName: none}}]")
	for i, zone := range []string{"a", "b", "c"} {
		fmt.Fprintf(dump, "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: disk-%d}\nspec: {volumeName: pv-%d, accessModes: [ReadWriteMany]}\n", i, i)
		fmt.Fprintf(dump, "---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv-%d}\nspec: {nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [%s]}]}]}}}\n", i, zone)
		for k := range 2 {
			fmt.Fprintf(dump, "---\napiVersion: v1\nkind: Node\nmetadata: {name: %s%d, labels: {topology.kubernetes.io/zone: %s}}\n", zone, k, zone)
		}
	}
	dump.WriteString("---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: batch}\nspec: {backoffLimit: 3}\nstatus: {failed: 2}\n")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "objects.yaml"), []byte(dump.String()), 0o600))
	file := filepath.Join(dir, "scenario.yaml")
	require.NoError(t, os.WriteFile(file, []byte("cluster: {files: [objects.yaml]}\nevents:\n- {at: 1m, fail: {zone: a}}\nreschedule: {}\nuntil: 1h\n"), 0o600))
	story, _, err := simulate(t, "--scenario", file)
	require.NoError(t, err)
	require.Contains(t, story, "\nJob default/batch failed at 1m56s: too many of its pods failed (4)\n")
	require.Contains(t, story, `
at least 3 Pending at the end, 3 at the peak, because these are not simulated: persistent volume claims of 1 pod
  2 like default/web-a0: 0/6 nodes: 4 topology spread, 2 not Ready
  1 like default/db-a: 0/6 nodes: 4 volume, 2 not Ready
`)
	require.Contains(t, story, "\nat least 3 pod-hours lost (pods without a live node), because these are not simulated: persistent volume claims of 1 pod\n")
	text, _, err := simulate(t, "--scenario", file, "--output", "csv")
	require.NoError(t, err)
	require.Contains(t, text, ",understated,persistent volume claims,pods,1\n")
	require.Contains(t, text, ",failedJob,default/batch,failedPods,4\n")
}

// planned is a zone that falls silent before its maintenance is announced. NODE is a dump.
const planned = `cluster: {files: [NODE], zones: [{name: a, nodes: 10, podsPerNode: 1}, {name: b, nodes: 10, podsPerNode: 1}]}
config: {nodeEvictionRate: 1, unhealthyZoneThreshold: 1}
maintenance: 1h
events:
- {at: 10m, fail: {zone: b, count: 5}}
- {at: 11m, condition: {zone: b, type: MaintenancePlanned, status: "True"}}
- {at: 40m, condition: {zone: b, type: MaintenancePlanned, status: "False"}}
until: 3h
expect: [{figure: firstEvictionSeconds, atLeast: FROM, atMost: TO}]
`

// A scenario may say for how long the evictor spares nodes whose conditions announce maintenance. They leave as others do, once
// no condition announces it or the time is over.
func TestAScenarioWithAnnouncedMaintenance(t *testing.T) {
	node := filepath.Join(t.TempDir(), "node.yaml")
	play := func(text string, args ...string) (string, error) {
		file := scenarioFile(t, strings.ReplaceAll(text, "NODE", node))
		out, _, err := simulate(t, append([]string{"--scenario", file}, args...)...)
		return out, err
	}
	within := func(from, to string) string { return strings.NewReplacer("FROM", from, "TO", to).Replace(planned) }
	require.NoError(t, os.WriteFile(node, []byte("---\n{apiVersion: v1, kind: Node, metadata: {name: n}}\n"), 0o600))
	_, err := play(within("40m", "50m"))
	require.NoError(t, err, "until nothing announces it")
	_, err = play(within("11m", "20m"), "--set", "maintenance=0")
	require.NoError(t, err, "nobody believes it")
	_, err = play(within("31m", "37m"), "--set", "maintenance=20m")
	require.NoError(t, err, "until the time is over")
	_, err = play(within("31m", "37m"), "--set", "maintenance=20m", "--set", "config.nodeMonitorPeriod=0")
	require.NoError(t, err, "until the time is over, without passes")
	story, err := play(within("40m", "50m"), "explain", "--node", "b-001")
	require.NoError(t, err)
	require.Contains(t, story, "\n 11m0s  node b-001: spared for up to 1h, because of its condition MaintenancePlanned\n")
	require.Contains(t, story, ": eviction cancelled: MaintenancePlanned\n")
	require.Contains(t, story, "\n 40m0s  node b-001: no longer spared for its condition MaintenancePlanned\n")
	_, err = play(within("40m", "50m"), "--set", "maintenance=-1h")
	require.ErrorContains(t, err, "--set maintenance=-1h: maintenance: -1h0m0s is negative; 0 ignores announcements")
	_, err = play(strings.Replace(planned, "1h\n", "an hour\n", 1))
	require.ErrorContains(t, err, `scenario.yaml:3: maintenance: "an hour" is not a duration such as 90s, 1m30s or 0`)

	const pod = "---\n{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeName: n, tolerations: [{operator: Exists, effect: NoExecute, tolerationSeconds: 60}]}}\n"
	require.NoError(t, os.WriteFile(node, []byte("---\n{apiVersion: v1, kind: Node, metadata: {name: n}, status: {conditions: [{type: Ready, status: Unknown}, {type: Drained, status: 'True'}]}}\n"+pod), 0o600))
	story, err = play(planned, "explain", "--node", "n", "--set", "events=[]", "--set", "expect=[]")
	require.NoError(t, err)
	require.Contains(t, story, "\n    0s  node n: spared for up to 1h, because of its condition Drained\n")
	require.Contains(t, story, "\n1h0m0s  node n: no longer spared for its condition Drained\n")
}
