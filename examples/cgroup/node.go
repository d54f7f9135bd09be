package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/evictkit/evictkit/evictor/nodepressure"
	"github.com/evictkit/evictkit/internal/noderecord"
)

// Node is where a node is measured. Only Dir is required.
type Node struct {
	// Dir is the cgroup v2 directory that stands for the node, as /sys/fs/cgroup.
	Dir string
	// Proc is /proc when it is empty.
	Proc string
}

func (n Node) proc(path string) string {
	if n.Proc == "" {
		return filepath.Join("/proc", path)
	}
	return filepath.Join(n.Proc, path)
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

// Signals measures the node, and the memory of all its pods together where a kubelet keeps them in a cgroup.
func (n Node) Signals() (map[nodepressure.Signal]noderecord.Amount, error) {
	memory, err := n.memory()
	if err != nil {
		return nil, err
	}
	signals := map[nodepressure.Signal]noderecord.Amount{nodepressure.MemoryAvailable: memory}
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
	return signals, nil
}

// of is what is left of a limit, and of the machine's capacity where that is less.
func of(used, limit, capacity int64) noderecord.Amount {
	if limit == unlimited || limit > capacity {
		limit = capacity
	}
	return noderecord.Amount{Available: limit - used, Capacity: limit}
}

func (n Node) memory() (noderecord.Amount, error) {
	total, err := field(n.proc("meminfo"), "MemTotal")
	if err != nil {
		return noderecord.Amount{}, err
	}
	root, err := n.Root()
	if err != nil {
		return noderecord.Amount{}, err
	}
	if root {
		used, err := n.rootWorkingSet(total)
		return of(used, unlimited, total), err
	}
	used, err := workingSet(n.Dir)
	if err != nil {
		return noderecord.Amount{}, err
	}
	limit, err := number(filepath.Join(n.Dir, "memory.max"))
	return of(used, limit, total), err
}

// rootWorkingSet is what the kubelet makes of the memory.stat of the root cgroup, which has no memory.current; where
// there is none, it is what the machine has neither free nor as inactive file pages.
func (n Node) rootWorkingSet(total int64) (int64, error) {
	stat := filepath.Join(n.Dir, "memory.stat")
	used, err := field(stat, "anon")
	if errors.Is(err, fs.ErrNotExist) {
		free, err := field(n.proc("meminfo"), "MemFree")
		if err != nil {
			return 0, err
		}
		inactive, err := field(n.proc("meminfo"), "Inactive(file)")
		return max(total-free-inactive, 0), err
	}
	if err != nil {
		return 0, err
	}
	file, err := field(stat, "file")
	if err != nil {
		return 0, err
	}
	inactive, err := field(stat, "inactive_file")
	return max(used+file-inactive, 0), err
}

// pids says too whether anything counts processes.
func (n Node) pids() (amount noderecord.Amount, counted bool, err error) {
	used, err := optional(filepath.Join(n.Dir, "pids.current"))
	if err != nil || used == unlimited {
		return noderecord.Amount{}, false, err
	}
	limit, err := optional(filepath.Join(n.Dir, "pids.max"))
	if err != nil {
		return noderecord.Amount{}, false, err
	}
	most, err := number(n.proc("sys/kernel/pid_max"))
	return of(used, limit, most), true, err
}
