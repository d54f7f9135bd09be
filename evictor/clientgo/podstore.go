package clientgo

import (
	"slices"
	"strings"
	"time"
	"unique"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
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
	more        *morePod // nil unless DaemonSets or EvictionAPI need it
	// Times in seconds since 1970, which is the API's precision; 0 means none.
	created, started, scheduled, deleted int64
	space                                uint16 // how long the namespace is
	phase                                phase
	facts                                podFacts
}

// morePod is what is also kept of a pod if the options need it.
type morePod struct {
	labels map[string]string       // matched against the selectors of DaemonSets
	owner  unique.Handle[podOwner] // the controller, whose pods share a disruption budget; zero means none
}

// podOwner is a pod's controller, kept once for all its pods.
type podOwner struct{ uid, kind, name string }

// maxOwner bounds an owner in bytes; a longer one is dropped.
const maxOwner = 1 << 10

// ownerOf returns the pod's controller, or the zero handle.
func ownerOf(whole *v1.Pod) (handle unique.Handle[podOwner]) {
	owner := metav1.GetControllerOfNoCopy(whole)
	if owner == nil || len(owner.UID)+len(owner.Kind)+len(owner.Name) > maxOwner {
		return handle
	}
	return unique.Make(podOwner{strings.Clone(string(owner.UID)), strings.Clone(owner.Kind), strings.Clone(owner.Name)})
}

// references returns the owner as a pod's OwnerReferences.
func (o podOwner) references() []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: o.kind, Name: o.name, UID: types.UID(o.uid), Controller: &isController}}
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

// maxLabels bounds, in bytes, what is kept of a pod's labels and of a DaemonSet's selector. A pod with more labels counts
// as a DaemonSet's, and a DaemonSet with a longer selector selects every pod of its namespace. Their authors gain nothing
// from this: they could have written as much in few bytes.
const maxLabels = 16 << 10

// bytesOf estimates how many bytes labels take.
func bytesOf(labels map[string]string) (size int) {
	for key, value := range labels {
		size += 40 + len(key) + len(value)
	}
	return size
}

// phase is an index into phases.
type phase uint8

// phases are the known phases; any other is kept as "".
var phases = [...]v1.PodPhase{"", v1.PodPending, v1.PodRunning, v1.PodSucceeded, v1.PodFailed, v1.PodUnknown}

// slimPod returns what is kept of a pod.
func (c *Cluster) slimPod(whole *v1.Pod) runtime.Object {
	p := &pod{
		node: unique.Make(whole.Spec.NodeName), tolerations: tolerationsOf(whole.Spec.Tolerations),
		phase: phase(max(0, slices.Index(phases[:], whole.Status.Phase))), created: seconds(&whole.CreationTimestamp), started: seconds(whole.Status.StartTime), deleted: seconds(whole.DeletionTimestamp),
	}
	p.name(&whole.ObjectMeta)
	if c.opts.DaemonSets || c.opts.EvictionAPI {
		c.keepMore(p, whole)
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

// keepMore keeps what only DaemonSets and EvictionAPI need.
func (c *Cluster) keepMore(p *pod, whole *v1.Pod) {
	p.more = &morePod{}
	switch {
	case c.opts.DaemonSets && bytesOf(whole.Labels) <= maxLabels:
		p.more.labels = whole.Labels
	case c.opts.DaemonSets:
		p.facts |= podOfDaemonSet
	}
	if c.opts.EvictionAPI {
		p.more.owner = ownerOf(whole)
	}
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
	mirrorAnnotations = map[string]string{v1.MirrorPodAnnotationKey: "mirror"}
	isController      = true
	daemonSetOwner    = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: daemonSetKind, Controller: &isController}}
)

// show writes the pod, as the evictor reads it, into an object whose slices it may reuse.
func (p *pod) show(o *v1.Pod) {
	conditions, tolerated := o.Status.Conditions[:0], o.Spec.Tolerations[:0]
	*o = v1.Pod{}
	key, names := p.podKey(), p.names()
	o.Namespace, o.Name, o.UID, o.ResourceVersion = key.Namespace, key.Name, names.uid, names.version
	o.CreationTimestamp = fromSeconds(p.created)
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
	if p.more != nil {
		o.Labels = p.more.labels
		if p.more.owner != (unique.Handle[podOwner]{}) {
			o.OwnerReferences = p.more.owner.Value().references()
		}
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
