package evictor

import (
	"context"
	"maps"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor/internal/node"
	"github.com/evictkit/evictkit/taints"
)

// dryRun stands between the evictor and its clients: it writes nothing, and shows what would have been
// written as if it had been, so that the decisions that follow are taken too.
type dryRun struct {
	real Clients
	e    *Evictor

	mu    sync.Mutex // guards what follows; the stores are read without it
	nodes map[string]*dryNode
	pods  map[PodKey]dryPod
}

type dryNode struct {
	uid        types.UID
	heartbeat  metav1.Time // of the real Ready condition when conditions were written
	conditions []v1.NodeCondition
	managed    []v1.Taint // all taints of ours after the last write; nil before one
	tainted    bool
	labels     map[string]string
}

type dryPod struct {
	uid      types.UID
	evicted  metav1.Time
	notReady bool
}

func newDryRun(real Clients, e *Evictor) *dryRun {
	return &dryRun{real: real, e: e, nodes: make(map[string]*dryNode), pods: make(map[PodKey]dryPod)}
}

func (d *dryRun) clients() Clients { return Clients{Nodes: d, Pods: d, NodeWriter: d, PodWriter: d} }

// heard forgets the conditions of a node whose lease was renewed. A kubelet that found them on its node would
// report soon, but this one finds its own, and need not for minutes.
func (d *dryRun) heard(node string) {
	d.mu.Lock()
	shadow := d.nodes[node]
	changed := shadow != nil && len(shadow.conditions) > 0
	if changed {
		shadow.conditions = nil
	}
	d.mu.Unlock()
	if changed {
		d.e.NodeChanged(node)
	}
}

func (d *dryRun) Synced() bool { return d.real.Nodes.Synced() }

func (d *dryRun) Node(name string) (*v1.Node, bool) {
	node, ok := d.real.Nodes.Node(name)
	if !ok {
		d.mu.Lock()
		delete(d.nodes, name)
		d.mu.Unlock()
		return nil, false
	}
	return d.overNode(node), true
}

// Nodes reads nothing but what it is shown: a store may be locked meanwhile.
func (d *dryRun) Nodes(visit func(*v1.Node) bool) {
	d.real.Nodes.Nodes(func(node *v1.Node) bool { return visit(d.overNode(node)) })
}

func (d *dryRun) overNode(node *v1.Node) *v1.Node {
	d.mu.Lock()
	defer d.mu.Unlock()
	shadow := d.nodes[node.Name]
	if shadow == nil {
		return node
	}
	if shadow.uid != node.UID {
		delete(d.nodes, node.Name)
		return node
	}
	return shadow.over(node)
}

// over is a copy of the node with what would have been written.
func (s *dryNode) over(object *v1.Node) *v1.Node {
	shown := *object
	if s.heartbeat.Equal(&node.ReadyOf(object).LastHeartbeatTime) {
		shown.Status.Conditions = node.Overlay(object.Status.Conditions, s.conditions)
	}
	if s.tainted {
		shown.Spec.Taints = nil
		for _, t := range object.Spec.Taints {
			if !node.Managed(&t) {
				shown.Spec.Taints = append(shown.Spec.Taints, t)
			}
		}
		shown.Spec.Taints = append(shown.Spec.Taints, s.managed...)
	}
	if len(s.labels) > 0 {
		labels := make(map[string]string, len(object.Labels)+len(s.labels))
		for k, v := range object.Labels {
			labels[k] = v
		}
		for k, v := range s.labels {
			labels[k] = v
		}
		shown.Labels = labels
	}
	return &shown
}

func (d *dryRun) change(node *v1.Node, write func(*dryNode)) error {
	d.mu.Lock()
	shadow := d.nodes[node.Name]
	if shadow == nil || shadow.uid != node.UID {
		shadow = &dryNode{uid: node.UID}
		d.nodes[node.Name] = shadow
	}
	write(shadow)
	d.mu.Unlock()
	d.e.NodeChanged(node.Name)
	return nil
}

func (d *dryRun) UpdateConditions(_ context.Context, object *v1.Node, conditions []v1.NodeCondition) error {
	return d.change(object, func(s *dryNode) {
		s.heartbeat = node.ReadyOf(object).LastHeartbeatTime
		s.conditions = node.Overlay(s.conditions, conditions)
	})
}

func (d *dryRun) UpdateTaints(_ context.Context, object *v1.Node, change taints.Change) error {
	return d.change(object, func(s *dryNode) {
		s.tainted, s.managed = true, nil
		for _, t := range change.Apply(object.Spec.Taints, d.e.clock.Now()) {
			if node.Managed(&t) {
				s.managed = append(s.managed, t)
			}
		}
	})
}

func (d *dryRun) UpdateLabels(_ context.Context, node *v1.Node, labels map[string]string) error {
	return d.change(node, func(s *dryNode) {
		if s.labels == nil {
			s.labels = make(map[string]string, len(labels))
		}
		maps.Copy(s.labels, labels)
	})
}

func (d *dryRun) Pod(key PodKey) (*v1.Pod, bool) {
	pod, ok := d.real.Pods.Pod(key)
	if !ok {
		d.mu.Lock()
		delete(d.pods, key)
		d.mu.Unlock()
		return nil, false
	}
	return d.overPod(key, pod), true
}

func (d *dryRun) PodsOnNode(node string, visit func(*v1.Pod) bool) {
	d.real.Pods.PodsOnNode(node, func(pod *v1.Pod) bool {
		return visit(d.overPod(PodKey{Namespace: pod.Namespace, Name: pod.Name}, pod))
	})
}

func (d *dryRun) overPod(key PodKey, pod *v1.Pod) *v1.Pod {
	d.mu.Lock()
	defer d.mu.Unlock()
	shadow, ok := d.pods[key]
	if !ok {
		return pod
	}
	if shadow.uid != pod.UID {
		delete(d.pods, key)
		return pod
	}
	shown := *pod
	if !shadow.evicted.IsZero() {
		shown.DeletionTimestamp = &shadow.evicted
	}
	if shadow.notReady {
		shown.Status.Conditions = append([]v1.PodCondition(nil), pod.Status.Conditions...)
		for i := range shown.Status.Conditions {
			if shown.Status.Conditions[i].Type == v1.PodReady {
				shown.Status.Conditions[i].Status = v1.ConditionFalse
			}
		}
	}
	return &shown
}

func (d *dryRun) Evict(_ context.Context, pod PodRef, _ Decision) error {
	d.mu.Lock()
	shadow := d.pods[pod.PodKey]
	d.pods[pod.PodKey] = dryPod{uid: pod.UID, evicted: metav1.NewTime(d.e.clock.Now()), notReady: shadow.notReady && shadow.uid == pod.UID}
	d.mu.Unlock()
	d.e.PodChanged(pod.PodKey)
	return nil
}

func (d *dryRun) MarkNotReady(_ context.Context, pod PodRef) error {
	d.mu.Lock()
	shadow := d.pods[pod.PodKey]
	if shadow.uid != pod.UID {
		shadow = dryPod{uid: pod.UID}
	}
	shadow.notReady = true
	d.pods[pod.PodKey] = shadow
	d.mu.Unlock()
	d.e.PodChanged(pod.PodKey)
	return nil
}
