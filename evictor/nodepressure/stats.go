package nodepressure

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// Sample is one measurement of a signal.
type Sample struct {
	// Available and Capacity are bytes, inodes or processes. A capacity matters only to percentages.
	Available, Capacity int64
	// Time is when it was measured, by the clock of whatever measured it. A Machine compares it only with earlier samples
	// of the same signal, and evicts no pod because of a sample that it has seen before. The zero Time means that the
	// sample is new.
	Time time.Time
}

// MemorySample returns a sample of memory as the kubelet measures it. Its capacity is available plus workingSet: the
// working set is the usage without what the kernel could drop at once (inactive file pages). Both are in bytes.
func MemorySample(available, workingSet int64, at time.Time) Sample {
	return Sample{Available: available, Capacity: add(available, workingSet), Time: at}
}

// Stats is a sample of a node at one time. A Machine neither changes nor keeps it, but a Decision refers to its pods.
type Stats struct {
	// Signals are the measurements. A threshold on a signal without one is not met, and is in Decision.Unmeasured.
	Signals map[Signal]Sample
	// Pods are the node's active pods, in any order: those that have something running, including terminating ones.
	Pods []Pod
}

// Pod is a pod, which must not be nil, and its usage.
type Pod struct {
	*v1.Pod
	// Usage is nil if it is not known. Such pods are evicted first.
	Usage *Usage
}

// Usage is what a pod uses. Leave unknown figures 0; negative values count as 0.
type Usage struct {
	// Memory is the working set of the pod, in bytes.
	Memory int64 `json:"memory,omitempty"`
	// Processes is how many processes the pod has.
	Processes int64 `json:"processes,omitempty"`
	// EphemeralStorage is what counts against the pod's limit, in bytes: containers, logs and local volumes together.
	EphemeralStorage int64            `json:"ephemeralStorage,omitempty"`
	Volumes          []VolumeUsage    `json:"volumes,omitempty"`
	Containers       []ContainerUsage `json:"containers,omitempty"`
}

// Disk is what something uses on a file system.
type Disk struct {
	Bytes  int64 `json:"bytes,omitempty"`
	Inodes int64 `json:"inodes,omitempty"`
}

// VolumeUsage is what a volume of a pod uses.
type VolumeUsage struct {
	Name string `json:"name"`
	Disk Disk   `json:"disk"`
}

// ContainerUsage is what a container uses: memory (its working set, in bytes), its writable layer, and its logs.
type ContainerUsage struct {
	Name   string `json:"name"`
	Memory int64  `json:"memory,omitempty"`
	Rootfs Disk   `json:"rootfs"`
	Logs   Disk   `json:"logs"`
}

// counted says which parts of a pod's disk usage lie on the file system of a signal.
type counted struct{ rootfs, logs, volumes bool }

// counts applies the layout's rule. Images belong to no pod.
func (l Layout) counts(signal Signal) counted {
	image := signal == ImageFsAvailable || signal == ImageFsInodesFree
	switch node := signal == NodeFsAvailable || signal == NodeFsInodesFree; {
	case l == SingleFs:
		return counted{rootfs: true, logs: true, volumes: true}
	case l == DedicatedImageFs && node:
		return counted{logs: true, volumes: true}
	case l == DedicatedImageFs:
		return counted{rootfs: true}
	case image:
		return counted{}
	}
	return counted{rootfs: true, logs: true, volumes: true}
}

// Uses returns how much the pod uses of what the signal measures, as it counts in the ranking; of disk usage, only the
// part on that file system. It is 0 if the usage is not known.
func (p Pod) Uses(signal Signal, layout Layout) int64 {
	if p.Usage == nil {
		return 0
	}
	switch signal.Resource() {
	case v1.ResourceMemory:
		return max(p.Usage.Memory, 0)
	case ResourcePIDs:
		return max(p.Usage.Processes, 0)
	case v1.ResourceEphemeralStorage:
		return p.disk(layout.counts(signal), func(d *Disk) int64 { return max(d.Bytes, 0) })
	case ResourceInodes:
		return p.disk(layout.counts(signal), func(d *Disk) int64 { return max(d.Inodes, 0) })
	}
	return 0
}

func (p Pod) disk(what counted, part func(*Disk) int64) (total int64) {
	for i := range p.Usage.Containers {
		c := &p.Usage.Containers[i]
		if what.rootfs {
			total = add(total, part(&c.Rootfs))
		}
		if what.logs {
			total = add(total, part(&c.Logs))
		}
	}
	if !what.volumes || len(p.Usage.Volumes) == 0 {
		return total
	}
	for i := range p.Spec.Volumes {
		if v := &p.Spec.Volumes[i]; onNode(v) {
			if used := p.Usage.volume(v.Name); used != nil {
				total = add(total, part(&used.Disk))
			}
		}
	}
	return total
}

// onNode says whether a volume takes space on the node: a host path, an emptyDir that is not in memory, a config map,
// or a Git repository.
func onNode(v *v1.Volume) bool {
	return v.HostPath != nil || v.GitRepo != nil || v.ConfigMap != nil || v.EmptyDir != nil && v.EmptyDir.Medium == v1.StorageMediumDefault
}

// volume returns the usage of a volume, nil if it is not known. Names are unique; with duplicates, upstream takes the
// last one when it checks limits and the first when it sums usage.
func (u *Usage) volume(name string) *VolumeUsage {
	for i := range u.Volumes {
		if u.Volumes[i].Name == name {
			return &u.Volumes[i]
		}
	}
	return nil
}
