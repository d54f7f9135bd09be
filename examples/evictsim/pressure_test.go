package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/examples/evictsim/noderecord"
)

const record = "testdata/pressure.jsonl"

func TestRecordTellsItsStory(t *testing.T) {
	story, _, err := simulate(t, "--pressure", record)
	require.NoError(t, err)
	for _, text := range []string{
		"SingleFs, thresholds:\n  memory.available < 100Mi\n",
		"  memory.available < 500Mi for 30s\n",
		"         10s  MemoryPressure begins: memory.available < 500Mi for 30s, 450000000 available\n",
		"         40s  evict shop/batch with 20s to end: memory.available < 500Mi for 30s since 10s\n" +
			"              The node was low on resource: memory. Threshold quantity: 500Mi, available: 440000000. Container main was using 900000000, request is 0, has larger consumption of memory.\n",
		"       1m10s  DiskPressure begins: nodefs.available < 10%, 9000000000 available\n",
		"       1m10s  reclaim DeadContainers and UnusedImages: nodefs.available < 10% since 1m10s\n",
		"       1m10s  evict shop/cart with 1s to end: nodefs.available < 10% since 1m10s\n",
		"       1m50s  MemoryPressure ends\n",
		"       2m20s  DiskPressure ends\n",
		"6 samples over 2m20s: 2 pods evicted, a condition began 2 times\n",
	} {
		require.Contains(t, story, text)
	}
}

func TestTimelineOfARecord(t *testing.T) {
	first, story, err := simulate(t, "--pressure", record, "--timeline", "-")
	require.NoError(t, err)
	require.Contains(t, story, "thresholds:", "the story makes room for the timeline")
	second, errs, err := simulate(t, "--pressure", record, "--timeline", "-", "--quiet")
	require.NoError(t, err)
	require.Equal(t, first, second)
	require.Empty(t, errs)
	lines := strings.Split(strings.TrimSpace(first), "\n")
	require.Equal(t, `{"t":10,"kind":"condition","condition":"MemoryPressure","true":true,"threshold":"memory.available \u003c 500Mi for 30s","available":450000000,"since":10}`, lines[0])
	var event noderecord.Event
	require.NoError(t, json.Unmarshal([]byte(lines[1]), &event))
	require.Equal(t, "shop/batch", event.Pod)
	require.Equal(t, "memory.available", event.Cause)

	story, _, err = simulate(t, "--pressure", record, "--until", "30s")
	require.NoError(t, err)
	require.Contains(t, story, "2 samples over 10s: 0 pods evicted")
	story, _, err = simulate(t, "--pressure", record, "--until", "0s")
	require.NoError(t, err)
	require.Contains(t, story, "1 sample over 0s: 0 pods evicted")
}

// TestWithOtherThresholds: what a kubelet with another configuration would have done.
func TestWithOtherThresholds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubelet.yaml")
	require.NoError(t, os.WriteFile(file, []byte("kind: KubeletConfiguration\nmaxPods: 110\nevictionHard:\n  memory.available: 20%\n"), 0o600))
	story, _, err := simulate(t, "--pressure", record, "--kubelet-config", file)
	require.NoError(t, err)
	require.Contains(t, story, "SingleFs, thresholds:\n  memory.available < 20%\nnot watched, because nothing measures them:\n  allocatableMemory.available < 20%\n\n")
	require.Contains(t, story, "10s  evict shop/batch with 1s")
	require.NotContains(t, story, "DiskPressure")
}

// TestThresholdAboveTheCapacity is warned of: bytes for inodes, say.
func TestThresholdAboveTheCapacity(t *testing.T) {
	file := filepath.Join(t.TempDir(), "record.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(`{"node":{"settings":{"evictionHard":{"nodefs.inodesFree":"100Mi","nodefs.available":"10%"}}}}`+"\n"+
		`{"sample":{"t":0,"signals":{"nodefs.inodesFree":{"available":3000000,"capacity":3276800},"nodefs.available":{"available":3000000,"capacity":3276800}}}}`), 0o600))
	story, _, err := simulate(t, "--pressure", file)
	require.NoError(t, err)
	require.Contains(t, story, "  nodefs.inodesFree < 100Mi (warning: the capacity is 3276800, so this evicts every pod, one after the other)\n")
	require.Equal(t, 1, strings.Count(story, "warning"))
}

func TestBadInputOfANodeNamesThePlace(t *testing.T) {
	write := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"Missing", []string{"--pressure", "nowhere.jsonl"}, "nowhere.jsonl"},
		{"Empty", []string{"--pressure", write("empty.jsonl", "")}, "empty.jsonl: the record is empty"},
		{"Broken", []string{"--pressure", write("broken.jsonl", "{\"node\":{}}\n{]\n")}, "broken.jsonl: line 2: "},
		{"Settings", []string{"--pressure", record, "--kubelet-config", write("k.yaml", "evictionHard: {mem.available: 1}")}, "k.yaml: "},
		{"SettingsFault", []string{"--pressure", record, "--kubelet-config", write("k.yaml", "evictionHard: {mem.available: '1'}")}, "k.yaml: evictionHard[mem.available]"},
		{"SettingsNoYAML", []string{"--pressure", record, "--kubelet-config", write("k.yaml", "\t")}, "k.yaml: "},
		{"SettingsMissing", []string{"--pressure", record, "--kubelet-config", "nowhere.yaml"}, "nowhere.yaml"},
		{"Both", []string{"--pressure", record, "--pressure-live", "n"}, "cannot both be set"},
		{"Scenario", []string{"--pressure", record, "--scenario", "x"}, "--scenario is for a cluster"},
		{"Output", []string{"--pressure", record, "-o", "json"}, "--output is for a cluster"},
		{"Report", []string{"--pressure", record, "--report", "x.html"}, "--report is for a cluster"},
		{"RecordOfARecord", []string{"--pressure", record, "--record", "x"}, "--record needs --pressure-live"},
		{"Summary", []string{"--pressure", record, "--summary", "x", "--pods", "x"}, "--summary needs --pressure-live"},
		{"Layout", []string{"--pressure", record, "--layout", "SplitImageFs"}, "--layout needs --pressure-live"},
		{"Kubeconfig", []string{"--kubeconfig", "x"}, "--kubeconfig needs --pressure-live"},
		{"NoNode", []string{"--pressure-live", ""}, "--pressure-live needs the name of a node"},
		{"NoPods", []string{"--pressure-live", "n", "--summary", "x"}, "--summary and --pods need each other"},
		{"NoSummary", []string{"--pressure-live", "n", "--summary", "nowhere", "--pods", "nowhere"}, "nowhere: no such file"},
		{"WrongPods", []string{"--pressure-live", "n", "--summary", write("s.json", "{}"), "--pods", write("p.json", "[]")}, "p.json: want a list of pods"},
		{"WrongSummary", []string{"--pressure-live", "n", "--summary", write("s.json", "{}"), "--pods", write("p.json", "{}")}, "no node in the summary"},
		{"OtherNode", []string{"--pressure-live", "n", "--summary", write("s.json", `{"node":{"nodeName":"m"}}`), "--pods", write("p.json", "{}")}, `it is that of node "m", not of n`},
		{"NoCluster", []string{"--pressure-live", "n", "--kubeconfig", "nowhere"}, "nowhere"},
		{"KubeletConfig", []string{"--kubelet-config", "x"}, "--kubelet-config needs --pressure"},
		{"Interval", []string{"--pressure-live", "n", "--interval", "0s"}, "--interval 0s is not positive"},
		{"TwiceStdout", []string{"--pressure-live", "n", "--record", "-", "--timeline", "-"}, "--timeline and --record cannot both go to stdout"},
		{"NoTimeline", []string{"--pressure", record, "--timeline", "no/where"}, "timeline: open no/where"},
		{"NoRecord", []string{"--pressure-live", "n", "--summary", write("s.json", `{"node":{"nodeName":"n"}}`), "--pods", write("p.json", "{}"), "--record", "no/where"}, "record: open no/where"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := simulate(t, tc.args...)
			require.ErrorContains(t, err, tc.want)
		})
	}
}

// TestSignalsThatComeAndGo are reported, because a record need not have all of them from the start.
func TestSignalsThatComeAndGo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "record.jsonl")
	sample := func(at int, signals string) string {
		return fmt.Sprintf(`{"sample":{"t":%d,"signals":{%s}}}`+"\n", at, signals)
	}
	memory, disk := `"memory.available":{"available":900000000,"capacity":1000000000}`, `"nodefs.available":{"available":90,"capacity":100}`
	require.NoError(t, os.WriteFile(file, []byte(`{"node":{"settings":{"evictionHard":{"memory.available":"100Mi","nodefs.available":"10%"}}}}`+"\n"+
		sample(0, memory)+sample(10, memory+","+disk)+sample(20, memory+","+disk)+sample(30, memory)), 0o600))
	story, _, err := simulate(t, "--pressure", file)
	require.NoError(t, err)
	require.Contains(t, story, "thresholds:\n  memory.available < 100Mi\nnot watched, because nothing measures them:\n  allocatableMemory.available < 100Mi\n  nodefs.available < 10%\n")
	require.Equal(t, 1, strings.Count(story, "         10s  nodefs.available is measured from now on\n"))
	require.Equal(t, 1, strings.Count(story, "         30s  nodefs.available is no longer measured\n"))
}
