package simulation

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/evictkit/evictkit/evictor"
)

// Add adds an object of a kind that Scenario.Objects may have, but no workload, as it is. A pod needs a node that exists.
// The kubelet of a new node starts at once.
func (w *World) Add(object runtime.Object) error {
	if _, err := workloadOf(object); err == nil {
		return fmt.Errorf("%T: workloads must exist at time 0", object)
	}
	f := filler{cluster: w.player.cluster, owned: make(map[workloadKey]int)}
	if err := f.add(object); err != nil {
		return err
	}
	c := w.player.cluster
	switch o := object.(type) {
	case *v1.Pod:
		if len(f.early) > 0 || o.Spec.NodeName == "" {
			return fmt.Errorf("pod %s: node %s does not exist", o.Name, o.Spec.NodeName)
		}
		key := evictor.PodKey{Namespace: inDefault(o.Namespace), Name: o.Name}
		if i, ok := c.findPod(key); ok {
			c.pods[i].object.given = o.DeepCopy()
		}
		c.tellPod(o.Spec.NodeName, key, "is added")
	case *v1.Node:
		c.tellHappening(o.Name, "the node registers")
		if i := c.nodeByID[o.Name]; c.renewals.period > 0 && !c.nodes[i].failed {
			c.startKubelet(i)
		}
		w.player.remember()
	}
	c.bindClaims()
	return nil
}

// Update gives a node the labels and taints, and a pod the labels, tolerations, phase and Ready condition of this
// object, as if someone had written them. For other changes, use Do. A NoExecute taint without a TimeAdded gets the
// time of now.
func (w *World) Update(object runtime.Object) error {
	c := w.player.cluster
	switch o := object.(type) {
	case *v1.Node:
		i, ok := c.nodeByID[o.Name]
		if !ok {
			return fmt.Errorf("node %s does not exist", o.Name)
		}
		if !maps.Equal(c.nodes[i].Labels, o.Labels) {
			w.player.relabel(&c.nodes[i], maps.Clone(o.Labels))
		}
		c.updateTaints(&c.nodes[i], o.Spec.Taints)
	case *v1.Pod:
		key := evictor.PodKey{Namespace: inDefault(o.Namespace), Name: o.Name}
		i, ok := c.findPod(key)
		if !ok {
			return fmt.Errorf("pod %s does not exist", key)
		}
		p := &c.pods[i]
		if !equality.Semantic.DeepEqual(p.spec.Tolerations, o.Spec.Tolerations) {
			c.SetTolerations(i, o.Spec.Tolerations)
		}
		if p.spec.Labels == nil && len(o.Labels) > 0 || p.spec.Labels != nil && !maps.Equal(*p.spec.Labels, o.Labels) {
			c.SetPodLabels(i, o.Labels)
		}
		if phases[p.phase] != o.Status.Phase {
			c.SetPhase(i, o.Status.Phase)
		}
		at := slices.IndexFunc(o.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodReady })
		if ready := at >= 0 && o.Status.Conditions[at].Status == v1.ConditionTrue; at >= 0 && ready != p.ready && !p.phase.finished() {
			c.setReady(i, ready)
		}
	default:
		return fmt.Errorf("%T is neither a Node nor a Pod", object)
	}
	return nil
}

// updateTaints changes the taints of a node one by one.
func (c *cluster) updateTaints(n *node, after []v1.Taint) {
	before := n.Taints
	for _, t := range before {
		if !slices.ContainsFunc(after, func(other v1.Taint) bool { return other.MatchTaint(&t) }) {
			c.RemoveTaint(n, t.Key, t.Effect)
		}
	}
	for _, t := range after {
		if !slices.ContainsFunc(before, func(other v1.Taint) bool { return equality.Semantic.DeepEqual(other, t) }) {
			c.SetTaint(n, t)
		}
	}
}

// Feasible returns the names, in order, of the nodes on which such a pod could come back now, whatever node the object
// is bound to, and the one that it would come back on; "" if there is none.
func (w *World) Feasible(pod *v1.Pod) (names []string, best string) {
	return w.player.cluster.feasible(pod)
}
