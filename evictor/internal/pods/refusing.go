package pods

import (
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Refusing are groups of pods of which the API server has just refused to evict one: the others will hardly fare better, and need
// not go before pods that were not tried yet. The zero Refusing is ready.
type Refusing struct{ until map[Group]time.Time }

// sweepAt is how many groups are kept before those that are over are looked for.
const sweepAt = 1024

// Group is who shares a pod's disruption budget, as a rule: the pods of its controller or, without one, those of its node.
type Group struct {
	owner                 types.UID
	namespace, kind, name string
}

// GroupOf is the group of the pod.
func GroupOf(pod *v1.Pod) Group {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return Group{owner.UID, pod.Namespace, owner.Kind, owner.Name}
	}
	return Group{kind: "Node", name: pod.Spec.NodeName}
}

// Add notes that one of the group was refused, and is not tried again until then.
func (r *Refusing) Add(group Group, until, now time.Time) {
	if r.until == nil {
		r.until = make(map[Group]time.Time)
	}
	if len(r.until) >= sweepAt {
		maps.DeleteFunc(r.until, func(_ Group, u time.Time) bool { return !now.Before(u) })
	}
	if until.After(r.until[group]) {
		r.until[group] = until
	}
}

// Has says whether one of the group is refused now.
func (r *Refusing) Has(group Group, now time.Time) bool { return now.Before(r.until[group]) }
