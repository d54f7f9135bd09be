package clientgo

import (
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
	key         string // as the informer has it, "namespace/name": the one string for all
	odd         *names // nil where the two that follow say it
	uid         uuid
	version     uint64
	node        unique.Handle[string]
	tolerations tolerations
	labels      map[string]string // only to be matched with DaemonSets
	// In seconds since 1970, as the API has them; 0 is never.
	created, started, scheduled, deleted int64
	space                                uint16 // how long the namespace is
	phase                                phase
	facts                                podFacts
}

// podFacts are bits.
type podFacts uint8

const (
	podReady podFacts = 1 << iota
	podNotReady
	podScheduled
	podDisrupted // it has the condition that an eviction because of taints writes
	podMirror
	podOfDaemonSet
)

// DeepCopyObject implements runtime.Object; a pod is never changed.
func (p *pod) DeepCopyObject() runtime.Object { return p }

// maxLabels bounds what is kept of one pod's labels, and of one DaemonSet's selector, in bytes. A pod with more counts as one of a
// DaemonSet, and such a DaemonSet has every pod of its namespace: whoever writes them could have written that.
const maxLabels = 16 << 10

// bytesOf is roughly how many bytes labels take.
func bytesOf(labels map[string]string) (size int) {
	for key, value := range labels {
		size += 40 + len(key) + len(value)
	}
	return size
}

// phase is the place of one in phases.
type phase uint8

// phases are those that there are; of another one nothing is known.
var phases = [...]v1.PodPhase{"", v1.PodPending, v1.PodRunning, v1.PodSucceeded, v1.PodFailed, v1.PodUnknown}

// slimPod is what is kept of a pod.
func (c *Cluster) slimPod(whole *v1.Pod) runtime.Object {
	p := &pod{
		node: unique.Make(whole.Spec.NodeName), tolerations: tolerationsOf(whole.Spec.Tolerations),
		phase: phase(max(0, slices.Index(phases[:], whole.Status.Phase))), created: seconds(&whole.CreationTimestamp), started: seconds(whole.Status.StartTime), deleted: seconds(whole.DeletionTimestamp),
	}
	p.name(&whole.ObjectMeta)
	if c.opts.DaemonSets {
		if bytesOf(whole.Labels) <= maxLabels {
			p.labels = whole.Labels
		} else {
			p.facts |= podOfDaemonSet
		}
	}
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
	if owner := metav1.GetControllerOfNoCopy(whole); owner != nil && owner.Kind == daemonSetKind {
		p.facts |= podOfDaemonSet
	}
	return p
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

// What every pod of a sort has in common; read only.
var (
	mirrorAnnotations = map[string]string{v1.MirrorPodAnnotationKey: "mirror"}
	isController      = true
	daemonSetOwner    = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: daemonSetKind, Controller: &isController}}
)

// show writes the pod as the evictor reads it into an object that it may reuse.
func (p *pod) show(o *v1.Pod) {
	conditions, tolerated := o.Status.Conditions[:0], o.Spec.Tolerations[:0]
	*o = v1.Pod{}
	key, names := p.podKey(), p.names()
	o.Namespace, o.Name, o.UID, o.ResourceVersion = key.Namespace, key.Name, names.uid, names.version
	o.CreationTimestamp = fromSeconds(p.created)
	o.Labels = p.labels
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
	if p.facts&podMirror != 0 {
		o.Annotations = mirrorAnnotations
	}
	if p.facts&podOfDaemonSet != 0 {
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
	daemonSets cache.Indexer // nil: those that own a pod are enough
}

// Pod implements evictor.PodStore.
func (s *podStore) Pod(key evictor.PodKey) (*v1.Pod, bool) {
	obj, ok, err := s.pods.GetByKey(key.String())
	if err != nil || !ok {
		return nil, false
	}
	shown, ok := s.shown(obj, new(v1.Pod))
	return shown, ok
}

// PodsOnNode implements evictor.PodStore. Compact pods are all shown in one object.
func (s *podStore) PodsOnNode(node string, visit func(*v1.Pod) bool) {
	objs, err := s.pods.ByIndex(indexByNode, node)
	if err != nil {
		return // there is always this index
	}
	var buffer v1.Pod
	for _, obj := range objs {
		if shown, ok := s.shown(obj, &buffer); ok && !visit(shown) {
			return
		}
	}
}

// shown is the pod as the evictor reads it, in the buffer where it is not kept whole.
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
	owned := *shown // others read the informer's
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

// slimDaemonSet keeps what it selects.
func slimDaemonSet(whole *appsv1.DaemonSet) runtime.Object {
	selector := whole.Spec.Selector
	if selector != nil && selector.Size() > maxLabels {
		selector = everyPod
	}
	return &appsv1.DaemonSet{ObjectMeta: slim(&whole.ObjectMeta), Spec: appsv1.DaemonSetSpec{Selector: selector}}
}

// everyPod selects so; an empty selector of a DaemonSet is none.
var everyPod = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "evictkit.internal/none", Operator: metav1.LabelSelectorOpDoesNotExist}}}
