package cgroup

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor/nodepressure"
)

type files map[string]string

// node makes the files of a machine with 4000 kB, below cgroup and proc.
func node(t *testing.T, given files) Node {
	t.Helper()
	dir := t.TempDir()
	all := files{"proc/meminfo": "MemTotal:       4000 kB\nMemFree:        1000 kB\nInactive(file):  500 kB\n", "proc/sys/kernel/pid_max": "32768\n", "cgroup/cgroup.controllers": "memory pids\n"}
	for name, text := range given {
		all[name] = text
	}
	for name, text := range all {
		if text == "" {
			continue
		}
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return Node{Dir: filepath.Join(dir, "cgroup"), Proc: filepath.Join(dir, "proc")}
}

// uses adds the usage of a cgroup.
func (f files) uses(dir string, current, inactive int) files {
	f["cgroup/"+dir+"/memory.current"] = fmt.Sprintln(current)
	f["cgroup/"+dir+"/memory.stat"] = fmt.Sprintf("anon 1\ninactive_anon 7\ninactive_file %d\nactive_file 9\n", inactive)
	return f
}

func TestSignals(t *testing.T) {
	const machine = 4000 * 1024
	for _, tc := range []struct {
		name  string
		files files
		want  map[nodepressure.Signal]nodepressure.Sample
	}{
		{"Limited", files{"cgroup/memory.max": "1000000\n"}.uses(".", 600_000, 100_000), map[nodepressure.Signal]nodepressure.Sample{
			nodepressure.MemoryAvailable: {Available: 500_000, Capacity: 1_000_000},
		}},
		{"Unlimited", files{"cgroup/memory.max": "max\n"}.uses(".", 600_000, 100_000), map[nodepressure.Signal]nodepressure.Sample{
			nodepressure.MemoryAvailable: {Available: machine - 500_000, Capacity: machine},
		}},
		{"LimitAboveTheMachine", files{"cgroup/memory.max": "9999999999\n"}.uses(".", 600_000, 700_000), map[nodepressure.Signal]nodepressure.Sample{
			nodepressure.MemoryAvailable: {Available: machine, Capacity: machine},
		}},
		{"Root", files{}, map[nodepressure.Signal]nodepressure.Sample{
			nodepressure.MemoryAvailable: {Available: 1500 * 1024, Capacity: machine},
		}},
		{"RootWithMoreFreeThanThereIs", files{"proc/meminfo": "MemTotal: 4000 kB\nMemFree: 3600 kB\nInactive(file): 500 kB\n"}, map[nodepressure.Signal]nodepressure.Sample{
			nodepressure.MemoryAvailable: {Available: machine, Capacity: machine},
		}},
		{"RootThatTellsWhatItUses", files{"cgroup/memory.stat": "anon 1000000\nfile 500000\nkernel 90000\ninactive_file 200000\n"}, map[nodepressure.Signal]nodepressure.Sample{
			nodepressure.MemoryAvailable: {Available: machine - 1_300_000, Capacity: machine},
		}},
		{"UsedBeyondTheLimit", files{"cgroup/memory.max": "500000\n"}.uses(".", 600_000, 0), map[nodepressure.Signal]nodepressure.Sample{
			nodepressure.MemoryAvailable: {Available: -100_000, Capacity: 500_000},
		}},
		{"Processes", files{"cgroup/pids.current": "68", "cgroup/pids.max": "100"}, map[nodepressure.Signal]nodepressure.Sample{
			nodepressure.MemoryAvailable: {Available: 1500 * 1024, Capacity: machine}, nodepressure.PIDAvailable: {Available: 32, Capacity: 100},
		}},
		{"ProcessesOfTheKernel", files{"cgroup/pids.current": "68", "cgroup/pids.max": "max"}, map[nodepressure.Signal]nodepressure.Sample{
			nodepressure.MemoryAvailable: {Available: 1500 * 1024, Capacity: machine}, nodepressure.PIDAvailable: {Available: 32700, Capacity: 32768},
		}},
		{"NoProcessesAllowed", files{"cgroup/pids.current": "2", "cgroup/pids.max": "0"}, map[nodepressure.Signal]nodepressure.Sample{
			nodepressure.MemoryAvailable: {Available: 1500 * 1024, Capacity: machine}, nodepressure.PIDAvailable: {Available: -2, Capacity: 0},
		}},
		{"AllocatableWithoutALimit", files{"cgroup/kubepods.slice/memory.max": "max"}.uses("kubepods.slice", 600_000, 100_000), map[nodepressure.Signal]nodepressure.Sample{
			nodepressure.MemoryAvailable: {Available: 1500 * 1024, Capacity: machine},
		}},
		{"Allocatable", files{"cgroup/kubepods.slice/memory.max": "2000000"}.uses("kubepods.slice", 600_000, 100_000), map[nodepressure.Signal]nodepressure.Sample{
			nodepressure.MemoryAvailable: {Available: 1500 * 1024, Capacity: machine}, nodepressure.AllocatableMemoryAvailable: {Available: 1_500_000, Capacity: 2_000_000},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := node(t, tc.files).Signals()
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestPods(t *testing.T) {
	for _, tc := range []struct {
		name  string
		files files
		want  []string
	}{
		{"Systemd", files{"cgroup/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod2.slice/memory.min": "1000"}.
			uses("kubepods.slice", 9, 0).
			uses("kubepods.slice/kubepods-besteffort.slice", 9, 0).
			uses("kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1.slice", 500, 100).
			uses("kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod2.slice", 600, 100).
			uses("kubepods.slice/kubepods-pod3.slice", 700, 100).
			uses("system.slice", 800, 100), []string{
			"cgroup/kubepods-besteffort-pod1.slice BestEffort 400 of 0", "cgroup/kubepods-burstable-pod2.slice Burstable 500 of 1000", "cgroup/kubepods-pod3.slice Burstable 600 of 0",
		}},
		{"Cgroupfs", files{"cgroup/kubepods/pod3/memory.min": "1000"}.
			uses("kubepods", 9, 0).uses("kubepods/besteffort/pod1", 500, 100).uses("kubepods/burstable/pod2", 600, 100).uses("kubepods/pod3", 700, 100), []string{
			"cgroup/pod1 BestEffort 400 of 0", "cgroup/pod2 Burstable 500 of 0", "cgroup/pod3 Guaranteed 600 of 1000",
		}},
		{"OnlyGuaranteed", files{}.uses("kubepods", 9, 0).uses("kubepods/pod3", 700, 100), []string{"cgroup/pod3 Burstable 600 of 0"}},
		{"GuaranteedWithoutMemoryMin", files{"cgroup/kubepods/pod3/memory.max": "1000", "cgroup/kubepods/pod3/memory.min": "0", "cgroup/kubepods/burstable/pod2/memory.max": "1000"}.
			uses("kubepods", 9, 0).uses("kubepods/burstable/pod2", 600, 100).uses("kubepods/pod3", 700, 100), []string{
			"cgroup/pod2 Burstable 500 of 0", "cgroup/pod3 Guaranteed 600 of 1000",
		}},
		{"NoKubelet", files{"cgroup/b/memory.min": "max", "cgroup/aa-empty/cgroup.procs": "1"}.uses("b", 600, 100).uses("a", 500, 100).uses("a/deeper", 100, 0), []string{
			"cgroup/a Burstable 400 of 0", "cgroup/b Burstable 500 of 0",
		}},
		{"None", files{}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pods, err := node(t, tc.files).Pods()
			require.NoError(t, err)
			var got []string
			for _, pod := range pods {
				request := pod.Spec.Containers[0].Resources.Requests[v1.ResourceMemory]
				require.Equal(t, pod.Usage.Memory, pod.Usage.Containers[0].Memory)
				got = append(got, fmt.Sprintf("%s %s %d of %d", pod.Namespace+"/"+pod.Name, nodepressure.QOSClass(pod.Pod), pod.Usage.Memory, request.Value()))
			}
			require.Equal(t, tc.want, got)
		})
	}
	pods, err := node(t, files{"cgroup/a/pids.current": "12"}.uses("a", 1, 0)).Pods()
	require.NoError(t, err)
	require.EqualValues(t, 12, pods[0].Usage.Processes)
	pods, err = node(t, files{}.uses("a", 1, 0)).Pods()
	require.NoError(t, err)
	require.Zero(t, pods[0].Usage.Processes, "nothing counts them")
	require.True(t, gone(&fs.PathError{Err: syscall.ENODEV}), "removed while it was read")
}

// TestUIDs: a kubelet writes UIDs into the names of its cgroups.
func TestUIDs(t *testing.T) {
	for name, want := range map[string]types.UID{
		"kubepods-besteffort-pod3f2a_9c.slice": "3f2a-9c", "kubepods-burstable-pod3f2a_9c.slice": "3f2a-9c", "kubepods-pod3f2a_9c.slice": "3f2a-9c",
		"pod3f2a-9c": "3f2a-9c", "user.slice": "", "system": "",
	} {
		require.Equal(t, want, uid(name), name)
	}
	pods, err := node(t, files{}.uses("kubepods", 9, 0).uses("kubepods/pod3f2a-9c", 700, 100)).Pods()
	require.NoError(t, err)
	require.Equal(t, types.UID("3f2a-9c"), pods[0].UID)
}

func TestFaultsNameTheFile(t *testing.T) {
	for _, tc := range []struct {
		name  string
		files files
		want  string
	}{
		{"Meminfo", files{"proc/meminfo": "MemFree: 1 kB\n"}, "meminfo: there is no MemTotal"},
		{"MeminfoNumber", files{"proc/meminfo": "MemTotal: much kB\n"}, `meminfo: MemTotal: "much" is not a number`},
		{"MeminfoNegative", files{"proc/meminfo": "MemTotal: -1 kB\n"}, `meminfo: MemTotal: "-1" is not a number`},
		{"MeminfoCutOff", files{"proc/meminfo": "MemTotal:\n"}, "meminfo: there is no MemTotal"},
		{"MeminfoOfOtherNames", files{"proc/meminfo": "MemTotalOfTwo: 1 kB\n"}, "meminfo: there is no MemTotal"},
		{"Current", files{"cgroup/memory.current": "x", "cgroup/memory.stat": "inactive_file 1"}, `memory.current: "x" is not a number`},
		{"Stat", files{"cgroup/memory.current": "1", "cgroup/memory.stat": "file 1"}, "memory.stat: there is no inactive_file"},
		{"StatOfTheRoot", files{"cgroup/memory.stat": "anon 1\nfile x\n"}, `memory.stat: file: "x" is not a number`},
		{"NoStat", files{"cgroup/memory.current": "1"}, "memory.stat: no such file"},
		{"NoMax", files{}.uses(".", 1, 0), "memory.max: no such file"},
		{"NegativeMax", files{"cgroup/memory.max": "-1"}.uses(".", 1, 0), `memory.max: "-1" is not a number`},
		{"Processes", files{"cgroup/pids.current": "many"}, `pids.current: "many" is not a number`},
		{"ProcessesMax", files{"cgroup/pids.current": "1", "cgroup/pids.max": "many"}, `pids.max: "many" is not a number`},
		{"NoPidMax", files{"cgroup/pids.current": "1", "proc/sys/kernel/pid_max": ""}, "pid_max: no such file"},
		{"LongLine", files{"proc/meminfo": "MemTotal" + strings.Repeat(" ", 100_000)}, "meminfo: bufio.Scanner: token too long"},
		{"NoFree", files{"proc/meminfo": "MemTotal: 1 kB\n"}, "meminfo: there is no MemFree"},
		{"StatOfTheRootWithoutFile", files{"cgroup/memory.stat": "anon 1\n"}, "memory.stat: there is no file"},
		{"StatOfTheRootWithoutAnon", files{"cgroup/memory.stat": "file 1\n"}, "memory.stat: there is no anon"},
		{"PodsUse", files{"cgroup/kubepods/memory.current": "x", "cgroup/kubepods/memory.stat": "inactive_file 1"}, `memory.current: "x" is not a number`},
		{"Pods", files{"cgroup/kubepods/memory.max": "x"}.uses("kubepods", 1, 0), `memory.max: "x" is not a number`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := node(t, tc.files).Signals()
			require.ErrorContains(t, err, tc.want)
		})
	}
	for name, want := range map[string]string{"memory.min": `memory.min: "x" is not a number`, "pids.current": `pids.current: "x" is not a number`, "memory.current": `memory.current: "x" is not a number`} {
		_, err := node(t, func() files { f := files{}.uses("a", 1, 0); f["cgroup/a/"+name] = "x"; return f }()).Pods()
		require.ErrorContains(t, err, want)
	}
	_, err := node(t, files{"cgroup/kubepods/pod3/memory.max": "x"}.uses("kubepods", 9, 0).uses("kubepods/burstable/pod2", 1, 0).uses("kubepods/pod3", 1, 0)).Pods()
	require.ErrorContains(t, err, `pod3/memory.max: "x" is not a number`)
	_, err = node(t, files{"cgroup/kubepods/burstable": "no directory"}.uses("kubepods", 9, 0)).Pods()
	require.ErrorContains(t, err, "kubepods/burstable: not a directory")
	_, err = Node{Dir: filepath.Join(t.TempDir(), "nowhere")}.Signals()
	require.ErrorContains(t, err, "nowhere: no such file")
	n := node(t, files{})
	n.Dir = filepath.Join(n.Dir, "cgroup.controllers")
	_, err = n.Signals()
	require.ErrorContains(t, err, "cgroup.controllers is not a directory")
}
