package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/examples/evictsim/drill"
	"github.com/evictkit/evictkit/examples/scenariofile"
)

// dump writes a cluster of three zones of four nodes in two racks: a StatefulSet, a Deployment and a single pod in zone a, and
// a Deployment that is spread.
func dump(t *testing.T, zones ...string) string {
	t.Helper()
	var items []any
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
	isTrue, seconds := true, int64(300)
	pod := func(kind, owner string, i int, node string) {
		p := &v1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
		p.Namespace, p.Name = "shop", fmt.Sprintf("%s-%d", owner, i)
		p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: owner, Controller: &isTrue}}
		p.Spec.NodeName = node
		for _, key := range []string{v1.TaintNodeNotReady, v1.TaintNodeUnreachable} {
			p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds})
		}
		items = append(items, p)
	}
	for i := range 3 {
		pod("StatefulSet", "db", i, fmt.Sprintf("a-%d", i))
	}
	for i := range 4 {
		pod("Deployment", "cart", i, fmt.Sprintf("a-%d", i))
	}
	pod("Deployment", "solo", 0, "a-3")
	for i := range 9 {
		pod("Deployment", "web", i, fmt.Sprintf("%s-%d", zones[i%len(zones)], i/3))
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "dump.json")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

func TestADrillSaysWhatHurtsAndWhatHelps(t *testing.T) {
	file := dump(t, "a", "b", "c")
	page := filepath.Join(t.TempDir(), "page.html")
	story, errs, err := simulate(t, "drill", file, "--by", "example.com/rack", "--report", page)
	require.NoError(t, err)
	require.Contains(t, errs, "playing 35 losses and false alarms with today's settings, then searching settings over the worst 4: up to 811 runs\n")
	for _, text := range []string{
		": 12 nodes and 17 pods\n",
		"\nThe lost nodes report Ready=False for 15s when they are back (heartbeat.notReadyFor).\n",
		"\nzone a                   4       11  6m15s             3.8           3        0        0      3\n",
		"\nexample.com/rack=r0      6       10", "\nnode a-0 of large        1        3", "\nnode a-3 of small        1        2",
		"\nEVICTED WHILE RUNNING, IN A FALSE ALARM OF  NODES  1M  3M  10M  30M\nzone a                                          4   0   0   11   11\n", "\nnode a-3 of small                               1   0   0    2    2\n",
		"\nHurts most: zone a\n  shop/StatefulSet/db: 0 of 3 live, below half for 1h0m20s\n    its pods are stuck until their nodes are back, or are tainted out of service\n",
		"\n  shop/Deployment/solo: 0 of 1 live, below half for 6m25s\n    it has one pod\n    -> a second replica on another node\n",
		"\n    4 of its 4 pods were on the lost nodes\n    -> topologySpreadConstraints over topology.kubernetes.io/zone\n",
		"\n  If its nodes are tainted out of service after 5m, and the taint is removed when they are back,\n  this loss costs 1 pod-hour instead of 3.8.\n",
		"\nThen: example.com/rack=r0\n", "\n    -> topologySpreadConstraints over example.com/rack\n",
		"  today\n", "\nKeep today's settings: of ", "\n  kube-controller-manager --node-eviction-rate=0.1\n  evictord --node-eviction-rate=0.1\n",
		"\n  kube-apiserver --default-not-ready-toleration-seconds=300\n  kube-apiserver --default-unreachable-toleration-seconds=300\n    Both flags are needed, and reach only pods",
	} {
		require.Contains(t, story, text)
	}
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	for _, part := range []string{
		"<td data-title=\"lost\">zone a</td>", "<b>shop/StatefulSet/db</b>: 0 of 3 live", "this loss costs 1 pod-hour instead of 3.8.", "<td data-title=\"\">today</td>",
		"<p class=\"verdict\">Keep today", "<code>kube-apiserver --default-not-ready-toleration-seconds=300</code>", "<h2>The worst loss: zone a</h2>",
		"<p class=\"soft\">The lost nodes report Ready=False for 15s when they are back (heartbeat.notReadyFor).</p>",
	} {
		require.Contains(t, string(text), part)
	}
	for _, line := range strings.Split(story, "\n")[1:] {
		if !strings.HasPrefix(line, "Keep ") && !strings.Contains(line, "->") && !strings.HasPrefix(line, "  evictsim --set ") {
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
		"needs a file of":          {},
		"leave out --scenario":     {file, "--scenario", "x.yaml"},
		"leave out --until":        {file, "--until", "1h"},
		"only config.… and":        {file, "--set", "until=1h"},
		"asks no disruption":       {file, "--set", "config.useEvictionAPI=true"},
		"with leader election":     {file, "--set", "config.leaderElection=false"},
		"no node has the label x":  {file, "--by", "x"},
		"--lost 1m0s is too short": {file, "--lost", "1m"},
		"-1s is negative":          {file, "--set", "heartbeat.notReadyFor=-1s"},
		"must lie in (0,1]":        {file, "--set", "config.unhealthyZoneThreshold=2"},
		"text or json":             {file, "-o", "csv"},
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
		played := cluster.Scenario(losses[0], cluster.Today(), false)
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
