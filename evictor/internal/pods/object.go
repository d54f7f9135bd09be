package pods

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Key is the slot of a pod: its namespace and name.
type Key struct{ Namespace, Name string }

func (k Key) compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Namespace, other.Namespace), cmp.Compare(k.Name, other.Name))
}

// Ref names one pod.
type Ref struct {
	Key
	UID  types.UID
	Node string
}

// RefOf returns the reference to a pod.
func RefOf(object *v1.Pod) Ref {
	return Ref{Key: Key{object.Namespace, object.Name}, UID: object.UID, Node: object.Spec.NodeName}
}

// Shows says whether the object, nil for none, is that pod, on the same node and not terminating.
func (r Ref) Shows(object *v1.Pod) bool {
	return object != nil && object.UID == r.UID && object.Spec.NodeName == r.Node && object.DeletionTimestamp == nil
}

func finished(object *v1.Pod) bool {
	return object.Status.Phase == v1.PodSucceeded || object.Status.Phase == v1.PodFailed
}

// Ready says whether the pod is Ready and not completed, so that it may have to be marked not Ready.
func Ready(object *v1.Pod) bool {
	is := func(c v1.PodCondition) bool { return c.Type == v1.PodReady && c.Status == v1.ConditionTrue }
	return !finished(object) && slices.ContainsFunc(object.Status.Conditions, is)
}

// Spared returns why a pod is never evicted; empty if it may be. Completed pods hold no resources. Mirror pods only show
// what a kubelet runs: a deleted one is back at once.
func Spared(object *v1.Pod) string {
	if finished(object) {
		return "Completed"
	}
	if _, mirror := object.Annotations[v1.MirrorPodAnnotationKey]; mirror {
		return "MirrorPod"
	}
	return ""
}

// SparedWithoutTaints is Spared for nodes that are emptied: DaemonSet pods are spared too.
func SparedWithoutTaints(object *v1.Pod) string {
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil && owner.Kind == "DaemonSet" {
		return "DaemonSet"
	}
	return Spared(object)
}

// version returns the resourceVersion as a number, or 0 if it is not one: such a version is neither older nor newer than
// others.
func version(object *v1.Pod) uint64 {
	if object != nil {
		if v, err := strconv.ParseUint(object.ResourceVersion, 10, 64); err == nil {
			return v
		}
	}
	return 0
}

// boundAt estimates from its object when a pod that we did not see arrive was bound; now at the latest.
func boundAt(object *v1.Pod, now time.Time) time.Time {
	var scheduled, started time.Time
	for i := range object.Status.Conditions {
		if c := &object.Status.Conditions[i]; c.Type == v1.PodScheduled && c.Status == v1.ConditionTrue {
			scheduled = c.LastTransitionTime.Time
		}
	}
	if object.Status.StartTime != nil {
		started = object.Status.StartTime.Time
	}
	if at := cmp.Or(scheduled, started, object.CreationTimestamp.Time); !at.IsZero() && at.Before(now) {
		return at
	}
	return now
}
