package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/evictkit/evictkit/evictor/nodepressure"
)

// Node is where a node is measured. Only Dir is required. It is a nodepressure.StatsProvider, and safe for concurrent use.
type Node struct {
	// Dir is the cgroup v2 directory that stands for the node, as /sys/fs/cgroup.
	Dir string
	// Proc is /proc when it is empty.
	Proc string
	// NodeFs is a directory on the kubelet's file system, as /var/lib/kubelet. When it is empty no file system is
	// measured.
	NodeFs string
	// ImageFs is one on that of images, as /var/lib/containerd; when it is empty that is the kubelet's.
	ImageFs string
	// ContainerFs is one on that of writable layers; when it is empty that is the one of images.
	ContainerFs string
}

func (n Node) proc(path string) string {
	if n.Proc == "" {
		return filepath.Join("/proc", path)
	}
	return filepath.Join(n.Proc, path)
}

// Stats is Signals and Pods. They are fresh, so that samples have no time.
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

// Root says whether the memory is that of the whole machine, because the directory is that of the root cgroup or
// of none. A directory that does not exist is an error.
func (n Node) Root() (bool, error) {
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

// Signals measures the node: its memory, the memory of all its pods together where a kubelet keeps them in a cgroup, its
// process numbers where they are counted, and its file systems where NodeFs says one. What is not measured is not in
// the result; the error names the file or directory that could not be.
func (n Node) Signals() (map[nodepressure.Signal]nodepressure.Sample, error) {
	memory, err := n.memory()
	if err != nil {
		return nil, err
	}
	signals := map[nodepressure.Signal]nodepressure.Sample{nodepressure.MemoryAvailable: memory}
	if dir, ok := n.kubepods(); ok {
		used, err := workingSet(dir)
		if err != nil {
			return nil, err
		}
		limit, err := optional(filepath.Join(dir, "memory.max"))
		if err != nil {
			return nil, err
		}
		signals[nodepressure.AllocatableMemoryAvailable] = of(used, limit, memory.Capacity)
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

// of is what is left of a limit, and of the machine's capacity where that is less.
func of(used, limit, capacity int64) nodepressure.Sample {
	if limit == unlimited || limit > capacity {
		limit = capacity
	}
	return nodepressure.Sample{Available: limit - used, Capacity: limit}
}

func (n Node) memory() (nodepressure.Sample, error) {
	total, err := entry(n.proc("meminfo"), "MemTotal")
	if err != nil {
		return nodepressure.Sample{}, err
	}
	root, err := n.Root()
	if err != nil {
		return nodepressure.Sample{}, err
	}
	if root {
		used, err := n.rootWorkingSet(total)
		return of(used, unlimited, total), err
	}
	used, err := workingSet(n.Dir)
	if err != nil {
		return nodepressure.Sample{}, err
	}
	limit, err := number(filepath.Join(n.Dir, "memory.max"))
	return of(used, limit, total), err
}

// rootWorkingSet is what the kubelet makes of the memory.stat of the root cgroup, which has no memory.current; where
// there is none, it is what the machine has neither free nor as inactive file pages.
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

// pids says too whether anything counts processes.
func (n Node) pids() (amount nodepressure.Sample, counted bool, err error) {
	used, err := optional(filepath.Join(n.Dir, "pids.current"))
	if err != nil || used == unlimited {
		return nodepressure.Sample{}, false, err
	}
	limit, err := optional(filepath.Join(n.Dir, "pids.max"))
	if err != nil {
		return nodepressure.Sample{}, false, err
	}
	most, err := number(n.proc("sys/kernel/pid_max"))
	return of(used, limit, most), true, err
}
