package nodepressure

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// overLimits are the evictions of all pods that use more local storage than they may, in the order of
// the given pods. Whether the node is short of it does not matter.
func overLimits(pods []Pod, layout Layout) []Eviction {
	var evictions []Eviction
	for i := range pods {
		pod := &pods[i]
		if pod.Usage == nil || !mayExceed(pod, layout) {
			continue
		}
		if cause, message := overLimit(pod, layout); cause != "" && ProtectionOf(pod.Pod) == Evictable {
			evictions = append(evictions, Eviction{Pod: pod.Pod, Cause: cause, Hard: true, GracePeriodSeconds: immediateSeconds, Message: message})
		}
	}
	return evictions
}

// mayExceed is false where overLimit finds nothing, at less cost: it is asked of every pod in every pass.
// Init containers and overhead only raise the limit of the pod.
func mayExceed(pod *Pod, layout Layout) bool {
	if emptyDirOverLimit(pod) != nil {
		return true
	}
	var total int64
	limited := len(pod.Spec.InitContainers) > 0
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if len(c.Resources.Limits) == 0 {
			continue
		}
		q, ok := c.Resources.Limits[v1.ResourceEphemeralStorage]
		if !ok {
			continue
		}
		limit, exact := q.AsInt64()
		if used := pod.Usage.container(c.Name, i); !exact || limit != 0 && used != nil && used.storage(layout) > limit {
			return true
		}
		total, limited = add(total, limit), true
	}
	return limited && pod.Usage.EphemeralStorage > total
}

// container finds the usage of a container, which is mostly at the place that the container has in the
// pod; nil when it is not known.
func (u *Usage) container(name string, place int) *ContainerUsage {
	if place < len(u.Containers) && u.Containers[place].Name == name {
		return &u.Containers[place]
	}
	for i := range u.Containers {
		if u.Containers[i].Name == name {
			return &u.Containers[i]
		}
	}
	return nil
}

// storage is what counts against a container's own limit: its logs, and its writable layer where that is
// on the kubelet's file system and images are too.
func (c *ContainerUsage) storage(layout Layout) int64 {
	bytes := max(c.Logs.Bytes, 0)
	if layout == SingleFs {
		bytes = add(bytes, max(c.Rootfs.Bytes, 0))
	}
	return bytes
}

// emptyDirOverLimit is the first emptyDir of the pod that is larger than it may be; nil when none is.
func emptyDirOverLimit(pod *Pod) *v1.Volume {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.EmptyDir == nil || v.EmptyDir.SizeLimit == nil || v.EmptyDir.SizeLimit.Sign() <= 0 {
			continue
		}
		if used := pod.Usage.volume(v.Name); used != nil && exceeds(used.Disk.Bytes, *v.EmptyDir.SizeLimit) {
			return v
		}
	}
	return nil
}

// overLimit says which limit a pod exceeds: that of an emptyDir, that of its containers together, or
// that of one container; an empty cause says none.
func overLimit(pod *Pod, layout Layout) (cause, message string) {
	if v := emptyDirOverLimit(pod); v != nil {
		limit := v.EmptyDir.SizeLimit.DeepCopy()
		return EmptyDirLimit, fmt.Sprintf("Usage of EmptyDir volume %q exceeds the limit %q. ", v.Name, limit.String())
	}
	if limit, ok := storageLimit(pod.Pod); ok && exceeds(pod.Usage.EphemeralStorage, limit) {
		return PodLimit, fmt.Sprintf("Pod ephemeral local storage usage exceeds the total limit of containers %s. ", limit.String())
	}
	for i := range pod.Usage.Containers {
		used := &pod.Usage.Containers[i]
		if limit, ok := containerLimit(pod.Pod, used.Name); ok && exceeds(used.storage(layout), limit) {
			return ContainerLimit, fmt.Sprintf("Container %s exceeded its local ephemeral storage limit %q. ", used.Name, limit.String())
		}
	}
	return "", ""
}

func exceeds(used int64, limit resource.Quantity) bool { return limit.CmpInt64(used) < 0 }

// storageLimit is what the pod may use of ephemeral storage, with its overhead when that is not nothing.
func storageLimit(pod *v1.Pod) (resource.Quantity, bool) {
	limit, ok := aggregate(pod, limitOf(v1.ResourceEphemeralStorage))
	if overhead, has := pod.Spec.Overhead[v1.ResourceEphemeralStorage]; has && !limit.IsZero() {
		limit.Add(overhead)
	}
	return limit, ok
}

// containerLimit is the limit of one container; 0 is none.
func containerLimit(pod *v1.Pod, name string) (resource.Quantity, bool) {
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; c.Name == name {
			limit, ok := c.Resources.Limits[v1.ResourceEphemeralStorage]
			return limit, ok && !limit.IsZero()
		}
	}
	return resource.Quantity{}, false
}
