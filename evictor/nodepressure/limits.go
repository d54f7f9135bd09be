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
		if pod.Usage == nil {
			continue
		}
		if cause, message := overLimit(pod, layout); cause != "" && ProtectionOf(pod.Pod) == Evictable {
			evictions = append(evictions, Eviction{Pod: pod.Pod, Cause: cause, Hard: true, GracePeriodSeconds: immediateSeconds, Message: message})
		}
	}
	return evictions
}

// overLimit says which limit a pod exceeds: that of an emptyDir, that of its containers together, or
// that of one container; an empty cause says none.
func overLimit(pod *Pod, layout Layout) (cause, message string) {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.EmptyDir == nil || v.EmptyDir.SizeLimit == nil || v.EmptyDir.SizeLimit.Sign() <= 0 {
			continue
		}
		if used := pod.Usage.volume(v.Name); used != nil && exceeds(used.Disk.Bytes, *v.EmptyDir.SizeLimit) {
			limit := v.EmptyDir.SizeLimit.DeepCopy()
			return EmptyDirLimit, fmt.Sprintf("Usage of EmptyDir volume %q exceeds the limit %q. ", v.Name, limit.String())
		}
	}
	if !limited(pod.Pod) {
		return "", ""
	}
	if limit, ok := storageLimit(pod.Pod); ok && exceeds(pod.Usage.EphemeralStorage, limit) {
		return PodLimit, fmt.Sprintf("Pod ephemeral local storage usage exceeds the total limit of containers %s. ", limit.String())
	}
	for i := range pod.Usage.Containers {
		used := &pod.Usage.Containers[i]
		bytes := max(used.Logs.Bytes, 0)
		if layout == SingleFs {
			bytes = add(bytes, max(used.Rootfs.Bytes, 0))
		}
		if limit, ok := containerLimit(pod.Pod, used.Name); ok && exceeds(bytes, limit) {
			return ContainerLimit, fmt.Sprintf("Container %s exceeded its local ephemeral storage limit %q. ", used.Name, limit.String())
		}
	}
	return "", ""
}

func exceeds(used int64, limit resource.Quantity) bool { return limit.CmpInt64(used) < 0 }

// limited says whether any container has a limit of ephemeral storage: most have none.
func limited(pod *v1.Pod) bool {
	for i := range pod.Spec.Containers {
		if _, ok := pod.Spec.Containers[i].Resources.Limits[v1.ResourceEphemeralStorage]; ok {
			return true
		}
	}
	for i := range pod.Spec.InitContainers {
		if _, ok := pod.Spec.InitContainers[i].Resources.Limits[v1.ResourceEphemeralStorage]; ok {
			return true
		}
	}
	return false
}

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
