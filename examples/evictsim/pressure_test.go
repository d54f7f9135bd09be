package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
		{"Both", []string{"--pressure", record, "--pressure-live"}, "cannot both be set"},
		{"Scenario", []string{"--pressure", record, "--scenario", "x"}, "--scenario is for a cluster"},
		{"RecordOfARecord", []string{"--pressure", record, "--record", "x"}, "--record needs --pressure-live"},
		{"Cgroup", []string{"--cgroup", "x"}, "--cgroup needs --pressure-live"},
		{"NodeFs", []string{"--pressure", record, "--nodefs", "/"}, "--nodefs needs --pressure-live"},
		{"NoNodeFs", []string{"--pressure-live", "--cgroup", t.TempDir(), "--nodefs", "nowhere"}, "--nodefs and --imagefs: nowhere: no such file"},
		{"KubeletConfig", []string{"--kubelet-config", "x"}, "--kubelet-config needs --pressure"},
		{"Interval", []string{"--pressure-live", "--interval", "0s"}, "--interval 0s is not positive"},
		{"NoCgroup", []string{"--pressure-live", "--cgroup", "nowhere"}, "--cgroup: stat nowhere"},
		{"TwiceStdout", []string{"--pressure-live", "--cgroup", "nowhere", "--record", "-", "--timeline", "-"}, "--timeline and --record cannot both go to stdout"},
		{"NoTimeline", []string{"--pressure", record, "--timeline", "no/where"}, "timeline: open no/where"},
		{"NoRecord", []string{"--pressure-live", "--cgroup", t.TempDir(), "--record", "no/where"}, "record: open no/where"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := simulate(t, tc.args...)
			require.ErrorContains(t, err, tc.want)
		})
	}
}

// machine is a cgroup with one pod, and what else is needed of /proc.
type machine struct {
	t   *testing.T
	dir string
}

// newMachine returns a machine with what every Linux says of its tasks.
func newMachine(t *testing.T) machine {
	m := machine{t, t.TempDir()}
	m.write("proc/loadavg", "0.14 0.57 2.00 1/95 1366\n")
	m.write("proc/sys/kernel/pid_max", "32768\n")
	return m
}

func (m machine) write(path string, format string, args ...any) {
	path = filepath.Join(m.dir, path)
	require.NoError(m.t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(m.t, os.WriteFile(path, fmt.Appendf(nil, format, args...), 0o600))
}

// uses sets what the node's only pod uses, in MiB, out of 1000.
func (m machine) uses(used int) {
	for _, dir := range []string{"cgroup/", "cgroup/kubepods/", "cgroup/kubepods/besteffort/podcart/"} {
		m.write(dir+"memory.current", "%d\n", used<<20)
		m.write(dir+"memory.stat", "inactive_file 0\n")
	}
}

// TestLive: a machine is measured and recorded, and the record gives the same story.
func TestLive(t *testing.T) {
	var out, errs bytes.Buffer
	m := newMachine(t)
	m.write("proc/meminfo", "MemTotal: 99999999 kB\n")
	m.write("cgroup/memory.max", "%d\n", 1000<<20)
	m.write("cgroup/kubepods/memory.max", "max\n")
	m.uses(100)
	to := filepath.Join(m.dir, "record.jsonl")
	synctest.Test(t, func(t *testing.T) {
		f := flags{until: time.Minute, pressure: pressureFlags{live: true, cgroup: filepath.Join(m.dir, "cgroup"), proc: filepath.Join(m.dir, "proc"), to: to, interval: 10 * time.Second}}
		go func() {
			time.Sleep(15 * time.Second)
			m.uses(950)
		}()
		require.NoError(t, pressure(context.Background(), f, &out, &errs))
	})
	story := out.String()
	require.Empty(t, errs.String())
	require.Contains(t, story, "          0s  memory.available 900 MiB of 1000 MiB, pid.available 32,673 of 32,768; 1 pod\n")
	require.Contains(t, story, "         20s  MemoryPressure begins: memory.available < 100Mi, 52428800 available\n")
	require.Contains(t, story, "         20s  evict cgroup/podcart with 1s to end: memory.available < 100Mi since 20s\n")
	require.Equal(t, 1, strings.Count(story, "evict "), "from then on it is taken for gone")
	require.Contains(t, story, "7 samples over 1m0s: 1 pod evicted, a condition began 1 time\n")

	again, _, err := simulate(t, "--pressure", to)
	require.NoError(t, err)
	var events []string
	for _, line := range strings.Split(story, "\n") {
		if !strings.Contains(line, "memory.available 9") && !strings.Contains(line, "memory.available 5") {
			events = append(events, line)
		}
	}
	require.Equal(t, strings.Join(events, "\n"), again)
}

// TestLiveMeasuresDisks if told which, and reports those that it does not measure.
func TestLiveMeasuresDisks(t *testing.T) {
	m := newMachine(t)
	m.write("proc/meminfo", "MemTotal: 4000000 kB\nMemFree: 3000000 kB\nInactive(file): 0 kB\n")
	m.write("cgroup/cgroup.controllers", "memory\n")
	ctx, stop := context.WithCancel(context.Background())
	stop()
	play := func(nodeFs, imageFs string) string {
		var out bytes.Buffer
		f := flags{pressure: pressureFlags{live: true, cgroup: filepath.Join(m.dir, "cgroup"), proc: filepath.Join(m.dir, "proc"), nodeFs: nodeFs, imageFs: imageFs, interval: time.Hour}}
		require.NoError(t, pressure(ctx, f, &out, &out))
		return out.String()
	}
	watched, not, _ := strings.Cut(play(m.dir, ""), "not watched, because nothing measures them:\n")
	require.Contains(t, watched, "SingleFs (nodefs "+m.dir+", imagefs "+m.dir+"), thresholds:\n  memory.available < 100Mi\n  nodefs.available < 10%\n")
	require.Contains(t, watched, "  containerfs.available < 10%\n")
	require.Contains(t, not, "  allocatableMemory.available < 100Mi\n\n")
	require.Regexp(t, `nodefs.available [\d.]+ [KMGTP]iB of [\d.]+`, not, "as it was measured")

	require.Contains(t, play(m.dir, "/proc"), "DedicatedImageFs (nodefs "+m.dir+", imagefs /proc), thresholds:\n")

	watched, not, _ = strings.Cut(play("", ""), "not watched, because nothing measures them:\n")
	require.Contains(t, watched, "SingleFs, thresholds:\n  memory.available < 100Mi\n")
	for _, signal := range []string{"nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree", "containerfs.available", "containerfs.inodesFree"} {
		require.NotContains(t, watched, signal)
		require.Contains(t, not, "  "+signal+" < ")
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

// TestLiveEndsWhenInterrupted and writes what it has so far.
func TestLiveEndsWhenInterrupted(t *testing.T) {
	m := newMachine(t)
	m.write("proc/meminfo", "MemTotal: 4000000 kB\nMemFree: 3000000 kB\nInactive(file): 0 kB\n")
	m.write("cgroup/cgroup.controllers", "memory\n")
	to := filepath.Join(m.dir, "record.jsonl")
	var out bytes.Buffer
	ctx, stop := context.WithCancel(context.Background())
	stop()
	f := flags{pressure: pressureFlags{live: true, cgroup: filepath.Join(m.dir, "cgroup"), proc: filepath.Join(m.dir, "proc"), to: to, interval: time.Hour}}
	require.NoError(t, pressure(ctx, f, &out, &out))
	require.Contains(t, out.String(), "has no memory.current: memory is that of the machine, from /proc/meminfo")
	written, err := os.ReadFile(to)
	require.NoError(t, err)
	require.Equal(t, 2, bytes.Count(written, []byte("\n")))

	var record, story bytes.Buffer
	f.pressure.to, f.quiet = "-", true
	require.NoError(t, pressure(ctx, f, &record, &story))
	require.Empty(t, story.String())
	require.Equal(t, 2, strings.Count(record.String(), "\n"))
	f.quiet = false
	require.NoError(t, pressure(ctx, f, io.Discard, &story))
	require.Contains(t, story.String(), "thresholds:")
	require.NotContains(t, story.String(), `{"node"`)
}

// TestLiveRecordIsThereAtOnce: however the program ends, what was measured is recorded.
func TestLiveRecordIsThereAtOnce(t *testing.T) {
	m := newMachine(t)
	m.write("proc/meminfo", "MemTotal: 4000000 kB\nMemFree: 3000000 kB\nInactive(file): 0 kB\n")
	m.write("cgroup/cgroup.controllers", "memory\n")
	to, timeline := filepath.Join(m.dir, "record.jsonl"), filepath.Join(m.dir, "timeline.jsonl")
	var record, events []byte
	var recordErr, eventsErr error
	synctest.Test(t, func(t *testing.T) {
		f := flags{until: time.Minute, timeline: timeline, pressure: pressureFlags{live: true, cgroup: filepath.Join(m.dir, "cgroup"), proc: filepath.Join(m.dir, "proc"), to: to, interval: 10 * time.Second}}
		go func() {
			time.Sleep(5 * time.Second)
			m.write("proc/meminfo", "MemTotal: 4000000 kB\nMemFree: 3000 kB\nInactive(file): 0 kB\n")
			time.Sleep(10 * time.Second)
			record, recordErr = os.ReadFile(to)
			events, eventsErr = os.ReadFile(timeline)
		}()
		require.NoError(t, pressure(context.Background(), f, io.Discard, io.Discard))
	})
	require.NoError(t, errors.Join(recordErr, eventsErr))
	require.Equal(t, 3, bytes.Count(record, []byte("\n")), "the node and two samples")
	require.Contains(t, string(events), "MemoryPressure")
}
