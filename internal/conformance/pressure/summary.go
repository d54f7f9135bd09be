package pressure

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/evictkit/evictkit/evictor/nodepressure"
)

// summary converts a sample to what the kubelet's provider of statistics returns.
func summary(stats nodepressure.Stats) *statsapi.Summary {
	s := &statsapi.Summary{Node: statsapi.NodeStats{Runtime: &statsapi.RuntimeStats{}}}
	if sample, ok := stats.Signals[nodepressure.MemoryAvailable]; ok {
		s.Node.Memory = memory(sample)
	}
	if sample, ok := stats.Signals[nodepressure.AllocatableMemoryAvailable]; ok {
		s.Node.SystemContainers = []statsapi.ContainerStats{{Name: statsapi.SystemContainerPods, Memory: memory(sample)}}
	}
	s.Node.Fs = fileSystem(stats, nodepressure.NodeFsAvailable, nodepressure.NodeFsInodesFree)
	s.Node.Runtime.ImageFs = fileSystem(stats, nodepressure.ImageFsAvailable, nodepressure.ImageFsInodesFree)
	s.Node.Runtime.ContainerFs = fileSystem(stats, nodepressure.ContainerFsAvailable, nodepressure.ContainerFsInodesFree)
	if sample, ok := stats.Signals[nodepressure.PIDAvailable]; ok {
		running := sample.Capacity - sample.Available
		s.Node.Rlimit = &statsapi.RlimitStats{Time: stamp(sample.Time), MaxPID: &sample.Capacity, NumOfRunningProcesses: &running}
	}
	for _, pod := range stats.Pods {
		if pod.Usage != nil {
			s.Pods = append(s.Pods, podStats(pod))
		}
	}
	return s
}

func stamp(at time.Time) metav1.Time { return metav1.NewTime(at) }

func number(n int64) *uint64 {
	u := uint64(n)
	return &u
}

func memory(s nodepressure.Sample) *statsapi.MemoryStats {
	return &statsapi.MemoryStats{Time: stamp(s.Time), AvailableBytes: number(s.Available), WorkingSetBytes: number(s.Capacity - s.Available)}
}

func fileSystem(stats nodepressure.Stats, available, inodes nodepressure.Signal) *statsapi.FsStats {
	fs := &statsapi.FsStats{}
	if sample, ok := stats.Signals[available]; ok {
		fs.Time, fs.AvailableBytes, fs.CapacityBytes = stamp(sample.Time), number(sample.Available), number(sample.Capacity)
	}
	if sample, ok := stats.Signals[inodes]; ok {
		fs.Time, fs.InodesFree, fs.Inodes = stamp(sample.Time), number(sample.Available), number(sample.Capacity)
	}
	return fs
}

func used(d nodepressure.Disk) *statsapi.FsStats {
	return &statsapi.FsStats{UsedBytes: number(d.Bytes), InodesUsed: number(d.Inodes)}
}

func podStats(pod nodepressure.Pod) statsapi.PodStats {
	u := pod.Usage
	s := statsapi.PodStats{
		PodRef:           statsapi.PodReference{Name: pod.Name, Namespace: pod.Namespace, UID: string(pod.UID)},
		Memory:           &statsapi.MemoryStats{WorkingSetBytes: number(u.Memory)},
		EphemeralStorage: &statsapi.FsStats{UsedBytes: number(u.EphemeralStorage)},
		ProcessStats:     &statsapi.ProcessStats{ProcessCount: number(u.Processes)},
	}
	for _, v := range u.Volumes {
		s.VolumeStats = append(s.VolumeStats, statsapi.VolumeStats{Name: v.Name, FsStats: *used(v.Disk)})
	}
	for _, c := range u.Containers {
		s.Containers = append(s.Containers, statsapi.ContainerStats{
			Name: c.Name, Memory: &statsapi.MemoryStats{WorkingSetBytes: number(c.Memory)}, Rootfs: used(c.Rootfs), Logs: used(c.Logs),
		})
	}
	return s
}
