package cgroup

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor/nodepressure"
)

const gi = int64(1) << 30

// TestHugePagesAreNotAvailable: 24 GiB of 64 GiB are reserved as huge pages, and ordinary processes use 39 GiB. One GiB
// is left for them.
func TestHugePagesAreNotAvailable(t *testing.T) {
	meminfo := func(huge string) string {
		return fmt.Sprintf("MemTotal: %d kB\nMemFree: %d kB\nInactive(file): %d kB\n%s", 64*gi/1024, gi/2/1024, gi/1024, huge)
	}
	reserved := meminfo(fmt.Sprintf("HugePages_Total: 24\nHugepagesize: 1048576 kB\nHugetlb: %d kB\n", 24*gi/1024))
	stat := fmt.Sprintf("anon %d\nfile %d\ninactive_file %d\n", 38*gi, 2*gi, gi)
	for _, tc := range []struct {
		name  string
		files files
		want  nodepressure.Sample
	}{
		{"Root", files{"proc/meminfo": reserved, "cgroup/memory.stat": stat}, nodepressure.Sample{Available: gi, Capacity: 40 * gi}},
		{"RootByMeminfo", files{"proc/meminfo": reserved}, nodepressure.Sample{Available: gi + gi/2, Capacity: 40 * gi}},
		{"RootWithoutAnyLeft", files{"proc/meminfo": reserved, "cgroup/memory.stat": fmt.Sprintf("anon %d\nfile %d\ninactive_file 0\n", 40*gi, gi)}, nodepressure.Sample{Capacity: 41 * gi}},
		{"NoneReserved", files{"proc/meminfo": meminfo("Hugetlb: 0 kB\n"), "cgroup/memory.stat": stat}, nodepressure.Sample{Available: 25 * gi, Capacity: 64 * gi}},
		{"Group", files{"proc/meminfo": reserved, "cgroup/memory.max": "max"}.uses(".", int(30*gi), 0), nodepressure.Sample{Available: 10 * gi, Capacity: 40 * gi}},
		{"SmallGroup", files{"proc/meminfo": reserved, "cgroup/memory.max": fmt.Sprint(32 * gi)}.uses(".", int(30*gi), 0), nodepressure.Sample{Available: 2 * gi, Capacity: 32 * gi}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := node(t, tc.files).Signals()
			require.NoError(t, err)
			require.Equal(t, tc.want, got[nodepressure.MemoryAvailable])
		})
	}
	// What all pods may use is what their limit says.
	pods := files{"proc/meminfo": reserved, "cgroup/kubepods/memory.max": fmt.Sprint(60 * gi)}.uses("kubepods", int(30*gi), 0)
	got, err := node(t, pods).Signals()
	require.NoError(t, err)
	require.Equal(t, nodepressure.Sample{Available: 30 * gi, Capacity: 60 * gi}, got[nodepressure.AllocatableMemoryAvailable])
	_, err = node(t, files{"proc/meminfo": meminfo("Hugetlb: many kB\n")}).Signals()
	require.ErrorContains(t, err, `meminfo: Hugetlb: "many" is not a number`)
}

// TestTheLeastOfAllLimitsOfTasks: those of the machine hold for its root cgroup and for every other.
func TestTheLeastOfAllLimitsOfTasks(t *testing.T) {
	machine := func(more files) files {
		all := files{"proc/sys/kernel/pid_max": "4194304\n", "proc/sys/kernel/threads-max": "32000\n", "proc/loadavg": "1.36 3.49 4.53 2/31000 3715089\n"}
		for name, text := range more {
			all[name] = text
		}
		return all
	}
	for _, tc := range []struct {
		name  string
		files files
		want  nodepressure.Sample
	}{
		{"Root", machine(nil), nodepressure.Sample{Available: 1000, Capacity: 32000}},
		{"RootByIDs", machine(files{"proc/sys/kernel/pid_max": "31500"}), nodepressure.Sample{Available: 500, Capacity: 31500}},
		{"Group", machine(files{"cgroup/pids.current": "31000", "cgroup/pids.max": "max"}), nodepressure.Sample{Available: 1000, Capacity: 32000}},
		{"GroupWithALimit", machine(files{"cgroup/pids.current": "60", "cgroup/pids.max": "100"}), nodepressure.Sample{Available: 40, Capacity: 100}},
		{"GroupOnAFullMachine", machine(files{"cgroup/pids.current": "60", "cgroup/pids.max": "30000"}), nodepressure.Sample{Available: 1000, Capacity: 32000}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := node(t, tc.files).Signals()
			require.NoError(t, err)
			require.Equal(t, tc.want, got[nodepressure.PIDAvailable])
		})
	}
	for file, text := range map[string]string{"loadavg": "1 2 3", "sys/kernel/threads-max": "x"} {
		_, err := node(t, machine(files{"proc/" + file: text})).Signals()
		require.ErrorContains(t, err, file)
	}
	_, err := node(t, machine(files{"proc/loadavg": "1 2 3 2/x 5"})).Signals()
	require.ErrorContains(t, err, `loadavg: "1 2 3 2/x 5" has no number of tasks`)
}
