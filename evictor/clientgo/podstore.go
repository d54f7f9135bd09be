package clientgo

import (
	"math"
	"slices"
	"time"
	"unique"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/evictkit/evictkit/evictor"
)

// pod is what is kept of a pod.
type pod struct {
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

// DeepCopyObject implements runtime.Object; a pod is never changed.
func (p *pod) DeepCopyObject() runtime.Object { return p }

// phase is an index into phases.
type phase uint8

// phases are the known phases; any other is kept as "".
var phases = [...]v1.PodPhase{"", v1.PodPending, v1.PodRunning, v1.PodSucceeded, v1.PodFailed, v1.PodUnknown}

// slimPod returns what is kept of a pod.
func slimPod(opts *Options, whole *v1.Pod) *pod {
	p := &pod{
		node: unique.Make(whole.Spec.NodeName), tolerations: tolerationsOf(whole.Spec.Tolerations),
		phase: phase(max(0, slices.Index(phases[:], whole.Status.Phase))), created: seconds(&whole.CreationTimestamp), started: seconds(whole.Status.StartTime), deleted: seconds(whole.DeletionTimestamp),
	}
	if whole.Generation > 0 && whole.Generation <= math.MaxUint32 {
		p.generation = uint32(whole.Generation)
	}
	p.name(&whole.ObjectMeta)
	var cut bool
	p.attributes, cut = attributesOf(opts, &whole.ObjectMeta)
	if ready := conditionOf(whole.Status.Conditions, v1.PodReady); ready != nil {
		p.facts |= podNotReady
		if ready.Status == v1.ConditionTrue {
			p.facts ^= podReady | podNotReady
		}
	}
	if scheduled := conditionOf(whole.Status.Conditions, v1.PodScheduled); scheduled != nil && scheduled.Status == v1.ConditionTrue {
		p.facts |= podScheduled
		p.scheduled = seconds(&scheduled.LastTransitionTime)
	}
	if disrupted(whole) {
		p.facts |= podDisrupted
	}
	if _, mirror := whole.Annotations[v1.MirrorPodAnnotationKey]; mirror {
		p.facts |= podMirror
	}
	if ofDaemonSet(whole) || cut && opts.DaemonSets {
		p.facts |= podOfDaemonSet
	}
	return p
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

// show writes the pod, as the evictor reads it, into an object that is new or was written by show: its slices and its map of
// labels are used again.
func (p *pod) show(o *v1.Pod) {
	conditions, tolerated, labels := o.Status.Conditions[:0], o.Spec.Tolerations[:0], o.Labels
	*o = v1.Pod{}
	key, names := p.podKey(), p.names()
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
		conditions = append(conditions, v1.PodCondition{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: disruptionReason})
	}
	o.Status.Conditions = conditions
}

// podStore reads the informer's pods, compact or whole.
type podStore struct {
	pods       reader
	daemonSets cache.Indexer // nil: only ownership counts
}

// Pod implements cluster.PodStore.
func (s *podStore) Pod(key evictor.PodKey) (*v1.Pod, bool) {
	obj, ok, err := s.pods.GetByKey(key.String())
	if err != nil || !ok {
		return nil, false
	}
	shown, ok := s.shown(obj, new(v1.Pod))
	return shown, ok
}

// PodsOnNode implements cluster.PodStore. Compact pods are all shown in one object.
func (s *podStore) PodsOnNode(node string, visit func(*v1.Pod) bool) {
	objs, err := s.pods.ByIndex(indexByNode, node)
	if err != nil {
		return // cannot happen: the index was added with the informer
	}
	var buffer v1.Pod
	for _, obj := range objs {
		if shown, ok := s.shown(obj, &buffer); ok && !visit(shown) {
			return
		}
	}
}

// shown returns the pod as the evictor reads it. A compact pod is written into the buffer.
func (s *podStore) shown(obj any, buffer *v1.Pod) (*v1.Pod, bool) {
	var shown *v1.Pod
	switch p := obj.(type) {
	case *pod:
		p.show(buffer)
		shown = buffer
	case *v1.Pod:
		shown = p
	default:
		return nil, false
	}
	if s.daemonSets == nil || !s.selected(shown) {
		return shown, true
	}
	owned := *shown // a copy: others read the informer's object
	owned.OwnerReferences = daemonSetOwner
	return &owned, true
}

// selected says whether a DaemonSet selects the pod, owned or not.
func (s *podStore) selected(p *v1.Pod) bool {
	sets, err := s.daemonSets.ByIndex(cache.NamespaceIndex, p.Namespace)
	return err == nil && slices.ContainsFunc(sets, func(obj any) bool {
		set, ok := obj.(*appsv1.DaemonSet)
		if !ok {
			return false
		}
		selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
		return err == nil && !selector.Empty() && selector.Matches(labels.Set(p.Labels))
	})
}

// slimDaemonSet keeps a DaemonSet's selector.
func slimDaemonSet(whole *appsv1.DaemonSet) runtime.Object {
	selector := whole.Spec.Selector
	if selector != nil && selector.Size() > maxLabels {
		selector = everyPod
	}
	return &appsv1.DaemonSet{ObjectMeta: slim(&whole.ObjectMeta), Spec: appsv1.DaemonSetSpec{Selector: selector}}
}

// everyPod selects every pod; an empty selector would not do, because in a DaemonSet it selects none.
var everyPod = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "evictkit.internal/none", Operator: metav1.LabelSelectorOpDoesNotExist}}}
