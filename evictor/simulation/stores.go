package simulation

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/evictkit/evictkit/evictor"
)

// Synced returns true: the cluster is always complete.
func (c *cluster) Synced() bool { return true }

// Node builds the node's object.
func (c *cluster) Node(name string) (*v1.Node, bool) {
	i, ok := c.nodeByID[name]
	if !ok {
		return nil, false
	}
	return c.buildNode(&c.nodes[i]), true
}

// Nodes builds every node, in the order in which they were added.
func (c *cluster) Nodes(visit func(*v1.Node) bool) {
	for i := range c.nodes {
		if n := &c.nodes[i]; !n.Deleted && !visit(c.buildNode(n)) {
			return
		}
	}
}

func (c *cluster) buildNode(n *node) *v1.Node {
	object := &struct {
		v1.Node
		conditions [6]v1.NodeCondition
	}{}
	object.Name, object.UID, object.Labels, object.CreationTimestamp = n.Name, n.uid, n.Labels, n.created
	object.ResourceVersion = strconv.FormatUint(n.version, 10)
	object.Spec.Taints, object.Spec.Unschedulable = n.Taints, n.Unschedulable
	if n.Room != nil {
		object.Status.Capacity, object.Status.Allocatable = n.Room.Capacity, n.Room.Shown
	}
	if n.reported >= 0 {
		heartbeat := stamp(n.reported)
		conditions := append(object.conditions[:0], n.Conditions...)
		for i := range conditions {
			conditions[i].LastHeartbeatTime = heartbeat
		}
		object.Status.Conditions = conditions
	} else {
		object.Status.Conditions = n.Conditions
	}
	return &object.Node
}

// podObject is the storage of a built pod.
type podObject struct {
	v1.Pod
	conditions [2]v1.PodCondition
	owner      [1]metav1.OwnerReference
	deleted    metav1.Time
	started    metav1.Time
}

var (
	isTrue = true
	mirror = map[string]string{v1.MirrorPodAnnotationKey: "mirror"}
)

// fill makes the object represent the pod, or returns another one.
func (c *cluster) fill(o *podObject, i int32) *v1.Pod {
	p := &c.pods[i]
	if p.object != nil && p.object.given != nil {
		return c.given(p)
	}
	id := p.id
	o.Name, o.Namespace, o.UID = id.name, c.spaces[id.space], c.uidOf(p)
	o.CreationTimestamp = stamp(p.bound)
	o.Spec.NodeName, o.Spec.Tolerations = c.nodes[p.node].Name, p.spec.Tolerations
	o.Spec.Containers = nil
	if p.spec.Needs != nil {
		o.Spec.Containers = p.spec.Needs.Shown
	}
	o.Status.Phase = phases[p.phase]
	ready := v1.ConditionFalse
	if p.ready {
		ready = v1.ConditionTrue
	}
	scheduled := stamp(p.bound)
	o.Status.StartTime = nil
	if p.object != nil {
		o.CreationTimestamp = p.object.created
		scheduled = p.object.scheduled
		if !p.object.started.IsZero() {
			o.started = p.object.started
			o.Status.StartTime = &o.started
		}
	}
	o.conditions[0] = v1.PodCondition{Type: v1.PodReady, Status: ready}
	o.Status.Conditions = o.conditions[:1]
	if !scheduled.IsZero() {
		o.conditions[1] = v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: scheduled}
		o.Status.Conditions = o.conditions[:2]
	}
	o.OwnerReferences, o.Annotations, o.DeletionTimestamp, o.Labels = nil, nil, nil, nil
	if p.spec.Labels != nil {
		o.Labels = *p.spec.Labels
	}
	if p.spec.OwnerKind != "" {
		o.owner[0] = metav1.OwnerReference{APIVersion: "apps/v1", Kind: p.spec.OwnerKind, Name: p.spec.OwnerName, UID: "owner", Controller: &isTrue}
		o.OwnerReferences = o.owner[:]
	}
	if p.spec.Mirror {
		o.Annotations = mirror
	}
	if p.terminating {
		o.deleted = stamp(int64(p.deleted) * int64(time.Second))
		o.DeletionTimestamp = &o.deleted
	}
	return &o.Pod
}

// given is a pod as World.Add was given it, with what has become of it since.
func (c *cluster) given(p *pod) *v1.Pod {
	o := *p.object.given
	o.Namespace, o.UID, o.ResourceVersion = c.spaces[p.id.space], c.uidOf(p), ""
	o.Spec.NodeName, o.Spec.Tolerations, o.Status.Phase, o.Labels = c.nodes[p.node].Name, p.spec.Tolerations, phases[p.phase], nil
	if p.spec.Labels != nil {
		o.Labels = *p.spec.Labels
	}
	if p.terminating && o.DeletionTimestamp == nil {
		deleted := stamp(int64(p.deleted) * int64(time.Second))
		o.DeletionTimestamp = &deleted
	}
	at := slices.IndexFunc(o.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodReady })
	if was := at >= 0 && o.Status.Conditions[at].Status == v1.ConditionTrue; was != p.ready {
		o.Status.Conditions = slices.Clone(o.Status.Conditions)
		if at < 0 {
			at, o.Status.Conditions = len(o.Status.Conditions), append(o.Status.Conditions, v1.PodCondition{})
		}
		o.Status.Conditions[at] = v1.PodCondition{Type: v1.PodReady, Status: map[bool]v1.ConditionStatus{true: v1.ConditionTrue, false: v1.ConditionFalse}[p.ready]}
	}
	return &o
}

// Pod builds the pod's object.
func (c *cluster) Pod(key evictor.PodKey) (*v1.Pod, bool) {
	i, ok := c.findPod(key)
	if !ok {
		return nil, false
	}
	return c.fill(new(podObject), i), true
}

// PodsOnNode visits every pod of the node, even of a deleted one, in one object that is reused for the next.
func (c *cluster) PodsOnNode(name string, visit func(*v1.Pod) bool) {
	i, ok := c.nodeByID[name]
	if !ok {
		i, ok = c.orphans[name]
	}
	if !ok {
		return
	}
	for p := c.nodes[i].firstPod; p >= 0; p = c.pods[p].next {
		if !visit(c.fill(&c.scratch, p)) {
			return
		}
	}
}

// SortedPods returns the keys of all pods of a node, by name.
func (c *cluster) SortedPods(name string) (keys []evictor.PodKey) {
	c.PodsOnNode(name, func(p *v1.Pod) bool {
		keys = append(keys, evictor.PodKey{Namespace: p.Namespace, Name: p.Name})
		return true
	})
	slices.SortFunc(keys, func(a, b evictor.PodKey) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return keys
}

// holds says whether there is a pod, with or without a node.
func (c *cluster) holds(namespace, name string) bool {
	key := evictor.PodKey{Namespace: namespace, Name: name}
	_, bound := c.findPod(key)
	return bound || c.unboundKeys[key]
}

var (
	nodeResource = schema.GroupResource{Resource: "nodes"}
	podResource  = schema.GroupResource{Resource: "pods"}
)
