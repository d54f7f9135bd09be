package simulator

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/internal/scenario"
	"github.com/evictkit/evictkit/taints"
)

// Synced is always true: the cluster is its own truth.
func (c *Cluster) Synced() bool { return true }

// Node builds the node's object.
func (c *Cluster) Node(name string) (*v1.Node, bool) {
	i, ok := c.nodeByID[name]
	if !ok {
		return nil, false
	}
	return c.buildNode(&c.nodes[i]), true
}

// Nodes builds every node, in the order in which they were added.
func (c *Cluster) Nodes(visit func(*v1.Node) bool) {
	for i := range c.nodes {
		if n := &c.nodes[i]; !n.deleted && !visit(c.buildNode(n)) {
			return
		}
	}
}

func (c *Cluster) buildNode(n *node) *v1.Node {
	object := &struct {
		v1.Node
		conditions [6]v1.NodeCondition
	}{}
	object.Name, object.UID, object.Labels, object.CreationTimestamp = n.name, n.uid, n.labels, n.created
	object.ResourceVersion = strconv.FormatUint(n.version, 10)
	object.Spec.Taints, object.Spec.Unschedulable = n.taints, n.unschedulable
	if n.reported >= 0 {
		heartbeat := stamp(n.reported)
		conditions := append(object.conditions[:0], n.conditions...)
		for i := range conditions {
			conditions[i].LastHeartbeatTime = heartbeat
		}
		object.Status.Conditions = conditions
	} else {
		object.Status.Conditions = n.conditions
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

// fill makes the object show the pod.
func (c *Cluster) fill(o *podObject, i int32) *v1.Pod {
	p, id := &c.pods[i], c.podIndex.Key(i)
	o.Name, o.Namespace, o.UID = id.name, c.spaces[id.space], c.uidOf(p)
	o.CreationTimestamp = stamp(p.bound)
	o.Spec.NodeName, o.Spec.Tolerations = c.nodes[p.node].name, p.spec.Tolerations
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
	o.OwnerReferences, o.Annotations, o.DeletionTimestamp = nil, nil, nil
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

// Pod builds the pod's object.
func (c *Cluster) Pod(key evictor.PodKey) (*v1.Pod, bool) {
	i, ok := c.findPod(key)
	if !ok {
		return nil, false
	}
	return c.fill(new(podObject), i), true
}

func (c *Cluster) findPod(key evictor.PodKey) (int32, bool) {
	space, ok := c.spaceOf[key.Namespace]
	if !ok {
		return 0, false
	}
	return c.podIndex.Find(podID{space, key.Name})
}

// PodsOnNode shows every pod of the node, in one object that is used again for the next.
func (c *Cluster) PodsOnNode(name string, visit func(*v1.Pod) bool) {
	i, ok := c.nodeByID[name]
	if !ok {
		return
	}
	for p := c.nodes[i].firstPod; p >= 0; p = c.pods[p].next {
		if !visit(c.fill(&c.scratch, p)) {
			return
		}
	}
}

// SortedPods are the keys of all pods of a node, by name.
func (c *Cluster) SortedPods(name string) (keys []evictor.PodKey) {
	c.PodsOnNode(name, func(p *v1.Pod) bool {
		keys = append(keys, evictor.PodKey{Namespace: p.Namespace, Name: p.Name})
		return true
	})
	slices.SortFunc(keys, func(a, b evictor.PodKey) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return keys
}

// Inventory shows what the cluster holds to the check of a scenario.
func (c *Cluster) Inventory() scenario.Inventory { return inventory{c} }

type inventory struct{ c *Cluster }

func (v inventory) Nodes() iter.Seq2[string, scenario.ZoneKey] {
	return func(yield func(string, scenario.ZoneKey) bool) {
		for i := range v.c.nodes {
			if n := &v.c.nodes[i]; !n.deleted && !yield(n.name, scenario.ZoneKey(n.zone)) {
				return
			}
		}
	}
}

// Silent says whether the node's kubelet is silent from the start.
func (v inventory) Silent(node string) bool { return v.c.Failed(node) }

func (v inventory) Pod(namespace, name string) (node string, ok bool) {
	i, ok := v.c.findPod(evictor.PodKey{Namespace: namespace, Name: name})
	if !ok {
		return "", false
	}
	return v.c.nodes[v.c.pods[i].node].name, true
}

var (
	nodeResource = schema.GroupResource{Resource: "nodes"}
	podResource  = schema.GroupResource{Resource: "pods"}
)

// Written is told of every write that reached the cluster.
type Written func(scenario.Line)

// Writer writes to the cluster as the API server would, in the evictor's name.
type Writer struct {
	Cluster *Cluster
	// Before, when not nil, is asked before every write; an error fails it.
	Before func(ctx context.Context, write string, object string) error
	// Line is told of what was written.
	Line Written
}

func (w *Writer) node(ctx context.Context, write string, object *v1.Node) (*node, error) {
	if w.Before != nil {
		if err := w.Before(ctx, write, object.Name); err != nil {
			return nil, err
		}
	}
	i, ok := w.Cluster.nodeByID[object.Name]
	if !ok {
		return nil, apierrors.NewNotFound(nodeResource, object.Name)
	}
	n := &w.Cluster.nodes[i]
	if n.uid != object.UID {
		return nil, apierrors.NewConflict(nodeResource, object.Name, errOtherUID)
	}
	return n, nil
}

func (w *Writer) line(l scenario.Line) {
	if w.Line != nil {
		l.T = w.Cluster.Clock.Elapsed()
		w.Line(l)
	}
}

// UpdateConditions writes conditions of a node.
func (w *Writer) UpdateConditions(ctx context.Context, object *v1.Node, conditions []v1.NodeCondition) error {
	n, err := w.node(ctx, "conditions", object)
	if err != nil {
		return err
	}
	if n.version != versionOf(object) {
		return apierrors.NewConflict(nodeResource, n.name, errOtherVersion)
	}
	merged := append([]v1.NodeCondition(nil), object.Status.Conditions...)
	for _, c := range conditions {
		if i := findCondition(merged, c.Type); i >= 0 {
			merged[i] = c
		} else {
			merged = append(merged, c)
		}
		w.line(scenario.Line{Kind: scenario.KindCondition, Node: n.name, Type: string(c.Type), Status: string(c.Status)})
	}
	n.conditions = merged
	w.Cluster.nodeChanged(n)
	return nil
}

// UpdateTaints applies a change to a node's taints.
func (w *Writer) UpdateTaints(ctx context.Context, object *v1.Node, change taints.Change) error {
	n, err := w.node(ctx, "taints", object)
	if err != nil {
		return err
	}
	if n.version != versionOf(object) {
		return apierrors.NewConflict(nodeResource, n.name, errOtherVersion)
	}
	before := n.taints
	n.taints = change.Apply(before, w.Cluster.Clock.Now())
	w.taintLines(n.name, before, n.taints)
	w.Cluster.nodeChanged(n)
	return nil
}

// ReplaceTaints writes a node's whole list of taints.
func (w *Writer) ReplaceTaints(ctx context.Context, object *v1.Node, list []v1.Taint) error {
	n, err := w.node(ctx, "taints", object)
	if err != nil {
		return err
	}
	before := n.taints
	n.taints = list
	w.taintLines(n.name, before, list)
	w.Cluster.nodeChanged(n)
	return nil
}

func versionOf(object *v1.Node) uint64 {
	version, _ := strconv.ParseUint(object.ResourceVersion, 10, 64)
	return version
}

// taintLines tells what differs between two lists of taints.
func (w *Writer) taintLines(node string, before, after []v1.Taint) {
	d := taints.Diff(before, after, nil)
	for _, t := range d.Add {
		w.line(scenario.Line{Kind: scenario.KindTaint, Node: node, Key: t.Key, Effect: string(t.Effect), Op: scenario.OpAdd})
	}
	for _, t := range d.Remove {
		w.line(scenario.Line{Kind: scenario.KindTaint, Node: node, Key: t.Key, Effect: string(t.Effect), Op: scenario.OpRemove})
	}
}

// UpdateLabels sets labels of a node.
func (w *Writer) UpdateLabels(ctx context.Context, object *v1.Node, labels map[string]string) error {
	n, err := w.node(ctx, "labels", object)
	if err != nil {
		return err
	}
	merged := make(map[string]string, len(n.labels)+len(labels))
	for k, v := range n.labels {
		merged[k] = v
	}
	for k, v := range labels {
		merged[k] = v
	}
	n.labels = merged
	w.Cluster.relabelled()
	w.Cluster.nodeChanged(n)
	return nil
}

func (w *Writer) pod(ctx context.Context, write string, ref evictor.PodRef) (int32, error) {
	if w.Before != nil {
		if err := w.Before(ctx, write, ref.PodKey.String()); err != nil {
			return 0, err
		}
	}
	i, ok := w.Cluster.findPod(ref.PodKey)
	if !ok {
		return 0, apierrors.NewNotFound(podResource, ref.Name)
	}
	if w.Cluster.uidOf(&w.Cluster.pods[i]) != ref.UID {
		return 0, apierrors.NewConflict(podResource, ref.Name, errOtherUID)
	}
	return i, nil
}

func (c *Cluster) uidOf(p *pod) types.UID {
	if p.object != nil && p.object.uid != "" {
		return p.object.uid
	}
	return types.UID("pod-" + strconv.FormatUint(p.serial, 10))
}

// Evict deletes the pod.
func (w *Writer) Evict(ctx context.Context, ref evictor.PodRef, _ evictor.Decision) error {
	i, err := w.pod(ctx, "evict", ref)
	if err != nil {
		return err
	}
	c := w.Cluster
	p := &c.pods[i]
	if p.terminating {
		return nil
	}
	n := &c.nodes[p.node]
	w.line(scenario.Line{Kind: scenario.KindEvict, Node: n.name, Pod: scenario.JoinPodName(ref.Namespace, ref.Name)})
	c.stats.evicted(c.now(), n)
	c.evicted(i)
	c.deletePod(i)
	return nil
}

// MarkNotReady sets the pod's Ready condition to False.
func (w *Writer) MarkNotReady(ctx context.Context, ref evictor.PodRef) error {
	i, err := w.pod(ctx, "podStatus", ref)
	if err != nil {
		return err
	}
	p := &w.Cluster.pods[i]
	if p.ready {
		p.ready = false
		w.line(scenario.Line{Kind: scenario.KindPodNotReady, Node: w.Cluster.nodes[p.node].name, Pod: scenario.JoinPodName(ref.Namespace, ref.Name)})
		w.Cluster.podChanged(w.Cluster.podIndex.Key(i))
	}
	return nil
}
