package nodepressure

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// overLimits returns the evictions of all pods that exceed their limits of local storage, in the order of the given
// pods.
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

// mayExceed is a cheaper check before overLimit, because it is made for every pod in every pass. If it returns false,
// the pod exceeds nothing. Init containers and overhead only raise the limit of the pod; sidecars have limits of their own.
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
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if limit, ok := ownLimit(c); ok && isSidecar(c) {
			if used := pod.Usage.container(c.Name, len(pod.Spec.Containers)+i); used != nil && exceeds(used.storage(layout), limit) {
				return true
			}
		}
	}
	return limited && pod.Usage.EphemeralStorage > total
}

// container returns the usage of a container, nil if it is not known. It looks first at the container's index in the
// pod's spec, where it usually is.
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

// storage is what counts against a container's own limit: its logs, and its writable layer if the kubelet's file system
// holds it together with the images.
func (c *ContainerUsage) storage(layout Layout) int64 {
	bytes := max(c.Logs.Bytes, 0)
	if layout == SingleFs {
		bytes = add(bytes, max(c.Rootfs.Bytes, 0))
	}
	return bytes
}

// emptyDirOverLimit returns the first emptyDir of the pod that exceeds its size limit, nil if none does.
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

// overLimit says which limit a pod exceeds: that of an emptyDir, the sum over its containers, or that of one container.
// The cause is empty if it exceeds none.
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

// storageLimit returns how much ephemeral storage the pod may use, its overhead included.
func storageLimit(pod *v1.Pod) (resource.Quantity, bool) {
	limit, ok := aggregate(pod, v1.ResourceEphemeralStorage, func(r *v1.ResourceRequirements) v1.ResourceList { return r.Limits })
	if overhead, has := pod.Spec.Overhead[v1.ResourceEphemeralStorage]; has && !limit.IsZero() {
		limit.Add(overhead)
	}
	return limit, ok
}

// containerLimit returns the limit of one container or sidecar; 0 means none. Other init containers have none: what they
// may use is part of the pod's limit.
func containerLimit(pod *v1.Pod, name string) (resource.Quantity, bool) {
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.Name == name && isSidecar(c) {
			return ownLimit(c)
		}
	}
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; c.Name == name {
			return ownLimit(c)
		}
	}
	return resource.Quantity{}, false
}

func ownLimit(c *v1.Container) (resource.Quantity, bool) {
	limit, ok := c.Resources.Limits[v1.ResourceEphemeralStorage]
	return limit, ok && !limit.IsZero()
}

// isSidecar reports whether an init container restarts and runs beside the containers.
func isSidecar(c *v1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
}
