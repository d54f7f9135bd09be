package summary

import (
	"time"

	"github.com/evictkit/evictkit/evictor/nodepressure"
)

// The system containers that are read: all pods together, and, on Windows, the memory that the system has committed.
const (
	allPods       = "pods"
	windowsCommit = "windows-global-commit-memory"
)

// signals returns the measurements that are complete.
func (n *node) signals() map[nodepressure.Signal]nodepressure.Sample {
	s := samples{}
	if commit, ok := n.systemContainer(windowsCommit); ok {
		if m := commit.Memory; m != nil {
			s.memory(nodepressure.MemoryAvailable, m, m.Usage)
		}
	} else if m := n.Memory; m != nil {
		s.memory(nodepressure.MemoryAvailable, m, m.WorkingSet)
	}
	if all, ok := n.systemContainer(allPods); ok && all.Memory != nil {
		s.memory(nodepressure.AllocatableMemoryAvailable, all.Memory, all.Memory.WorkingSet)
	}
	s.fileSystem(nodepressure.NodeFsAvailable, nodepressure.NodeFsInodesFree, n.FileSystem)
	s.fileSystem(nodepressure.ImageFsAvailable, nodepressure.ImageFsInodesFree, n.Runtime.Image)
	s.fileSystem(nodepressure.ContainerFsAvailable, nodepressure.ContainerFsInodesFree, n.Runtime.Container)
	if p := n.Processes; p != nil && p.Most != nil && p.Running != nil {
		s[nodepressure.PIDAvailable] = nodepressure.Sample{Available: *p.Most - *p.Running, Capacity: *p.Most, Time: p.Time.Time}
	}
	return s
}

func (n *node) systemContainer(name string) (container, bool) {
	for _, c := range n.SystemContainers {
		if c.Name == name {
			return c, true
		}
	}
	return container{}, false
}

type samples map[nodepressure.Signal]nodepressure.Sample

// memory adds a sample whose capacity is what is available plus what is used.
func (s samples) memory(signal nodepressure.Signal, m *memory, used *uint64) {
	if m.Available != nil && used != nil {
		s[signal] = nodepressure.Sample{Available: int64(*m.Available), Capacity: int64(*m.Available + *used), Time: m.Time.Time}
	}
}

func (s samples) fileSystem(space, inodes nodepressure.Signal, fs *fileSystem) {
	if fs == nil {
		return
	}
	s.amount(space, fs.Available, fs.Capacity, fs.Time.Time)
	if known(fs.Inodes) != 0 {
		s.amount(inodes, fs.InodesFree, fs.Inodes, fs.Time.Time)
	}
}

// amount adds a sample. Like the kubelet it treats a value beyond int64 as a difference below 0.
func (s samples) amount(signal nodepressure.Signal, available, capacity *uint64, at time.Time) {
	if available != nil && capacity != nil {
		s[signal] = nodepressure.Sample{Available: int64(*available), Capacity: int64(*capacity), Time: at}
	}
}

func (p *pod) usage() *nodepressure.Usage {
	u := &nodepressure.Usage{Memory: p.Memory.workingSet(), Processes: known(p.Processes.Count), EphemeralStorage: p.EphemeralStorage.used().Bytes}
	for i := range p.Volumes {
		v := &p.Volumes[i]
		u.Volumes = append(u.Volumes, nodepressure.VolumeUsage{Name: v.Name, Disk: v.used()})
	}
	for i := range p.Containers {
		c := &p.Containers[i]
		u.Containers = append(u.Containers, nodepressure.ContainerUsage{Name: c.Name, Memory: c.Memory.workingSet(), Rootfs: c.Rootfs.used(), Logs: c.Logs.used()})
	}
	return u
}

func (m *memory) workingSet() int64 {
	if m == nil {
		return 0
	}
	return known(m.WorkingSet)
}

func (fs *fileSystem) used() nodepressure.Disk {
	if fs == nil {
		return nodepressure.Disk{}
	}
	return nodepressure.Disk{Bytes: known(fs.Used), Inodes: known(fs.InodesUsed)}
}

// known returns 0 for a value that is not known.
func known(n *uint64) int64 {
	if n == nil {
		return 0
	}
	return int64(*n)
}
