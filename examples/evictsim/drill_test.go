package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/examples/evictsim/drill"
	"github.com/evictkit/evictkit/examples/scenariofile"
)

// dump writes a cluster of zones of four nodes in two racks: a StatefulSet, a Deployment and a single pod in zone a, and a Deployment
// that is spread.
func dump(t *testing.T, zones ...string) string {
	t.Helper()
	return write(t, cluster(zones...))
}

func write(t *testing.T, items []any) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "dump.json")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

func cluster(zones ...string) (items []any) {
	for _, zone := range zones {
		for i := range 4 {
			items = append(items, &v1.Node{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", zone, i), Labels: map[string]string{
					v1.LabelTopologyZone: zone, "example.com/rack": fmt.Sprintf("r%d", i%2), v1.LabelInstanceTypeStable: []string{"large", "small"}[i/3],
				}},
				Status: v1.NodeStatus{Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("4")}},
			})
		}
	}
	for i := range 3 {
		items = append(items, podOf("StatefulSet", "db", i, fmt.Sprintf("a-%d", i)))
	}
	for i := range 4 {
		items = append(items, podOf("Deployment", "cart", i, fmt.Sprintf("a-%d", i)))
	}
	items = append(items, podOf("Deployment", "solo", 0, "a-3"))
	for i := range 9 {
		items = append(items, podOf("Deployment", "web", i, fmt.Sprintf("%s-%d", zones[i%len(zones)], i/3)))
	}
	return items
}

// podOf is a pod as an API server returns it; without a kind it has no controller.
func podOf(kind, owner string, i int, node string) *v1.Pod {
	isTrue, seconds := true, int64(300)
	p := &v1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	p.Namespace, p.Name, p.Labels = "shop", fmt.Sprintf("%s-%d", owner, i), map[string]string{"app": owner}
	if kind != "" {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: owner, Controller: &isTrue}}
	}
	p.Spec.NodeName, p.Spec.RestartPolicy = node, v1.RestartPolicyNever
	for _, key := range []string{v1.TaintNodeNotReady, v1.TaintNodeUnreachable} {
		p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds})
	}
	return p
}

// dumpOfCauses writes that cluster in three zones. The spread counts lost nodes, two Jobs allow no or one failure, and a pod in zone
// a has no controller.
func dumpOfCauses(t *testing.T) string {
	t.Helper()
	items := append(cluster("a", "b", "c"), podOf("", "debug", 0, "a-2"))
	for _, item := range items {
		if p, is := item.(*v1.Pod); is && p.Labels["app"] == "web" {
			p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels},
			}}
		}
	}
	for limit, name := range []string{"train", "etl"} {
		job, limit := &batchv1.Job{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}}, int32(limit)
		job.Namespace, job.Name, job.Spec.BackoffLimit = "shop", name, &limit
		items = append(items, job)
		for i := range 6 {
			items = append(items, podOf("Job", name, i, fmt.Sprintf("%c-%d", 'a'+i%3, i/3)))
		}
	}
	return write(t, items)
}

func TestADrillSaysWhatHurtsAndWhatHelps(t *testing.T) {
	file := dumpOfCauses(t)
	page := filepath.Join(t.TempDir(), "page.html")
	story, errs, err := simulate(t, "drill", file, "--by", "example.com/rack", "--report", page)
	require.NoError(t, err)
	require.Regexp(t, `^playing 35 losses and false alarms with today's settings, remedies for the worst 2, and settings over the worst 4: up to 871 runs, about \d+m?\d*s?\n88 of at most 871 runs after \d+m?\d*s?\n175 of at most 871 runs `, errs)
	for _, text := range []string{
		": 12 nodes and 30 pods\nLosing zone a costs most: 7 pod-hours lost and 23.8 missing, 3 pods Pending at the worst time, 2\nJobs failed, 1 pod gone for good.\nWhat lowers the pod-hours lost most is out-of-service taint after 5m, if the machines are surely",
		"\nThe lost nodes report Ready=False for 15s when they are back (heartbeat.notReadyFor).\n",
		"\nzone a                   4       15  6m15s               7           5        0        3      3\n",
		"\nexample.com/rack=r0      6       14", "\nnode a-0 of large        1        5", "\nnode a-3 of small        1        2",
		"\nEVICTED WHILE RUNNING, IN A FALSE ALARM OF  NODES  1M  3M  10M  30M\nzone a                                          4   0   0   15   15\n", "\nnode a-3 of small                               1   0   0    2    2\n",
		"\nHurts most: zone a\n\n  1 workload, 3 pods on the lost nodes: pods are stuck until their nodes are back, or are tainted\n  out of service\n    shop/StatefulSet/db: 0 of 3 live, below half for 1h0m20s\n",
		"    today                                                                7     23.8        3        0\n    1. out-of-service taint after 5m, if the machines are surely off   4.1     21.1        3        0\n",
		"\n       kubectl taint node -l topology.kubernetes.io/zone=a node.kubernetes.io/out-of-service=nodeshutdown:NoExecute\n",
		"\n       Only if the lost machines are surely off: ",
		"\n    out-of-service taint alone                                                                     4.1 ", "\n  2 workloads, 4 pods on the lost nodes: evicted pods count as failed, and more of them than\n  backoffLimit end the Job\n    shop/Job/train: 0 of 6 live,",
		"\n    3. podFailurePolicy that ignores disruptions                                          10.7 (worse)     10.6        3        0            0           3\n",
		"\n       It cannot be changed in a Job that exists: it holds for new Jobs.\n", "\n       kubectl patch job -n shop etl --type=merge -p '{\"spec\":{\"backoffLimit\":3}}'\n",
		"\n    today                                    7     23.8        3        0\n    1. nodeTaintsPolicy: Honor             4.3     21.1        0        0\n",
		"\n       - {topologyKey: topology.kubernetes.io/zone, maxSkew: 1, whenUnsatisfiable: DoNotSchedule, nodeTaintsPolicy: Honor}\n",
		": there is one pod\n    shop/Deployment/solo: 0 of 1 live, below half for 6m25s\n", "\n    1. a second replica elsewhere\n       replicas: 2\n       topologySpreadConstraints:\n",
		"\n  1 pod on the lost nodes: no controller recreates these pods\n", "\n    1. topologySpreadConstraints over topology.kubernetes.io/zone\n",
		"\n  With the first remedy of each group that lowers the pod-hours lost, all at once: lost 1.2\n  instead of 7, ",
		"\nThen: example.com/rack=r0\n", "\n    1. topologySpreadConstraints over example.com/rack\n",
		"  today\n", "\nKeep today's settings: of ", "\n  kube-controller-manager --node-eviction-rate=0.1\n  evictord --node-eviction-rate=0.1\n",
		"\n  kube-apiserver --default-not-ready-toleration-seconds=300\n  kube-apiserver --default-unreachable-toleration-seconds=300\n    Both flags are needed, and reach only pods",
	} {
		require.Contains(t, story, text)
	}
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	for _, part := range []string{
		"<p class=\"verdict\">Losing zone a costs most: 7 pod-hours lost", "<td data-title=\"lost\">zone a</td>", "<li>shop/StatefulSet/db: 0 of 3 live", "<td data-title=\"\">today</td>",
		"<p>Keep today", "<code>kube-apiserver --default-not-ready-toleration-seconds=300</code>", "<h2>The worst loss: zone a</h2>",
		"<p class=\"soft\">The lost nodes report Ready=False for 15s when they are back (heartbeat.notReadyFor).</p>", "<pre>kubectl taint node -l topology",
	} {
		require.Contains(t, string(text), part)
	}
	asItIs := regexp.MustCompile(`^(Keep |  evictsim --set |       |    (EACH BY|today|out-of-service taint alone|\d\.) | +(RATE|[0-9.]+/s) )`) // commands, YAML and tables
	for _, line := range strings.Split(story, "\n")[1:] {
		if !asItIs.MatchString(line) {
			require.LessOrEqual(t, len(line), 100, line)
		}
	}
}

// Also, what the drill tells you to run plays the same loss, with the settings that it advises for pods of a dump.
func TestADrillAsJSONAndItsCommand(t *testing.T) {
	quiet, errs, err := simulate(t, "drill", dump(t, "a", "b"), "-o", "json", "--quiet", "--set", "config.nodeEvictionRate=0.001")
	require.NoError(t, err)
	require.Empty(t, errs)
	var a assessment
	require.NoError(t, json.Unmarshal([]byte(quiet), &a))
	require.InDelta(t, 0.001, a.Today.NodeEvictionRate, 0)
	require.LessOrEqual(t, a.Best.PodHoursLost, a.Today.PodHoursLost)
	require.LessOrEqual(t, a.Best.PodHoursBeforeEviction, a.Today.PodHoursBeforeEviction)
	require.LessOrEqual(t, a.Best.EvictedWhileRunning, a.Today.EvictedWhileRunning)
	require.LessOrEqual(t, a.Today.PodHoursBeforeEviction, a.Today.PodHoursLost, "they are a part of these")
	require.Contains(t, a.Advice, "Set nodeEvictionRate ")
	require.Equal(t, "zone a", a.Worst[0].Name)
	require.Equal(t, 3, a.Losses[0].Stuck)
	require.Len(t, a.Losses, 20)
	require.InDelta(t, 15, a.NotReady, 0)
	require.Contains(t, a.Play, " --set 'heartbeat.notReadyFor=15s'")
	for i := range a.Worst {
		w := &a.Worst[i]
		for k := range w.Groups {
			remedies := w.Groups[k].Remedies
			for n := range remedies {
				require.True(t, remedies[n].Tainted || w.Groups[0].Remedies[0].PodHoursLost <= remedies[n].PodHoursLost+0.1, "the first advice is the best")
				require.LessOrEqual(t, remedies[0].PodHoursLost, remedies[n].PodHoursLost+0.1, remedies[n].Name)
			}
		}
	}
	var args []string
	for _, part := range strings.Split(a.Play, " --set '")[1:] {
		args = append(args, "--set", strings.TrimSuffix(part, "'"))
	}
	lost := func(more ...string) float64 {
		text, _, err := simulate(t, append(append(append([]string{}, args...), more...), "-o", "json", "--quiet")...)
		require.NoError(t, err)
		var o struct{ Figures map[string]float64 }
		require.NoError(t, json.Unmarshal([]byte(text), &o))
		return o.Figures["podHoursLost"]
	}
	today := []string{"--set", "config.nodeEvictionRate=0.001", "--set", "config.unhealthyZoneThreshold=0.55", "--set", "config.nodeMonitorGracePeriod=50s", "--set", "cluster.defaultTolerationSeconds=300"}
	require.InDelta(t, a.Losses[0].Figures["podHoursLost"], lost(today...), 1e-9)
	require.Less(t, lost(), lost(today...))
	require.Less(t, lost("--set", "cluster.defaultTolerationSeconds=10"), lost("--set", "cluster.defaultTolerationSeconds=1200"))
}

func TestADrillRefusesWhatItCannotPlay(t *testing.T) {
	file := dump(t, "a")
	for want, args := range map[string][]string{
		"needs a file of":           {},
		"leave out --scenario":      {file, "--scenario", "x.yaml"},
		"leave out --until":         {file, "--until", "1h"},
		"only config.… and":         {file, "--set", "until=1h"},
		"asks no disruption":        {file, "--set", "config.useEvictionAPI=true"},
		"with leader election":      {file, "--set", "config.leaderElection=false"},
		"without a limit of writes": {file, "--set", "config.kubeAPIQPS=5"},
		"no node has the label x":   {file, "--by", "x"},
		"--lost 1m0s is too short":  {file, "--lost", "1m"},
		"-1s is negative":           {file, "--set", "heartbeat.notReadyFor=-1s"},
		"must lie in (0,1]":         {file, "--set", "config.unhealthyZoneThreshold=2"},
		"text or json":              {file, "-o", "csv"},
	} {
		_, _, err := simulate(t, append([]string{"drill"}, args...)...)
		require.ErrorIs(t, err, errUsage, want)
		require.ErrorContains(t, err, want)
	}
	_, _, err := simulate(t, "drill", filepath.Join(t.TempDir(), "none.json"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// The kubelets of lost nodes are not Ready at first, unless a flag says otherwise.
func TestADrillsKubeletsStart(t *testing.T) {
	today, err := todayOf([]scenariofile.Set{{Path: notReady, Value: "15s"}, {Path: notReady, Value: "0"}})
	require.NoError(t, err)
	require.Zero(t, today.NotReadyFor, "the last one counts")
	require.Equal(t, "The lost nodes are Ready at once when they are back.", new(assessment).starts())

	cluster, err := drill.Open(t.Context(), []string{dump(t, "a", "b")}, today.Config)
	require.NoError(t, err)
	losses, err := cluster.Losses(nil, time.Hour)
	require.NoError(t, err)
	back := func(silent time.Duration) (taints []string) {
		played := cluster.Scenario(losses[0], cluster.Today())
		played.Timeline = func(l timeline.Line) error {
			if l.Kind == timeline.KindTaint && l.Node == "a-0" && l.Effect == string(v1.TaintEffectNoExecute) && l.T >= silent {
				taints = append(taints, fmt.Sprintf("%s %s %s", l.T, l.Op, strings.TrimPrefix(l.Key, "node.kubernetes.io/")))
			}
			return nil
		}
		_, err := simulation.Play(t.Context(), played)
		require.NoError(t, err)
		return taints
	}
	require.Equal(t, []string{"1h10m0s add not-ready", "1h10m0s remove unreachable", "1h10m15s remove not-ready"}, back(time.Hour))
	cluster.NotReadyFor = 0
	require.Equal(t, []string{"1h10m0s remove unreachable"}, back(time.Hour))
}

// The table of settings has the row that is advised, and says how many it leaves out. Today's is not among those that none beats if
// the advice beats it.
func TestTheTableOfSettings(t *testing.T) {
	row := func(before, running float64) scoreTold {
		return scoreTold{NodeMonitorGracePeriod: "50s", PodHoursLost: 2 * before, PodHoursBeforeEviction: before, EvictedWhileRunning: running}
	}
	a := &assessment{Searched: 96, SearchedOver: 4}
	for i := range 47 {
		a.Front = append(a.Front, row(float64(10+i), float64(100-i)))
	}
	a.Today, a.Best = row(20.5, 95), a.Front[10]
	table, title, _ := a.settingTable()
	notes := make(map[string]int)
	for _, cells := range table.rows {
		notes[cells[len(cells)-1]]++
	}
	require.Equal(t, 1, notes["advised"])
	require.Equal(t, 1, notes["today"])
	require.LessOrEqual(t, len(table.rows), mostFront+4)
	require.Equal(t, fmt.Sprintf("Settings: %d of the 47 that none of the 96 played beats, and today's", len(table.rows)-1), title)
	a.Today = a.Front[3]
	table, title, _ = a.settingTable()
	require.Equal(t, fmt.Sprintf("Settings: %d of the 47 that none of the 96 played beats", len(table.rows)), title)
}

// What a simulation refuses is named by its place in the file, not by its number among the objects.
func TestDrillNamesThePlaceOfAFault(t *testing.T) {
	const node, budget = "{apiVersion: v1, kind: Node, metadata: {name: n}}\n", "---\n{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b}, spec: {minAvailable: %s}}\n"
	for text, want := range map[string]string{
		"---\n" + node + "---\n" + node:                 `: line 3: object 2 (Node "n"): node n already exists`,
		"---\n" + node + fmt.Sprintf(budget, "-1"):      `: line 3: object 2 (PodDisruptionBudget "b"): -1 is negative`,
		"---\n" + node + fmt.Sprintf(budget, "150x%"):   `: line 3: object 2 (PodDisruptionBudget "b"): "150x%" is neither a number nor a percentage`,
		"apiVersion: v1\nkind: List\nitems: []\n":       ": there are no nodes",
		`{"kind": "List", "items": [{"kind": "Service"`: ": byte 27: object 1: unexpected EOF: is the file cut off?",
	} {
		file := filepath.Join(t.TempDir(), "dump")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, _, err := simulate(t, "drill", file)
		require.ErrorContains(t, err, file+want)
		require.Equal(t, 64, exitCode(err), text)
	}
}

// A setting that a flag makes is named by the flag, as it was typed.
func TestAFaultOfASettingIsNamedByItsFlag(t *testing.T) {
	dump := filepath.Join(t.TempDir(), "dump")
	require.NoError(t, os.WriteFile(dump, []byte("{apiVersion: v1, kind: Node, metadata: {name: n}}\n"), 0o600))
	for set, want := range map[string]string{
		"config.nodeEvictionRate=-1":   "config: nodeEvictionRate: Invalid value: -1",
		"config.nodeEvictionRate=x":    "config: nodeEvictionRate: found `x`, need a number",
		"config.nodeMonitorPeriod=1us": "config: nodeMonitorPeriod: 1µs is too short",
		"config.foo=1":                 `config: unknown field "foo"`,
		"config.nodeMonitorPeriod=15d": `config: nodeMonitorPeriod: "15d" is not a duration`,
		"config.nodeMonitorPeriod.x=1": "x does not exist: its parent is a plain value",
	} {
		for _, args := range [][]string{{"drill", dump}, {}} {
			_, _, err := simulate(t, append(args, "--set", "config.nodeMonitorPeriod=1s", "--set", set)...)
			require.ErrorContains(t, err, "--set "+set+": "+want)
			require.Equal(t, 64, exitCode(err), set)
		}
	}
	_, _, err := simulate(t, "drill", dump, "--set", "config.nodeEvictionRate=-1", "--set", "config.unhealthyZoneThreshold=7")
	require.ErrorContains(t, err, "--set config.nodeEvictionRate=-1: ")
	require.ErrorContains(t, err, "--set config.unhealthyZoneThreshold=7: ")
	_, _, err = simulate(t, "--until", "100000h")
	require.ErrorContains(t, err, "--until 100000h0m0s: until: 100000h0m0s is more than")
}
