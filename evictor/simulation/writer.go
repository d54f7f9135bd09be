package simulation

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/taints"
)

// writer writes to the cluster as the API server would for the evictor.
type writer struct {
	Cluster *cluster
	// Before, if not nil, is called before every write; an error fails the write.
	Before func(ctx context.Context, write string, object string) error
	// Line is called for what was written.
	Line func(timeline.Line)
	// AskBudgets makes evictions use the eviction API, which respects PodDisruptionBudgets.
	AskBudgets bool

	latency time.Duration // after which a write takes effect
	late    late
	why     *teller // nil if reasons are not needed
}

func (w *writer) node(ctx context.Context, write string, object *v1.Node) (*node, error) {
	if w.Before != nil && write != "" { // Before was called for a late write already
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

func (w *writer) line(l timeline.Line) {
	if w.Line != nil {
		l.T = w.Cluster.Clock.Elapsed()
		w.Line(l)
	}
}

// UpdateConditions writes conditions of a node.
func (w *writer) UpdateConditions(ctx context.Context, object *v1.Node, conditions []v1.NodeCondition) error {
	n, err := w.node(ctx, "conditions", object)
	if err != nil {
		return err
	}
	if n.version != versionOf(object) {
		return apierrors.NewConflict(nodeResource, n.name, errOtherVersion)
	}
	w.soon(nodeWrite, func() {
		n, err := w.node(ctx, "", object)
		if err != nil {
			return
		}
		if n.version != versionOf(object) { // changed while the write was in flight
			object = w.Cluster.buildNode(n)
		}
		w.updateConditions(n, object.Status.Conditions, conditions)
	})
	return nil
}

func (w *writer) updateConditions(n *node, before, conditions []v1.NodeCondition) {
	merged := append([]v1.NodeCondition(nil), before...)
	for _, c := range conditions {
		if i := findCondition(merged, c.Type); i >= 0 {
			merged[i] = c
		} else {
			merged = append(merged, c)
		}
		if c.Type == v1.NodeReady {
			w.Cluster.zoneOf(n).told.UnknownNodes++
		}
		w.line(timeline.Line{Kind: timeline.KindCondition, Node: n.name, Type: string(c.Type), Status: string(c.Status), More: w.why.ofNode(n.name)})
	}
	n.conditions = merged
	w.Cluster.nodeChanged(n)
	w.Cluster.compares(n)
}

// UpdateTaints applies a change to a node's taints.
func (w *writer) UpdateTaints(ctx context.Context, object *v1.Node, change taints.Change) error {
	n, err := w.node(ctx, "taints", object)
	if err != nil {
		return err
	}
	if n.version != versionOf(object) {
		return apierrors.NewConflict(nodeResource, n.name, errOtherVersion)
	}
	began := w.Cluster.Clock.Now()
	w.soon(nodeWrite, func() {
		if n, err := w.node(ctx, "", object); err == nil {
			w.setTaints(n, change.Apply(n.taints, began))
		}
	})
	return nil
}

func (w *writer) setTaints(n *node, after []v1.Taint) {
	w.taintLines(n, n.taints, after)
	n.taints = after
	w.Cluster.nodeChanged(n)
}

// ReplaceTaints writes a node's whole list of taints.
func (w *writer) ReplaceTaints(ctx context.Context, object *v1.Node, list []v1.Taint) error {
	if _, err := w.node(ctx, "taints", object); err != nil {
		return err
	}
	w.soon(nodeWrite, func() {
		if n, err := w.node(ctx, "", object); err == nil {
			w.setTaints(n, list)
		}
	})
	return nil
}

func versionOf(object *v1.Node) uint64 {
	version, _ := strconv.ParseUint(object.ResourceVersion, 10, 64)
	return version
}

// taintLines writes a line for each difference between two lists of taints.
func (w *writer) taintLines(n *node, before, after []v1.Taint) {
	d := taints.Diff(before, after, nil)
	for i := range d.Add {
		t := &d.Add[i]
		if taints.OwnNoExecute(t) {
			w.Cluster.zoneOf(n).told.Taints++
		}
		w.line(timeline.Line{Kind: timeline.KindTaint, Node: n.name, Key: t.Key, Effect: string(t.Effect), Op: timeline.OpAdd, More: w.why.ofTaint(n, t, timeline.OpAdd)})
	}
	for i := range d.Remove {
		t := &d.Remove[i]
		if slices.ContainsFunc(d.Add, func(add v1.Taint) bool { return add.MatchTaint(t) }) {
			continue // it has another value now
		}
		if t.Effect == v1.TaintEffectNoExecute {
			w.Cluster.overdue(n)
		}
		w.line(timeline.Line{Kind: timeline.KindTaint, Node: n.name, Key: t.Key, Effect: string(t.Effect), Op: timeline.OpRemove, More: w.why.ofTaint(n, t, timeline.OpRemove)})
	}
}

// UpdateLabels sets labels of a node.
func (w *writer) UpdateLabels(ctx context.Context, object *v1.Node, labels map[string]string) error {
	if _, err := w.node(ctx, "labels", object); err != nil {
		return err
	}
	w.soon(nodeWrite, func() {
		n, err := w.node(ctx, "", object)
		if err != nil {
			return
		}
		merged := make(map[string]string, len(n.labels)+len(labels))
		maps.Copy(merged, n.labels)
		maps.Copy(merged, labels)
		n.labels = merged
		w.Cluster.relabelled()
		w.Cluster.nodeChanged(n)
	})
	return nil
}

func (w *writer) pod(ctx context.Context, write string, ref evictor.PodRef) (int32, error) {
	if w.Before != nil && write != "" {
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

func (c *cluster) uidOf(p *pod) types.UID {
	if p.object != nil && p.object.uid != "" {
		return p.object.uid
	}
	return types.UID("pod-" + strconv.FormatUint(p.serial, 10))
}

// Evict deletes the pod, or uses the eviction API.
func (w *writer) Evict(ctx context.Context, ref evictor.PodRef, why taints.Deadline) error {
	i, err := w.pod(ctx, "evict", ref)
	if err != nil {
		return err
	}
	if w.Cluster.pods[i].terminating {
		return nil
	}
	if w.AskBudgets {
		if err := w.Cluster.ask(i); err != nil {
			return err
		}
	}
	w.soon(podWrite, func() { w.evict(ctx, ref, w.why.ofEviction(why)) })
	return nil
}

func (w *writer) evict(ctx context.Context, ref evictor.PodRef, why string) {
	c := w.Cluster
	i, err := w.pod(ctx, "", ref)
	if err != nil || c.pods[i].terminating {
		return
	}
	w.line(timeline.Line{Kind: timeline.KindEvict, Node: c.nodes[c.pods[i].node].name, Pod: joinPodName(ref.Namespace, ref.Name), More: why})
	c.leaves(i)
	c.deletePod(i)
}

// check returns what the eviction API would answer now.
func (w *writer) check(ctx context.Context, ref evictor.PodRef) error {
	if !w.AskBudgets {
		return nil
	}
	i, err := w.pod(ctx, "evict", ref)
	if err != nil || w.Cluster.pods[i].terminating {
		return err
	}
	return w.Cluster.ask(i)
}

// MarkNotReady sets the pod's Ready condition to False.
func (w *writer) MarkNotReady(ctx context.Context, ref evictor.PodRef) error {
	if _, err := w.pod(ctx, "podStatus", ref); err != nil {
		return err
	}
	w.soon(podWrite, func() {
		c := w.Cluster
		i, err := w.pod(ctx, "", ref)
		if err != nil || !c.pods[i].ready {
			return
		}
		name := c.nodes[c.pods[i].node].name
		w.line(timeline.Line{Kind: timeline.KindPodNotReady, Node: name, Pod: joinPodName(ref.Namespace, ref.Name), More: w.why.ofNode(name)})
		c.mark(i)
	})
	return nil
}
