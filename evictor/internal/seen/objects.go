package seen

import (
	"strconv"

	v1 "k8s.io/api/core/v1"
)

// Version returns a resourceVersion as a number, or 0 if it is not one.
func Version(s string) uint64 {
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0
	}
	return v
}

// Older says whether a resourceVersion is older than a version; false if it is not a number.
func Older(s string, than uint64) bool {
	v := Version(s)
	return v != 0 && v < than
}

// Spared returns why a pod is never evicted; empty if it may be.
func Spared(pod *v1.Pod) string {
	if pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed {
		return "Completed"
	}
	if _, mirror := pod.Annotations[v1.MirrorPodAnnotationKey]; mirror {
		return "MirrorPod"
	}
	return ""
}
