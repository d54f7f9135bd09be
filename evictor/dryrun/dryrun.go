// Package dryrun has clients that write nothing, and stores that show what was left out, so that the decisions that follow
// are made as well. Give them to an evictor, or to a half, in place of the real ones. A node that is back may stay Unknown for up
// to five minutes: its kubelet reports at once only what differs from its own last report, and nothing was written.
package dryrun

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/internal/absent"
	"github.com/evictkit/evictkit/taints"
)

// Clients wraps stores. It is a NodeStore, a PodStore, a NodeWriter and a PodWriter. All its fields are required. Programs hand
// it to an evictor and call none of its methods; [Clients.Node] and [Clients.Pod] show objects as they would be.
type Clients struct {
	cluster.NodeStore
	Pods cluster.PodStore
	// To is told of what a write changes, as an API server tells by its watch.
	To cluster.Target

	mu    sync.Mutex
	nodes map[string]shadow                 // as they would be, until another node has the name
	gone  map[cluster.PodKey]cluster.PodRef // would have been deleted
}

// shadow is what would have been written to a node.
type shadow struct {
	uid        types.UID
	labels     map[string]string
	taints     taints.Change
	conditions []condition
}

// condition is one that would have been written, with the heartbeat of the one that it replaces, if there was one.
type condition struct {
	v1.NodeCondition
	replaces bool
}

// Missing names a field that is nil and that New of an evictor or of a half needs.
func (c *Clients) Missing() string {
	switch {
	case absent.Value(c.NodeStore):
		return "dryrun.Clients without NodeStore"
	case absent.Value(c.Pods):
		return "dryrun.Clients without Pods"
	}
	return ""
}

// Node returns the node as it would be.
func (c *Clients) Node(name string) (*v1.Node, bool) {
	node, ok := c.NodeStore.Node(name)
	c.mu.Lock()
	defer c.mu.Unlock()
	shadow, changed := c.nodes[name]
	switch {
	case !changed:
		return node, ok
	case !ok || node.UID != shadow.uid:
		delete(c.nodes, name)
		return node, ok
	}
	merged := node.DeepCopy() // the real node lives on under its shadow: only what we would have written is ours
	merged.Spec.Taints = applied(shadow.taints, merged.Spec.Taints)
	if merged.Labels == nil {
		merged.Labels = maps.Clone(shadow.labels)
	} else {
		maps.Copy(merged.Labels, shadow.labels)
	}
	for _, ours := range shadow.conditions {
		switch at := find(merged, ours.Type); {
		case at < 0 && !ours.replaces:
			merged.Status.Conditions = append(merged.Status.Conditions, ours.NodeCondition)
		case at >= 0 && ours.LastHeartbeatTime.Equal(&merged.Status.Conditions[at].LastHeartbeatTime): // until the kubelet says something again
			merged.Status.Conditions[at] = ours.NodeCondition
		}
	}
	return merged, true
}

func find(node *v1.Node, kind v1.NodeConditionType) int {
	return slices.IndexFunc(node.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == kind })
}

// applied returns what the change makes of these taints.
func applied(change taints.Change, have []v1.Taint) []v1.Taint {
	return append(without(without(have, change.Remove), change.Add), change.Add...)
}

func without(have, those []v1.Taint) []v1.Taint {
	return slices.DeleteFunc(slices.Clone(have), func(t v1.Taint) bool {
		return slices.ContainsFunc(those, func(r v1.Taint) bool { return r.MatchTaint(&t) })
	})
}

// Pod returns the pod, terminating if it would have been deleted.
func (c *Clients) Pod(key cluster.PodKey) (*v1.Pod, bool) {
	pod, ok := c.Pods.Pod(key)
	if !ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.gone, key)
		return nil, false
	}
	return c.shadow(pod), true
}

// PodsOnNode visits the pods as they would be.
func (c *Clients) PodsOnNode(node string, visit func(*v1.Pod) bool) {
	c.Pods.PodsOnNode(node, func(pod *v1.Pod) bool { return visit(c.shadow(pod)) })
}

func (c *Clients) shadow(pod *v1.Pod) *v1.Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := cluster.RefOf(pod).PodKey
	if was, ok := c.gone[key]; ok && was.Shows(pod) {
		pod = pod.DeepCopy()
		pod.DeletionTimestamp = &metav1.Time{Time: pod.CreationTimestamp.Time}
	}
	return pod
}

// UpdateTaints writes nothing.
func (c *Clients) UpdateTaints(_ context.Context, node *v1.Node, change taints.Change) error {
	return c.write(node, func(after *shadow) {
		after.taints = taints.Change{Add: applied(change, after.taints.Add), Remove: append(without(after.taints.Remove, change.Add), change.Remove...)}
	})
}

// errNobodyToTell is what each write but MarkNotReady fails with without To.
var errNobodyToTell = errors.New("dryrun: Clients.To is nil: set it to the evictor that these clients are given to")

func (c *Clients) write(node *v1.Node, change func(after *shadow)) error {
	if absent.Value(c.To) {
		return errNobodyToTell
	}
	c.mu.Lock()
	if c.nodes == nil {
		c.nodes = make(map[string]shadow)
	}
	after := c.nodes[node.Name]
	if after.uid != node.UID {
		after = shadow{uid: node.UID}
	}
	change(&after)
	c.nodes[node.Name] = after
	c.mu.Unlock()
	c.To.NodeChanged(node.Name)
	return nil
}

// UpdateConditions writes nothing. What it would have written shows until the kubelet reports anew: a heartbeat stays one.
func (c *Clients) UpdateConditions(_ context.Context, node *v1.Node, conditions []v1.NodeCondition) error {
	return c.write(node, func(after *shadow) {
		for _, ours := range conditions {
			is := condition{NodeCondition: ours}
			if at := find(node, ours.Type); at >= 0 {
				is.LastHeartbeatTime, is.replaces = node.Status.Conditions[at].LastHeartbeatTime, true
			}
			for _, was := range after.conditions {
				is.replaces = is.replaces && (was.Type != ours.Type || was.replaces) // else it is ours that the node shows
			}
			after.conditions = append(slices.DeleteFunc(slices.Clone(after.conditions), func(c condition) bool { return c.Type == ours.Type }), is)
		}
	})
}

// UpdateLabels writes nothing.
func (c *Clients) UpdateLabels(_ context.Context, node *v1.Node, labels map[string]string) error {
	return c.write(node, func(after *shadow) {
		if after.labels = maps.Clone(after.labels); after.labels == nil {
			after.labels = make(map[string]string)
		}
		maps.Copy(after.labels, labels)
	})
}

// Evict writes nothing.
func (c *Clients) Evict(_ context.Context, pod cluster.PodRef, _ taints.Deadline) error {
	if absent.Value(c.To) {
		return errNobodyToTell
	}
	c.mu.Lock()
	if c.gone == nil {
		c.gone = make(map[cluster.PodKey]cluster.PodRef)
	}
	c.gone[pod.PodKey] = pod
	c.mu.Unlock()
	c.To.PodChanged(pod.PodKey)
	return nil
}

// MarkNotReady writes nothing. The pod shows as it is: an evictor knows by itself which pods it has marked in an outage.
func (c *Clients) MarkNotReady(context.Context, cluster.PodRef) error { return nil }
