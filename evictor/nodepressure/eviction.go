package nodepressure

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Reason is the reason in the status of a pod that was evicted or not admitted.
const Reason = "Evicted"

// Causes of evictions other than signals, with the names of upstream's metrics.
const (
	EmptyDirLimit  = "emptydirfs.limit"
	PodLimit       = "ephemeralpodfs.limit"
	ContainerLimit = "ephemeralcontainerfs.limit"
)

// Keys of Eviction.Annotations.
const (
	OffendingContainersKey      = "offending_containers"
	OffendingContainersUsageKey = "offending_containers_usage"
	OffendingPodKey             = "offending_pod"
	OffendingPodUsageKey        = "offending_pod_usage"
	StarvedResourceKey          = "starved_resource"
)

// immediateSeconds is the grace period of a pod if the shortage is hard or the pod exceeds a limit.
const immediateSeconds = 1

// Eviction says which pod to evict and what to record about it.
type Eviction struct {
	Pod *v1.Pod
	// Cause is the signal that fell below its threshold, or one of EmptyDirLimit, PodLimit and ContainerLimit.
	Cause string
	// Hard: the eviction does not wait; it replaces a soft one in progress.
	Hard bool
	// GracePeriodSeconds replaces the pod's own grace period. It is 1 if the eviction is hard or the pod exceeds a limit, as
	// in today's kubelet; older descriptions of the kubelet say 0.
	GracePeriodSeconds int64
	// Message is for the pod's status and for an event whose reason is Reason.
	Message string
	// Annotations are for that event; nil if the pod exceeded a limit.
	Annotations map[string]string
	// Condition goes into the pod's status; nil if the pod exceeded a limit. It has no times, and no observed generation,
	// which only newer APIs have.
	Condition *v1.PodCondition
}

// Apply writes the eviction into the status of its pod: phase, reason, message and, if there is one, the condition. The
// condition's transition time becomes now unless it was True before.
func (e *Eviction) Apply(status *v1.PodStatus, now metav1.Time) {
	status.Phase, status.Reason, status.Message = v1.PodFailed, Reason, e.Message
	if e.Condition == nil {
		return
	}
	condition := *e.Condition
	condition.LastTransitionTime = now
	i := slices.IndexFunc(status.Conditions, func(c v1.PodCondition) bool { return c.Type == condition.Type })
	if i < 0 {
		status.Conditions = append(status.Conditions, condition)
		return
	}
	if status.Conditions[i].Status == condition.Status {
		condition.LastTransitionTime = status.Conditions[i].LastTransitionTime
	}
	status.Conditions[i] = condition
}

// Eviction returns the eviction of any candidate of this decision, not only of the first.
func (d *Decision) Eviction(c *Candidate) Eviction {
	seconds := int64(immediateSeconds)
	if !d.Threshold.Hard() {
		seconds = softSeconds(d.maxSeconds, c.Pod.Spec.TerminationGracePeriodSeconds)
	}
	message, annotations := d.explain(c.Pod)
	return Eviction{
		Pod:                c.Pod.Pod,
		Cause:              string(d.Threshold.Signal),
		Hard:               d.Threshold.Hard(),
		GracePeriodSeconds: seconds,
		Message:            message,
		Annotations:        annotations,
		Condition: &v1.PodCondition{
			Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: v1.PodReasonTerminationByKubelet, Message: message,
		},
	}
}

// softSeconds returns the grace period in a soft eviction: the pod's own, capped. A negative cap means no cap.
func softSeconds(most int64, own *int64) int64 {
	switch {
	case most < 0 && own == nil:
		return v1.DefaultTerminationGracePeriodSeconds
	case most < 0:
		return *own
	case own == nil:
		return most
	}
	return min(most, *own)
}

// explain returns the message and the annotations that upstream writes.
func (d *Decision) explain(pod Pod) (string, map[string]string) {
	starved := d.Threshold.Signal.Resource()
	quantity := d.Threshold.Value.At(d.Sample.Capacity)
	available := resource.NewQuantity(d.Sample.Available, format(starved))
	var text strings.Builder
	fmt.Fprintf(&text, "The node was low on resource: %s. Threshold quantity: %s, available: %s. ", starved, quantity.String(), available)
	annotations := make(map[string]string, 4)
	if pod.Usage == nil {
		return text.String(), annotations
	}
	if r := pod.Spec.Resources; r != nil && starved == v1.ResourceMemory {
		if requested, ok := r.Requests[starved]; ok {
			used := resource.NewQuantity(max(pod.Usage.Memory, 0), resource.BinarySI)
			fmt.Fprintf(&text, "Pod %s was using %s, request is %s, has larger consumption of %s. ", pod.Name, used, requested.String(), starved)
			annotations[OffendingPodKey], annotations[OffendingPodUsageKey] = pod.Name, used.String()
		}
	}
	var names, usages []string
	for i := range pod.Usage.Containers {
		c := &pod.Usage.Containers[i]
		requested, ok := requestedBy(pod.Pod, c.Name, starved)
		used := resource.NewQuantity(c.uses(starved), resource.BinarySI)
		if ok && used.Cmp(requested) > 0 {
			fmt.Fprintf(&text, "Container %s was using %s, request is %s, has larger consumption of %s. ", c.Name, used, requested.String(), starved)
			names, usages = append(names, c.Name), append(usages, used.String())
		}
	}
	annotations[OffendingContainersKey] = strings.Join(names, ",")
	annotations[OffendingContainersUsageKey] = strings.Join(usages, ",")
	annotations[StarvedResourceKey] = string(starved)
	return text.String(), annotations
}

// uses is how much the container uses of what is short, if that is memory or disk. For inodes and processes upstream
// names no container.
func (c *ContainerUsage) uses(starved v1.ResourceName) int64 {
	switch starved {
	case v1.ResourceMemory:
		return c.Memory
	case v1.ResourceEphemeralStorage:
		return add(max(c.Rootfs.Bytes, 0), max(c.Logs.Bytes, 0))
	}
	return 0
}

// requestedBy returns what a container or init container requests, and false if the pod has none of that name.
// Ephemeral containers are not looked at: they cannot request anything, and upstream does not name them.
func requestedBy(pod *v1.Pod, name string, what v1.ResourceName) (resource.Quantity, bool) {
	for _, containers := range [...][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			if c := &containers[i]; c.Name == name {
				return c.Resources.Requests[what], true
			}
		}
	}
	return resource.Quantity{}, false
}
