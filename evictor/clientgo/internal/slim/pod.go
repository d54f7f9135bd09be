package slim

import (
	"math"
	"slices"
	"time"
	"unique"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Pod is what is kept of a pod.
type Pod struct {
	key         string // "namespace/name", the one string shared with the informer
	odd         *names // nil if uid and version below hold the names
	uid         uuid
	version     uint64
	node        unique.Handle[string]
	tolerations tolerations
	attributes  attributes
	// Times in seconds since 1970, which is the API's precision; 0 means none.
	created, started, scheduled, deleted int64
	space                                uint16 // how long the namespace is
	phase                                phase
	facts                                podFacts
	generation                           uint32 // 0 before Kubernetes 1.33, and if it is larger
}

// podFacts are bits.
type podFacts uint8

const (
	podReady podFacts = 1 << iota
	podNotReady
	podScheduled
	podDisrupted // it has the condition DisruptionTarget that Evict writes
	podMirror
	podOfDaemonSet
)

// DeepCopyObject implements runtime.Object; a Pod is never changed.
func (p *Pod) DeepCopyObject() runtime.Object { return p }

// phase is an index into phases.
type phase uint8

// phases are the known phases; any other is kept as "".
var phases = [...]v1.PodPhase{"", v1.PodPending, v1.PodRunning, v1.PodSucceeded, v1.PodFailed, v1.PodUnknown}

// Pod returns what is kept of a pod.
func (k Keep) Pod(whole *v1.Pod) *Pod {
	p := &Pod{
		node: unique.Make(whole.Spec.NodeName), tolerations: tolerationsOf(whole.Spec.Tolerations),
		phase: phase(max(0, slices.Index(phases[:], whole.Status.Phase))), created: seconds(&whole.CreationTimestamp), started: seconds(whole.Status.StartTime), deleted: seconds(whole.DeletionTimestamp),
	}
	if whole.Generation > 0 && whole.Generation <= math.MaxUint32 {
		p.generation = uint32(whole.Generation)
	}
	p.name(&whole.ObjectMeta)
	var cut bool
	p.attributes, cut = k.attributes(&whole.ObjectMeta)
	if ready := Condition(whole.Status.Conditions, v1.PodReady); ready != nil {
		p.facts |= podNotReady
		if ready.Status == v1.ConditionTrue {
			p.facts ^= podReady | podNotReady
		}
	}
	if scheduled := Condition(whole.Status.Conditions, v1.PodScheduled); scheduled != nil && scheduled.Status == v1.ConditionTrue {
		p.facts |= podScheduled
		p.scheduled = seconds(&scheduled.LastTransitionTime)
	}
	if Disrupted(whole) {
		p.facts |= podDisrupted
	}
	if _, mirror := whole.Annotations[v1.MirrorPodAnnotationKey]; mirror {
		p.facts |= podMirror
	}
	if ofDaemonSet(whole) || cut && k.DaemonSets {
		p.facts |= podOfDaemonSet
	}
	return p
}

// OfADaemonSet returns a copy of the pod that a DaemonSet controls.
func OfADaemonSet(p *v1.Pod) *v1.Pod {
	owned := *p
	owned.OwnerReferences = daemonSetOwner
	return &owned
}

// ofDaemonSet says whether a DaemonSet controls the pod.
func ofDaemonSet(p *v1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(p)
	return owner != nil && owner.Kind == daemonSetKind
}

func seconds(t *metav1.Time) int64 {
	if t == nil || t.IsZero() {
		return 0
	}
	return t.Unix()
}

func fromSeconds(s int64) metav1.Time {
	if s == 0 {
		return metav1.Time{}
	}
	return metav1.NewTime(time.Unix(s, 0))
}

const daemonSetKind = "DaemonSet"

// Values shared by many pods; read-only.
var (
	isTrue, isFalse = true, false
	daemonSetOwner  = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: daemonSetKind, Controller: &isTrue}}
)

// Show writes the pod, as the evictor reads it, into an object that is new or was written by Show: its slices and its map of
// labels are used again.
func (p *Pod) Show(o *v1.Pod) {
	conditions, tolerated, labels := o.Status.Conditions[:0], o.Spec.Tolerations[:0], o.Labels
	*o = v1.Pod{}
	key, names := p.Key(), p.names()
	o.Namespace, o.Name, o.UID, o.ResourceVersion = key.Namespace, key.Name, names.uid, names.version
	o.CreationTimestamp, o.Generation = fromSeconds(p.created), int64(p.generation)
	o.Spec.NodeName, o.Spec.Tolerations = p.node.Value(), p.tolerations.appendTo(tolerated)
	o.Status.Phase = phases[p.phase]
	if p.started != 0 {
		at := fromSeconds(p.started)
		o.Status.StartTime = &at
	}
	if p.deleted != 0 {
		at := fromSeconds(p.deleted)
		o.DeletionTimestamp = &at
	}
	p.attributes.show(o, labels)
	if _, has := o.Annotations[v1.MirrorPodAnnotationKey]; p.facts&podMirror != 0 && !has {
		if o.Annotations == nil {
			o.Annotations = make(map[string]string, 1)
		}
		o.Annotations[v1.MirrorPodAnnotationKey] = "mirror"
	}
	if p.facts&podOfDaemonSet != 0 && !ofDaemonSet(o) {
		o.OwnerReferences = daemonSetOwner
	}
	if p.facts&podReady != 0 {
		conditions = append(conditions, v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionTrue})
	}
	if p.facts&podNotReady != 0 {
		conditions = append(conditions, v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionFalse})
	}
	if p.facts&podScheduled != 0 {
		conditions = append(conditions, v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: fromSeconds(p.scheduled)})
	}
	if p.facts&podDisrupted != 0 {
		conditions = append(conditions, v1.PodCondition{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: DisruptionReason})
	}
	o.Status.Conditions = conditions
}
