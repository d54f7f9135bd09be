package simulation

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation/internal/placement"
	"github.com/evictkit/evictkit/evictor/simulation/internal/sending"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/taints"
)

var (
	errOtherUID     = errors.New("the object has another UID")
	errOtherVersion = errors.New("the object has been changed")
)

// writer writes to the cluster as the API server would for the evictor.
type writer struct {
	*player
	sender *sending.Sender
	why    *teller // nil if reasons are not needed
}

// target is what a write is to: a node or a pod, and what of it.
type target struct {
	what, node string
	pod        evictor.PodRef
}

func newWriter(p *player) *writer {
	s, defaults := p.scenario, evictor.DefaultConfig()
	workers := [...]int{sending.OfNode: defaults.Nodes.NodeWorkers, sending.OfPod: defaults.PodWorkers}
	return &writer{player: p, sender: sending.New(s.KubeAPIQPS, s.KubeAPIBurst, workers)}
}

// soon makes a write, and returns its answer: at once, unless its client has reached its limit or the API is slow.
func (w *writer) soon(call sending.Write) error {
	w.sender.Send(w.cluster.Clock.Elapsed(), call)
	_, answer := w.outcome()
	return answer
}

// onNode makes a write to a node, which takes effect once it is sent. One that is about a version fails if the node has another
// one, and one that adds leaves an earlier one alone that waits.
func (w *writer) onNode(object *v1.Node, what string, versioned, adds bool, do func(*node)) error {
	if err := w.reach(); err != nil {
		return err
	}
	n, err := w.found(object)
	switch {
	case err != nil:
		return err
	case versioned && n.version != versionOf(object):
		return apierrors.NewConflict(nodeResource, n.Name, errOtherVersion)
	}
	return w.soon(sending.Write{Kind: sending.OfNode, To: target{what: what, node: object.Name}, After: adds, Do: func() {
		if n, err := w.found(object); err == nil {
			do(n)
		}
	}})
}

// found returns the node of a write.
func (w *writer) found(object *v1.Node) (*node, error) {
	i, ok := w.cluster.nodeByID[object.Name]
	if !ok {
		return nil, apierrors.NewNotFound(nodeResource, object.Name)
	}
	n := &w.cluster.nodes[i]
	if n.uid != object.UID {
		return nil, apierrors.NewConflict(nodeResource, object.Name, errOtherUID)
	}
	return n, nil
}

func (w *writer) tell(l timeline.Line) {
	l.T = w.cluster.Clock.Elapsed()
	w.line(l)
}

// UpdateConditions writes conditions of a node.
func (w *writer) UpdateConditions(_ context.Context, object *v1.Node, conditions []v1.NodeCondition) error {
	return w.onNode(object, "conditions", true, false, func(n *node) {
		if n.version != versionOf(object) { // changed while the write was in flight
			object = w.cluster.buildNode(n)
		}
		w.updateConditions(n, object.Status.Conditions, conditions)
	})
}

func (w *writer) updateConditions(n *node, before, conditions []v1.NodeCondition) {
	merged := append([]v1.NodeCondition(nil), before...)
	for _, c := range conditions {
		if i := placement.FindCondition(merged, c.Type); i >= 0 {
			merged[i] = c
		} else {
			merged = append(merged, c)
		}
		if c.Type == v1.NodeReady {
			w.cluster.zoneOf(n).told.UnknownNodes++
		}
		w.tell(timeline.Line{Kind: timeline.KindCondition, Node: n.Name, Type: string(c.Type), Status: string(c.Status), More: w.why.ofNode(n.Name)})
	}
	n.Conditions = merged
	w.cluster.nodeChanged(n)
	w.cluster.compares(n)
}

// UpdateTaints applies a change to a node's taints.
func (w *writer) UpdateTaints(_ context.Context, object *v1.Node, change taints.Change) error {
	began := w.cluster.Clock.Now()
	return w.onNode(object, "taints", true, true, func(n *node) { w.setTaints(n, change.Apply(n.Taints, began)) })
}

func (w *writer) setTaints(n *node, after []v1.Taint) {
	w.taintLines(n, n.Taints, after)
	n.Taints = after
	w.cluster.nodeChanged(n)
}

// ReplaceTaints writes a node's whole list of taints.
func (w *writer) ReplaceTaints(_ context.Context, object *v1.Node, list []v1.Taint) error {
	return w.onNode(object, "taints", false, false, func(n *node) { w.setTaints(n, list) })
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
			w.cluster.zoneOf(n).told.Taints++
		}
		w.tell(timeline.Line{Kind: timeline.KindTaint, Node: n.Name, Key: t.Key, Effect: string(t.Effect), Op: timeline.OpAdd, More: w.why.ofTaint(n, t, timeline.OpAdd)})
	}
	for i := range d.Remove {
		t := &d.Remove[i]
		if slices.ContainsFunc(d.Add, func(add v1.Taint) bool { return add.MatchTaint(t) }) {
			continue // it has another value now
		}
		if t.Effect == v1.TaintEffectNoExecute {
			w.cluster.overdue(n)
		}
		w.tell(timeline.Line{Kind: timeline.KindTaint, Node: n.Name, Key: t.Key, Effect: string(t.Effect), Op: timeline.OpRemove, More: w.why.ofTaint(n, t, timeline.OpRemove)})
	}
}

// UpdateLabels sets labels of a node.
func (w *writer) UpdateLabels(_ context.Context, object *v1.Node, labels map[string]string) error {
	return w.onNode(object, "labels", false, true, func(n *node) {
		merged := make(map[string]string, len(n.Labels)+len(labels))
		maps.Copy(merged, n.Labels)
		maps.Copy(merged, labels)
		w.relabel(n, merged)
	})
}

// pod and foundPod are node and found for a pod.
func (w *writer) pod(ref evictor.PodRef) (int32, error) {
	if err := w.reach(); err != nil {
		return 0, err
	}
	return w.foundPod(ref)
}

func (w *writer) foundPod(ref evictor.PodRef) (int32, error) {
	i, ok := w.cluster.findPod(ref.PodKey)
	if !ok {
		return 0, apierrors.NewNotFound(podResource, ref.Name)
	}
	if w.cluster.uidOf(&w.cluster.pods[i]) != ref.UID {
		return 0, apierrors.NewConflict(podResource, ref.Name, errOtherUID)
	}
	return i, nil
}

// Evict deletes the pod, or uses the eviction API.
func (w *writer) Evict(_ context.Context, ref evictor.PodRef, why taints.Deadline) error {
	i, err := w.pod(ref)
	if err != nil {
		return err
	}
	if w.cluster.pods[i].terminating {
		return nil
	}
	if w.scenario.AskBudgets {
		if err := w.cluster.ask(i); err != nil {
			return err
		}
	}
	reason := w.why.ofEviction(ref.PodKey, why)
	return w.soon(sending.Write{Kind: sending.OfPod, Client: sending.Evictions, To: target{what: "eviction", pod: ref}, Do: func() { w.evict(ref, reason) }})
}

func (w *writer) evict(ref evictor.PodRef, why string) {
	c := w.cluster
	i, err := w.foundPod(ref)
	if err != nil || c.pods[i].terminating {
		return
	}
	w.tell(timeline.Line{Kind: timeline.KindEvict, Node: c.nodes[c.pods[i].node].Name, Pod: joinPodName(ref.Namespace, ref.Name), More: why})
	if !c.pods[i].spec.ofDaemonSet() {
		c.leaves(i)
	}
	c.deletePod(i)
}

// check returns what the eviction API would answer now.
func (w *writer) check(_ context.Context, ref evictor.PodRef) error {
	if !w.scenario.AskBudgets {
		return nil
	}
	i, err := w.pod(ref)
	if err != nil || w.cluster.pods[i].terminating {
		return err
	}
	return w.cluster.ask(i)
}

// MarkNotReady sets the pod's Ready condition to False.
func (w *writer) MarkNotReady(_ context.Context, ref evictor.PodRef) error {
	if _, err := w.pod(ref); err != nil {
		return err
	}
	began := w.cluster.Clock.Elapsed()
	return w.soon(sending.Write{Kind: sending.OfPod, To: target{what: "mark", pod: ref}, Do: func() {
		c := w.cluster
		i, err := w.foundPod(ref)
		if err != nil || !c.pods[i].ready {
			return
		}
		n := &c.nodes[c.pods[i].node]
		if began < c.Clock.Elapsed() && w.sender.Latency == 0 && n.IsReady() {
			return // it has waited to be sent, and is not wanted any more
		}
		name := n.Name
		w.tell(timeline.Line{Kind: timeline.KindPodNotReady, Node: name, Pod: joinPodName(ref.Namespace, ref.Name), More: w.why.ofNode(name)})
		if !c.pods[i].spec.ofDaemonSet() {
			w.report.PodsMarkedNotReady++
		}
		c.mark(i)
	}})
}
