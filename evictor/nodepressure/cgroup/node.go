package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/evictkit/evictkit/evictor/nodepressure"
)

// Node says where to measure a node. Only Dir is required. Most callers give it to a Manager, which calls
// [Node.Stats], and ask for its [Node.Layout] to configure the Machine. It is a nodepressure.StatsProvider and safe
// for concurrent use.
type Node struct {
	// Dir is the node's cgroup v2 directory, such as /sys/fs/cgroup.
	Dir string
	// Proc is where procfs is mounted; /proc if empty.
	Proc string
	// NodeFs is a directory on the kubelet's file system, such as /var/lib/kubelet. If it is empty, the Node measures no
	// file system.
	NodeFs string
	// ImageFs is a directory on the file system of images, such as /var/lib/containerd; NodeFs if empty.
	ImageFs string
	// ContainerFs is a directory on the file system of writable layers; ImageFs if empty.
	ContainerFs string
}

var errNoDir = errors.New("cgroup: Node.Dir is empty: it must be the node's cgroup directory, such as /sys/fs/cgroup")

func (n Node) proc(path string) string {
	if n.Proc == "" {
		return filepath.Join("/proc", path)
	}
	return filepath.Join(n.Proc, path)
}

// Stats returns Signals and Pods. The samples have no time because they are always new.
func (n Node) Stats(ctx context.Context) (nodepressure.Stats, error) {
	if ctx.Err() != nil {
		return nodepressure.Stats{}, context.Cause(ctx)
	}
	signals, err := n.Signals()
	if err != nil {
		return nodepressure.Stats{}, err
	}
	pods, err := n.Pods()
	if err != nil {
		return nodepressure.Stats{}, err
	}
	return nodepressure.Stats{Signals: signals, Pods: pods}, nil
}

// Root reports whether Dir is the root cgroup or not a cgroup at all; in both cases the Node measures the memory of the
// whole machine. Root returns an error if the directory does not exist.
func (n Node) Root() (bool, error) {
	if n.Dir == "" {
		return false, errNoDir
	}
	if info, err := os.Stat(n.Dir); err != nil {
		return false, err
	} else if !info.IsDir() {
		return false, fmt.Errorf("%s is not a directory", n.Dir)
	}
	_, err := os.Stat(filepath.Join(n.Dir, "memory.current"))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return false, err
}

// Signals measures the node: its memory, the memory of all pods together if a kubelet keeps them in a cgroup with a
// limit, process IDs if they are counted, and file systems if NodeFs is set. The result has only what was measured. An error names the
// file or directory that could not be read.
func (n Node) Signals() (map[nodepressure.Signal]nodepressure.Sample, error) {
	memory, err := n.memory()
	if err != nil {
		return nil, err
	}
	signals := map[nodepressure.Signal]nodepressure.Sample{nodepressure.MemoryAvailable: memory}
	if err := n.allocatable(signals); err != nil {
		return nil, err
	}
	pids, counted, err := n.pids()
	if err != nil {
		return nil, err
	}
	if counted {
		signals[nodepressure.PIDAvailable] = pids
	}
	return signals, n.fileSystems(signals)
}

// of returns the sample for a limit, or for the machine's capacity if that is less.
func of(used, limit, capacity int64) nodepressure.Sample {
	if limit == unlimited || limit > capacity {
		limit = capacity
	}
	return nodepressure.Sample{Available: limit - used, Capacity: limit}
}

// allocatable adds the memory of all pods together. Like the kubelet it measures none without a limit, and takes the
// limit as it is: huge pages are part of it.
func (n Node) allocatable(signals map[nodepressure.Signal]nodepressure.Sample) error {
	dir, ok := n.kubepods()
	if !ok {
		return nil
	}
	used, err := workingSet(dir)
	if err != nil {
		return err
	}
	limit, err := optional(filepath.Join(dir, "memory.max"))
	if err != nil || limit == unlimited {
		return err
	}
	signals[nodepressure.AllocatableMemoryAvailable] = nodepressure.MemorySample(limit-used, used, time.Time{})
	return nil
}

func (n Node) memory() (nodepressure.Sample, error) {
	total, huge, err := n.machine()
	if err != nil {
		return nodepressure.Sample{}, err
	}
	root, err := n.Root()
	if err != nil {
		return nodepressure.Sample{}, err
	}
	if root {
		used, err := n.rootWorkingSet(total - huge)
		return nodepressure.MemorySample(max(total-huge-used, 0), used, time.Time{}), err
	}
	used, err := workingSet(n.Dir)
	if err != nil {
		return nodepressure.Sample{}, err
	}
	limit, err := number(filepath.Join(n.Dir, "memory.max"))
	return of(used, limit, max(total-huge, 0)), err
}

// machine returns the machine's memory, and how much of it is reserved as huge pages. No cgroup counts huge pages as
// memory used, whether or not anybody uses them, and ordinary memory cannot be taken from them.
func (n Node) machine() (total, huge int64, err error) {
	total, err = entry(n.proc("meminfo"), "MemTotal")
	if err != nil {
		return 0, 0, err
	}
	huge, err = entry(n.proc("meminfo"), "Hugetlb") // of all sizes
	if errors.Is(err, errNoEntry) {
		return total, 0, nil // a kernel without huge pages
	}
	return total, huge, err
}

// rootWorkingSet is what the kubelet computes from the memory.stat of the root cgroup, which has no memory.current.
// Without a memory.stat it is the machine's memory that is neither free nor inactive file pages.
func (n Node) rootWorkingSet(total int64) (int64, error) {
	stat := filepath.Join(n.Dir, "memory.stat")
	used, err := entry(stat, "anon")
	if errors.Is(err, fs.ErrNotExist) {
		free, err := entry(n.proc("meminfo"), "MemFree")
		if err != nil {
			return 0, err
		}
		inactive, err := entry(n.proc("meminfo"), "Inactive(file)")
		return max(total-free-inactive, 0), err
	}
	if err != nil {
		return 0, err
	}
	file, err := entry(stat, "file")
	if err != nil {
		return 0, err
	}
	inactive, err := entry(stat, "inactive_file")
	return max(used+file-inactive, 0), err
}

// pids also says whether anything counts processes. The machine and the cgroup each have a limit; what counts is where
// less is left.
func (n Node) pids() (least nodepressure.Sample, counted bool, err error) {
	most, err := n.mostTasks()
	if err != nil {
		return nodepressure.Sample{}, false, err
	}
	tasks, err := n.tasks()
	if err != nil {
		return nodepressure.Sample{}, false, err
	}
	used, err := optional(filepath.Join(n.Dir, "pids.current"))
	if err != nil {
		return nodepressure.Sample{}, false, err
	}
	limit, err := optional(filepath.Join(n.Dir, "pids.max"))
	if err != nil {
		return nodepressure.Sample{}, false, err
	}
	machine, cgroup := of(tasks, unlimited, most), of(used, limit, most)
	switch {
	case used == unlimited:
		return machine, tasks != unlimited, nil
	case tasks == unlimited || cgroup.Available < machine.Available:
		return cgroup, true, nil
	}
	return machine, true, nil
}

// mostTasks returns how many tasks the machine allows: by their IDs, and by their number.
func (n Node) mostTasks() (int64, error) {
	ids, err := number(n.proc("sys/kernel/pid_max"))
	if err != nil {
		return 0, err
	}
	threads, err := optional(n.proc("sys/kernel/threads-max"))
	if err != nil || threads == unlimited {
		return ids, err
	}
	return min(ids, threads), nil
}

// tasks returns how many tasks the machine has, unlimited if no file says so. They are the second number in the fourth
// field of /proc/loadavg, as in "0.14 0.57 2.00 1/95 1366".
func (n Node) tasks() (int64, error) {
	path := n.proc("loadavg")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return unlimited, nil
	}
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(data))
	if len(fields) < 5 {
		return 0, fmt.Errorf("%s: %q has no number of tasks", path, data)
	}
	_, all, _ := strings.Cut(fields[3], "/")
	count, err := strconv.ParseInt(all, 10, 64)
	if err != nil || count < 0 {
		return 0, fmt.Errorf("%s: %q has no number of tasks", path, data)
	}
	return count, nil
}
