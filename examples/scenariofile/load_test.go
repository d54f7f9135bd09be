package scenariofile_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/examples/scenariofile"
)

func ptr[T any](v T) *T { return &v }

func write(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// TestLoadEverything reads a file that has every field of the format once.
func TestLoadEverything(t *testing.T) {
	text, err := os.ReadFile("testdata/everything.yaml")
	require.NoError(t, err)
	dir := t.TempDir()
	path := write(t, dir, "scenarios/everything.yaml", string(text))
	write(t, dir, "traces/b.json", `{"metadata":{"gap_seconds":600,"zone":"b"},"data":[16,15,0]}`)

	s, err := scenariofile.Load(path)
	require.NoError(t, err)
	want := &scenariofile.Scenario{
		Config: scenariofile.Config{
			NodeMonitorPeriod: 5 * time.Second, NodeMonitorGracePeriod: 40 * time.Second, NodeStartupGracePeriod: time.Minute,
			NodeEvictionRate: 0.1, SecondaryNodeEvictionRate: 0.01, LargeClusterSizeThreshold: 50, UnhealthyZoneThreshold: 0.55,
			PodEvictionTimeout: 5 * time.Minute, TaintBasedEviction: true,
			UseEvictionAPI: true, KubeAPIQPS: 20, KubeAPIBurst: 30,
		},
		Heartbeat: scenariofile.Heartbeat{Interval: 10 * time.Second, StatusInterval: 5 * time.Minute, NotReadyFor: 15 * time.Second, Spread: scenariofile.SpreadEven},
		Cluster: scenariofile.Cluster{
			Files:                    []string{filepath.Join(dir, "scenarios/nodes.yaml"), "/clusters/pods.json"},
			DefaultTolerationSeconds: ptr(simulation.TolerationSeconds(60)),
			Zones: []simulation.Zone{
				{
					Name: "a", Region: "r1", Nodes: 100, PodsPerNode: 10, TolerationSeconds: ptr(simulation.TolerationSeconds(300)), DaemonSetPodsPerNode: 1,
					NodeFields: simulation.NodeFields{
						Labels:   map[string]string{"pool": "gpu", "rack": "7"},
						Taints:   []simulation.NodeTaint{{Key: "gpu", Value: "1", Effect: "NoSchedule"}},
						Capacity: map[string]simulation.Quantity{"cpu": "8", "memory": "32Gi", "pods": "110", "nvidia.com/gpu": "4"},
					},
					Pod: simulation.PodFields{
						Labels:   map[string]string{"app": "web"},
						Requests: map[string]simulation.Quantity{"cpu": "500m", "memory": "1Gi"},
						Tolerations: []simulation.Toleration{
							{Key: "gpu", Operator: "Equal", Value: "1", Effect: "NoSchedule"},
							{Key: "maintenance", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: ptr(int64(60))},
						},
						NodeSelector: map[string]string{"pool": "gpu"}, Owner: "StatefulSet/web", TerminationGracePeriodSeconds: 30,
					},
				},
				{Name: "b", Nodes: 10},
			},
		},
		Events: []simulation.Event{
			{At: 2 * time.Minute, Fail: &simulation.Nodes{Zone: "a", Count: 30}},
			{At: 2 * time.Minute, Fail: &simulation.Nodes{Names: []string{"a-001", "a-002"}}},
			{At: 2 * time.Minute, Fail: &simulation.Nodes{Labels: "rack=7,pool=gpu", Percent: 12.5, Seed: 7}},
			{At: 2 * time.Minute, Fail: &simulation.Nodes{Zone: "a", Labels: "pool in (gpu), !spot", Count: 1}},
			{At: 12 * time.Minute, Recover: &simulation.Nodes{Zone: "a"}},
			{At: 12 * time.Minute, Recover: &simulation.Nodes{Names: []string{"a-001"}}},
			{At: time.Minute, Condition: &simulation.Condition{Nodes: simulation.Nodes{Names: []string{"a-003"}}, Type: "Ready", Status: "False"}},
			{At: 3 * time.Minute, Taint: &simulation.Taint{Nodes: simulation.Nodes{Names: []string{"a-004"}}, NodeTaint: simulation.NodeTaint{Key: "maintenance", Value: "now", Effect: "NoExecute"}}},
			{At: 4 * time.Minute, Untaint: &simulation.Untaint{Nodes: simulation.Nodes{Names: []string{"a-004"}}, Key: "maintenance", Effect: "NoExecute"}},
			{At: 4 * time.Minute, Partition: &simulation.Partition{Nodes: simulation.Nodes{Zone: "a", Count: 2}, Clients: ptr(0.25)}},
			{At: 4 * time.Minute, Drain: &simulation.Drain{Nodes: simulation.Nodes{Names: []string{"a-008", "a-009"}}, Timeout: 15 * time.Minute, Then: "force", Bare: "evict", EmptyDir: "refuse", Wait: ptr(false)}},
			{At: 4 * time.Minute, OutOfService: &simulation.Nodes{Names: []string{"a-001"}}},
			{At: 4 * time.Minute, LoseLeases: &simulation.LoseLeases{Nodes: simulation.Nodes{Names: []string{"a-001"}}, ShowAfter: 30 * time.Second}},
			{At: 4 * time.Minute, ShowLeases: &simulation.Nodes{Names: []string{"a-001"}}},
			{At: 4 * time.Minute, ReplaceNode: &simulation.ReplaceNode{Nodes: simulation.Nodes{Names: []string{"a-002"}}, After: 90 * time.Second}},
			{At: 4 * time.Minute, Roll: &simulation.Roll{Nodes: simulation.Nodes{Names: []string{"a-010", "a-011"}}, After: 90 * time.Second, Wait: 30 * time.Second, Timeout: 15 * time.Minute, Then: "giveUp"}},
			{At: 4 * time.Minute, Cordon: &simulation.Nodes{Names: []string{"a-005"}}},
			{At: 4 * time.Minute, Uncordon: &simulation.Nodes{Names: []string{"a-005"}}},
			{At: 5 * time.Minute, DeleteNode: &simulation.Nodes{Names: []string{"a-006"}}},
			{At: 5 * time.Minute, AddNode: &simulation.AddNode{Name: "b-100", Zone: "b", Region: "r1", PodsPerNode: 5}},
			{At: 5 * time.Minute, AddNode: &simulation.AddNode{
				Name: "b-101", Zone: "b", DaemonSetPodsPerNode: 1, TolerationSeconds: ptr(simulation.NoToleration),
				NodeFields: simulation.NodeFields{
					Labels: map[string]string{"pool": "cpu"}, Taints: []simulation.NodeTaint{{Key: "new", Effect: "PreferNoSchedule"}},
					Capacity: map[string]simulation.Quantity{"cpu": "4"}, Unschedulable: true,
				},
				Pod: simulation.PodFields{Requests: map[string]simulation.Quantity{"cpu": "1"}},
			}},
			{At: 5 * time.Minute, AddPod: &simulation.AddPod{Name: "x", Node: "a-007", TolerationSeconds: ptr(simulation.TolerationSeconds(30))}},
			{At: 5 * time.Minute, AddPod: &simulation.AddPod{Name: "y", Node: "a-007", PodFields: simulation.PodFields{
				Labels: map[string]string{"app": "y"}, Requests: map[string]simulation.Quantity{"cpu": "1"}, Tolerations: []simulation.Toleration{{Operator: "Exists"}},
				NodeSelector: map[string]string{"pool": "gpu"}, Owner: simulation.NoOwner,
			}}},
			{At: 6 * time.Minute, DeletePod: &simulation.Pod{Name: "x"}},
			{At: 6 * time.Minute, ForceDelete: &simulation.Pod{Name: "a-001-p0"}},
			{At: 7 * time.Minute, API: &simulation.API{State: "down"}},
			{At: 7 * time.Minute, API: &simulation.API{State: "slow", Latency: 2 * time.Second, For: "kubelets"}},
			{At: 7 * time.Minute, API: &simulation.API{State: "failing", Answer: "written"}},
			{At: 8 * time.Minute, Restart: &simulation.Restart{}},
			{At: 10 * time.Minute, Repeat: &simulation.Repeat{Every: 5 * time.Minute, Times: 3, Events: []simulation.Event{
				{At: 0, Cordon: &simulation.Nodes{Zone: ":b"}},
				{At: time.Minute, Uncordon: &simulation.Nodes{Zone: ":b"}},
			}}},
		},
		Availability: []scenariofile.Availability{{Zone: "b", File: filepath.Join(dir, "traces/b.json"), Scale: ptr(10), Gap: 10 * time.Minute, Alive: []int{16, 15, 0}}},
		Reschedule:   &scenariofile.Reschedule{After: ptr(10 * time.Second), Ready: 45 * time.Second},
		Maintenance:  time.Hour,
		Together:     []string{"jobset.sigs.k8s.io/jobset-name", "app"},
		Until:        30 * time.Minute,
		Expect: []scenariofile.Expectation{
			{Figure: "evicted", AtLeast: amount(1), AtMost: amount(300)},
			{Figure: "lastEvictionSeconds", Zone: "r1:a", AtMost: &scenariofile.Amount{Time: 20 * time.Minute}},
			{Figure: "lowestReadyShare", Workload: "default/StatefulSet/web", AtLeast: amount(0.5)},
			{Figure: "belowSeconds", Budget: "shop/web", AtMost: amount(0)},
		},
	}
	require.Equal(t, want, s)
	events, of := reflect.ValueOf(s.Events), reflect.TypeFor[simulation.Event]()
	for i := range of.NumField() {
		has := false
		for k := range s.Events {
			has = has || !events.Index(k).Field(i).IsZero()
		}
		require.True(t, has, "the file has no event with %s", of.Field(i).Name)
	}
}

func TestParse(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       string // all errors; "" for none
	}{
		{"least", "until: 1m\n", ""},
		{"JSON", `{"until":"1m","events":[{"at":"0","restart":{}}]}`, ""},
		{"no value", "config:\ncluster: ~\nevents:\nuntil: 1m\n", ""},
		{"text without quotes", "events: [{at: 0, condition: {node: 1, type: Ready, status: False}}]\n", ""},
		{"aliases", "x: &e {at: 1m, restart: {}}\n", `f:1: unknown field "x"`},
		{"shared and merged events", "events:\n- &e {at: 1m, restart: {}}\n- *e\n- {<<: *e}\n- {<<: [*e]}\nuntil: 1m\n", ""},
		{"unknown in what is merged", "events:\n- &e {at: 1m, restat: {}}\n- {<<: [*e]}\n", `f:2: event 1: unknown field "restat" (do you mean restart?)`},

		{"empty", "", "f: the file is empty"},
		{"comment", "# nothing\n", "f: the file is empty"},
		{"null", "~\n", "f:1: a scenario must be a mapping, such as until: 30m"},
		{"list", "\n- until: 1m\n", "f:2: a scenario must be a mapping, such as until: 30m"},
		{"two documents", "until: 1m\n---\nuntil: 2m\n", "f: the file has more than one document"},
		{"broken second document", "until: 1m\n---\nuntil: [\n", "f:3: near this line: did not find expected node content (the file ends there: is it cut off?)"},
		{"unknown field", "until: 1m\nconfg: {}\n", `f:2: unknown field "confg" (do you mean config?)`},
		{"unknown fields everywhere", `config: {nodeMonitorPeriode: 5s}
heartbeat:
  jitter: 1
cluster:
  nodes: 3
  zones:
  - name: a
    size: 3
events:
- at: 1m
  fail: {zone: a, share: 10}
- {at: 1m, reboot: {node: a}}
- {at: 1m, restart: {now: true}}
availability:
- {zone: a, trace: x}
reschedule: {before: 1s}
`, `f:1: config: unknown field "nodeMonitorPeriode" (do you mean nodeMonitorPeriod?)
f:3: heartbeat: unknown field "jitter"
f:5: cluster: unknown field "nodes"
f:8: cluster: zone 1: unknown field "size"
f:11: event 1: fail: unknown field "share"
f:12: event 2: unknown field "reboot"
f:13: event 3: restart: unknown field "now"
f:15: availability 1: unknown field "trace"
f:16: reschedule: unknown field "before"`},
		{"faults of selectors, fields and repeat", `events:
- at: 1m
  fail:
    selector: pool in gpu
    percent: half
- {at: 1m, fail: {selector: {pool: [a]}, seed: 1.5}}
- {at: 1m, partition: {zone: a, client: 1}}
- at: 1m
  repeat:
    every: often
    events:
    - {at: 0, drain: {nod: a}}
- {at: 1m, addNode: {name: n, capacity: {cpu: lots, memory: -1, pods: ~}, labels: {a: b, a: c}, pods: {}}}
- at: 1m
  addPod:
    owner: me
    requests: [1]
`, "f:4: event 1: fail: selector \"pool in gpu\": unable to parse requirement: found 'gpu' expected: '('\n" +
			"f:5: event 1: fail: percent: found `half`, need a number\n" +
			"f:6: event 2: fail: pool: found a list, need text\n" +
			"f:6: event 2: fail: seed: 1.5 is not a whole number\n" +
			"f:7: event 3: partition: unknown field \"client\" (do you mean clients?)\n" +
			"f:10: event 4: repeat: every: \"often\" is not a duration such as 90s, 1m30s or 0\n" +
			"f:12: event 4: repeat: event 1: drain: unknown field \"nod\" (do you mean node?)\n" +
			"f:13: event 5: addNode: capacity: cpu: \"lots\" is not a quantity such as 500m, 32Gi or 4\n" +
			"f:13: event 5: addNode: capacity: memory: -1 is negative\n" +
			"f:13: event 5: addNode: capacity: pods has no value\n" +
			"f:13: event 5: addNode: labels: mapping key \"a\" already defined at line 13\n" +
			"f:13: event 5: addNode: unknown field \"pods\" (do you mean pod?)\n" +
			"f:16: event 6: addPod: owner: \"me\" is neither none nor Kind/name\n" +
			"f:17: event 6: addPod: requests: found a list, need a mapping"},
		{"field of another case", "Until: 1m\n", `f:1: unknown field "Until" (do you mean until?)`},
		{"field twice", "until: 1m\nuntil: 2m\n", `f:2: mapping key "until" already defined at line 1`},
		{"no durations", "until: soon\nheartbeat:\n  interval: 10\n", `f:1: until: "soon" is not a duration such as 90s, 1m30s or 0
f:3: heartbeat: interval: "10" is not a duration such as 90s, 1m30s or 0`},
		{"other types", "config:\n  taintBasedEviction: maybe\n  nodeEvictionRate: fast\nevents:\n- at: 1m\n  fail: a\n- {at: [1m], fail: {count: 1.5, nodes: a}}\nuntil: x\n",
			"f:2: config: taintBasedEviction: found `maybe`, need true or false\n" +
				"f:3: config: nodeEvictionRate: found `fast`, need a number\n" +
				"f:6: event 1: fail: found `a`, need a mapping\n" +
				"f:7: event 2: at: found a list, need a duration\n" +
				"f:7: event 2: fail: count: 1.5 is not a whole number\n" +
				"f:7: event 2: fail: nodes: found `a`, need a list\n" +
				"f:8: until: \"x\" is not a duration such as 90s, 1m30s or 0"},
		{"lists for what has one value", "cluster: {zones: [{name: a, nodes: [1], tolerationSeconds: [], pod: {owner: [x], requests: {cpu: {}}}}]}\nheartbeat: {spread: []}\nevents:\n- {at: 1m, fail: {seed: [1]}}\nexpect:\n- {figure: evicted, atMost: []}\n",
			`f:1: cluster: zone 1: nodes: found a list, need a whole number below 2^63
f:1: cluster: zone 1: tolerationSeconds: found a list, need a whole number or none
f:1: cluster: zone 1: pod: owner: found a list, need an owner
f:1: cluster: zone 1: pod: requests: cpu: found a mapping, need a quantity
f:2: heartbeat: spread: found a list, need text
f:4: event 1: fail: seed: found a list, need a whole number below 2^63
f:6: expect 1: atMost: found a list, need a number or a duration`},
		{"endless alias", "events: &e [*e]\n", "f:1: event 1: found a list, need a mapping"},
		{"another endless alias", "events: [&e {at: 1m, fail: {nodes: &n [*n]}}]\n", "f:1: event 1: fail: node 1: found a list, need text"},
		{"whole numbers", "cluster: {zones: [{name: a, nodes: 1e1, podsPerNode: 0x10, tolerationSeconds: 3.0}]}\n", ""},
		{"no whole numbers", "cluster: {zones: [{name: a, nodes: .nan, podsPerNode: 1e40, tolerationSeconds: .5}]}\n",
			"f:1: cluster: zone 1: nodes: .nan is not a whole number\n" +
				"f:1: cluster: zone 1: podsPerNode: found `1e40`, need a whole number below 2^63\n" +
				"f:1: cluster: zone 1: tolerationSeconds: .5 is not a whole number"},
		{"truncated flow", "until: 1m\nevents:\n- {at: 1m, fail: {zone", "f:2: near this line: did not find expected ',' or '}' (is a bracket not closed, or is the file cut off?)"},
		{"truncated text", "until: 1m\nevents: [{at: \"1", "f:2: near this line: found unexpected end of stream (is a quote not closed, or is the file cut off?)"},
		{"no space after a colon", "until:1m\nevents: []\n", "f:2: near this line: mapping values are not allowed in this context (is a space missing after a colon, a line indented wrongly, or a text with a colon without quotes?)"},
		{"star", "until: 1m\nevents: [{at: 1m, fail: {zone: *b}}]\n", "f:2: unknown anchor 'b' referenced (a text that begins with * needs quotes)"},
		{"tab", "config:\n\tnodeMonitorPeriod: 5s\nheartbeat:\n  interval: 1s\nuntil: 1m\n", "f:2: column 1: a tab; YAML allows only spaces for indentation"},
		{"binary", "\x00\x01", "f: control characters are not allowed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := scenariofile.Parse("f", []byte(test.text))
			if test.want == "" {
				require.NoError(t, err)
				require.NotNil(t, s)
				return
			}
			require.EqualError(t, err, test.want)
			require.Nil(t, s)
		})
	}
}

func TestParseNumbersAreTextWhereTextIsWanted(t *testing.T) {
	s, err := scenariofile.Parse("f", []byte("events: [{at: 0, condition: {node: 007, type: Ready, status: False}}, {at: 1s, fail: {zone: ~}}, {at: 1s, fail: {zone: ''}}]"))
	require.NoError(t, err)
	require.Equal(t, &simulation.Condition{Nodes: simulation.Nodes{Names: []string{"007"}}, Type: "Ready", Status: "False"}, s.Events[0].Condition)
	require.Empty(t, s.Events[1].Fail.Zone)
	require.Equal(t, ":", s.Events[2].Fail.Zone, "the zone of nodes without a label")
}

func TestSize(t *testing.T) {
	fits := "until: 1m\n" + strings.Repeat("#", scenariofile.MaxSize-len("until: 1m\n"))
	path := write(t, t.TempDir(), "s.yaml", fits)
	_, err := scenariofile.Load(path)
	require.NoError(t, err)

	tooLarge := fits + "\n"
	write(t, filepath.Dir(path), "s.yaml", tooLarge)
	_, err = scenariofile.Load(path)
	require.EqualError(t, err, path+": the file is larger than 16 MiB")
	_, err = scenariofile.Parse("f", []byte(tooLarge))
	require.EqualError(t, err, "f: the file is larger than 16 MiB")
	_, _, err = scenariofile.LoadTrace(path)
	require.EqualError(t, err, path+": the file is larger than 16 MiB")
}

func TestLoadFaults(t *testing.T) {
	dir := t.TempDir()
	_, err := scenariofile.Load(filepath.Join(dir, "none.yaml"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = scenariofile.Load(dir)
	require.Error(t, err)
	_, err = scenariofile.Load(write(t, dir, "bad.yaml", "x: 1"))
	require.EqualError(t, err, filepath.Join(dir, "bad.yaml")+`:1: unknown field "x"`)

	path := write(t, dir, "s.yaml", "availability: [{zone: a, file: none.json}, {zone: b, file: bad.json}]\nuntil: 1m\n")
	write(t, dir, "bad.json", `{"data":[1]}`)
	_, err = scenariofile.Load(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, path+":1: availability 1: file: open "+filepath.Join(dir, "none.json"))
	require.ErrorContains(t, err, path+":1: availability 2: file: "+filepath.Join(dir, "bad.json")+": gap_seconds 0 is not a positive number of seconds")
}

func TestLoadTrace(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"":             "unexpected end of JSON input",
		"[]":           "json: cannot unmarshal array",
		`{"data":[1,2`: "unexpected end of JSON input",
		`{"metadata":{"gap_seconds":1},"data":[1.5]}`: "json: cannot unmarshal number 1.5",
		`{"metadata":{"gap_seconds":-1},"data":[]}`:   "gap_seconds -1 is not a positive number of seconds",
		`{"metadata":{"gap_seconds":1},"data":[]}`:    "data is empty",
	} {
		path := write(t, dir, "t.json", text)
		_, _, err := scenariofile.LoadTrace(path)
		require.ErrorContains(t, err, path+": "+want)
	}
}

func TestRealTraces(t *testing.T) {
	data := os.Getenv("EVICTKIT_DATA")
	if data == "" {
		t.Skip("EVICTKIT_DATA is not set")
	}
	files, err := filepath.Glob(filepath.Join(data, "spot", "*.json"))
	require.NoError(t, err)
	require.Len(t, files, 3)
	for _, file := range files {
		gap, alive, err := scenariofile.LoadTrace(file)
		require.NoError(t, err)
		require.Equal(t, 5*time.Minute, gap)
		require.Equal(t, 16, slices.Max(alive))
	}
}

func amount(v float64) *scenariofile.Amount { return &scenariofile.Amount{Number: v} }
