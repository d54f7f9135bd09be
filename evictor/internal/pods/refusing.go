package pods

import (
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Refusing holds groups of pods of which the API server has just refused to evict one. The others would likely be refused
// too, so pods not tried yet go first.
type Refusing struct {
	until map[Group]time.Time
	kept  int // by the last sweep
}

// sweepAt is the number of groups at which expired ones are dropped. The next sweep comes at twice the number kept, if that
// is more, so that sweeping costs no more than adding.
const sweepAt = 1024

// Group is the set of pods that usually share a disruption budget: those of a controller or, for pods without one, those of
// a node.
type Group struct {
	owner                 types.UID
	namespace, kind, name string
}

// only is the group of a single pod. It is kept even when the pod is forgotten, because a node may be emptied in several
// turns.
func only(uid types.UID) Group { return Group{kind: "Pod", owner: uid} }

// GroupOf returns the group of the pod.
func GroupOf(pod *v1.Pod) Group {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return Group{owner.UID, pod.Namespace, owner.Kind, owner.Name}
	}
	return Group{kind: "Node", name: pod.Spec.NodeName}
}

// Add records that one of the group was refused until that time. An earlier time than the known one changes nothing.
func (r *Refusing) Add(group Group, until, now time.Time) {
	if len(r.until) >= max(sweepAt, 2*r.kept) {
		maps.DeleteFunc(r.until, func(_ Group, u time.Time) bool { return !now.Before(u) })
		r.kept = len(r.until)
	}
	if until.After(r.until[group]) {
		r.until[group] = until
	}
}

// Left returns for how long the group is still refused; 0 if it is not.
func (r *Refusing) Left(group Group, now time.Time) time.Duration {
	return max(0, r.until[group].Sub(now))
}
