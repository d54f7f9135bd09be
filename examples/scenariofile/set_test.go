package scenariofile_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/examples/scenariofile"
)

const plain = `cluster:
  zones:
  - {name: a, nodes: 3}
  - &b {name: b, nodes: 4}
  - *b
events:
- {at: 1m, fail: {zone: a}}
until: 10m
`

func TestSet(t *testing.T) {
	s, err := scenariofile.Parse("f", []byte(plain),
		scenariofile.Set{Path: "config.nodeEvictionRate", Value: "0.5"},
		scenariofile.Set{Path: "cluster.zones.a.nodes", Value: "7"},
		scenariofile.Set{Path: "cluster.zones.2.podsPerNode", Value: "2"},
		scenariofile.Set{Path: "events.1.at", Value: "2m"},
		scenariofile.Set{Path: "reschedule", Value: "{after: 3s}"},
		scenariofile.Set{Path: "until", Value: "1h"},
	)
	require.NoError(t, err)
	require.InDelta(t, 0.5, s.Config.NodeEvictionRate, 0)
	require.Equal(t, 7, s.Cluster.Zones[0].Nodes)
	require.Equal(t, 2, s.Cluster.Zones[1].PodsPerNode)
	require.Equal(t, 2, s.Cluster.Zones[2].PodsPerNode, "an alias of the same")
	require.Equal(t, 2*time.Minute, s.Events[0].At)
	require.Equal(t, 3*time.Second, *s.Reschedule.After)
	require.Equal(t, time.Hour, s.Until)

	for path, want := range map[string]string{
		"until.more": "more does not exist: its parent is a plain value", "cluster.zones.c.nodes": "no item is named c", "cluster.zones.4.nodes": "item 4 does not exist: the list has 3",
		"events.0.at": "item 0 does not exist: the list has 1", "a..b": "an empty step", "config.unheardOf": `unknown field "unheardOf"`, "": "an empty step",
	} {
		_, err := scenariofile.Parse("f", []byte(plain), scenariofile.Set{Path: path, Value: "1"})
		require.ErrorContains(t, err, want, path)
	}
	_, err = scenariofile.Parse("f", []byte(plain), scenariofile.Set{Path: "until", Value: ""})
	require.ErrorContains(t, err, "f: --set until=: the value is missing")
	_, err = scenariofile.Parse("f", []byte(plain), scenariofile.Set{Path: "until", Value: "{"})
	require.ErrorContains(t, err, "f: --set until={: ")
}

// Another program that reads the text from elsewhere finds the same files.
func TestResolved(t *testing.T) {
	dir := t.TempDir()
	text := "cluster: {files: [objects.yaml, /abs.yaml]}\navailability:\n- {zone: z, file: &trace ../trace.json}\n- {zone: y, file: *trace}\nuntil: 1m\n"
	resolved, err := scenariofile.Resolved("f", []byte(text), dir, scenariofile.Set{Path: "until", Value: "2m"})
	require.NoError(t, err)
	s, err := scenariofile.Parse("f", resolved)
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(dir, "objects.yaml"), "/abs.yaml"}, s.Cluster.Files)
	for i := range 2 {
		require.Equal(t, filepath.Join(filepath.Dir(dir), "trace.json"), s.Availability[i].File)
	}
	require.Equal(t, 2*time.Minute, s.Until)
	_, err = scenariofile.Resolved("f", []byte("{"), dir)
	require.ErrorContains(t, err, "f:1: near this line")
}

// Pods come in the order of the files, whether or not their nodes come before them. Each file is read once.
func TestPodsBeforeTheirNodes(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte("# YAML\n"+text), 0o600))
		return path
	}
	node := func(name string) string {
		return "{apiVersion: v1, kind: Node, metadata: {name: " + name + "}}\n---\n"
	}
	pod := func(name, node string) string {
		return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + "}, spec: {nodeName: " + node + "}}\n---\n"
	}
	one := write("one.yaml", node("a")+pod("p1", "a")+pod("pending", `""`)+pod("p2", "b")+pod("p3", "a"))
	two := write("two.yaml", pod("p4", "b")+node("b")+pod("lost", "c"))
	read := 0
	played := filed(func(n int) { read += n }, one, two)
	r, err := simulation.Play(context.Background(), played, func(w *simulation.World) (simulation.Controller, error) {
		on := map[string][]string{}
		for _, node := range []string{"a", "b"} {
			w.Clients().Pods.PodsOnNode(node, func(pod *v1.Pod) bool {
				on[node] = append(on[node], pod.Name)
				return true
			})
		}
		require.Equal(t, map[string][]string{"a": {"p3", "p1"}, "b": {"p4", "p2"}}, on, "the last first")
		return w.NewEvictor(evictor.Options{})
	})
	require.NoError(t, err)
	require.Equal(t, map[string]int{simulation.OnMissingNodes: 1, simulation.WithoutNode: 1}, r.NotSimulated)
	size := func(paths ...string) (n int) {
		for _, path := range paths {
			info, err := os.Stat(path)
			require.NoError(t, err)
			n += int(info.Size())
		}
		return n
	}
	require.Equal(t, size(one, two), read, "once")

	played = filed(nil, one, two)
	played.ReplaceAfter = 0
	r, err = simulation.Play(context.Background(), played)
	require.NoError(t, err)
	require.Equal(t, 4+1, r.Pods, "where pods come back, one that waited gets a node")
	require.Equal(t, map[string]int{simulation.OnMissingNodes: 1}, r.NotSimulated)

	four := write("four.yaml", pod("p9", "a")+pod("p1", "a"))
	played = filed(nil, one, four)
	_, err = simulation.Play(context.Background(), played)
	require.ErrorContains(t, err, "pod default/p1 already exists")
	played = filed(nil, write("five.yaml", node("a")+pod("p1", "a")), four)
	_, err = simulation.Play(context.Background(), played)
	require.ErrorContains(t, err, four+": line 3: object 2 (Pod \"p1\"): pod default/p1 already exists")

	ctx, stop := context.WithCancel(context.Background())
	stop()
	s := scenariofile.New()
	s.Cluster.Files = []string{one}
	played, _ = s.Simulation(ctx, nil)
	_, err = simulation.Play(context.Background(), played)
	require.ErrorIs(t, err, context.Canceled)
}

// filed plays the objects of files for a minute.
func filed(read func(int), files ...string) (played simulation.Scenario) {
	s := scenariofile.New()
	s.Cluster.Files, s.Until = files, time.Minute
	played, _ = s.Simulation(context.Background(), read)
	return played
}

// A drain lets a pod go that is not Ready, though too few are, where its budget says so.
func TestBudgetsOfFilesSayWhetherUnhealthyPodsGo(t *testing.T) {
	drained := func(policy string) int {
		path := filepath.Join(t.TempDir(), "objects.yaml")
		require.NoError(t, os.WriteFile(path, []byte(`kind: List
apiVersion: v1
items:
- {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, spec: {minAvailable: 2, `+policy+`selector: {matchLabels: {app: web}}}}
- {apiVersion: v1, kind: Node, metadata: {name: a}}
- {apiVersion: v1, kind: Node, metadata: {name: b}}
- {apiVersion: v1, kind: Pod, metadata: {name: p, labels: {app: web}}, spec: {nodeName: a}, status: {phase: Running, conditions: [{type: Ready, status: "False"}]}}
- {apiVersion: v1, kind: Pod, metadata: {name: q, labels: {app: web}}, spec: {nodeName: b}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}
`), 0o600))
		s, err := scenariofile.Parse("f", []byte("events: [{at: 1m, drain: {node: a, bare: evict}}, {at: 1m, drain: {node: b, bare: evict}}]\nuntil: 2m\n"))
		require.NoError(t, err)
		s.Cluster.Files = []string{path}
		played, _ := s.Simulation(context.Background(), nil)
		report, err := simulation.Play(context.Background(), played)
		require.NoError(t, err)
		return report.Drained
	}
	require.Equal(t, 0, drained(""))
	require.Equal(t, 0, drained("unhealthyPodEvictionPolicy: IfHealthyBudget, "))
	require.Equal(t, 1, drained("unhealthyPodEvictionPolicy: AlwaysAllow, "), "the one that is not Ready")
}

// The object of a StatefulSet says which of its pods wait for others. Its missing pods are not made, as those of Jobs are not.
func TestSetsOfFilesSayWhichPodsWait(t *testing.T) {
	for spec, want := range map[string][]int{ // pods that came back, and that are held
		"":                                {0, 1},
		"podManagementPolicy: Parallel, ": {1, 0},
		"ordinals: {start: 1}, ":          {1, 0},
	} {
		path := filepath.Join(t.TempDir(), "objects.yaml")
		owner := `ownerReferences: [{kind: StatefulSet, name: web, controller: true}]`
		require.NoError(t, os.WriteFile(path, []byte(`kind: List
apiVersion: v1
items:
- {apiVersion: v1, kind: Node, metadata: {name: a}, status: {conditions: [{type: Ready, status: Unknown}]}}
- {apiVersion: v1, kind: Node, metadata: {name: b}}
- {apiVersion: v1, kind: Node, metadata: {name: c}}
- {apiVersion: v1, kind: Pod, metadata: {name: web-0, deletionTimestamp: "2000-01-01T00:00:00Z", `+owner+`}, spec: {nodeName: a}}
- {apiVersion: v1, kind: Pod, metadata: {name: web-2, `+owner+`}, spec: {nodeName: b}}
- {apiVersion: apps/v1, kind: StatefulSet, metadata: {name: web}, spec: {`+spec+`replicas: 5}}
`), 0o600))
		s, err := scenariofile.Parse("f", []byte("events: [{at: 1m, drain: {node: b}}]\nreschedule: {after: 10s}\nuntil: 5m\n"))
		require.NoError(t, err)
		s.Cluster.Files = []string{path}
		played, left := s.Simulation(context.Background(), nil)
		report, err := simulation.Play(context.Background(), played)
		require.NoError(t, err)
		require.Empty(t, left.Kinds)
		require.Equal(t, want, []int{report.ReturnedPods, report.HeldByOrder}, spec)
	}
}
