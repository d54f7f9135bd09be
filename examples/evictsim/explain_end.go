package main

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/explain"
)

// nodeNames yields the names of all nodes.
func (t *tale) nodeNames(yield func(string) bool) {
	t.stores.Nodes.Nodes(func(n *v1.Node) bool { return yield(n.Name) })
}

// podNames yields the names of all pods.
func (t *tale) podNames(yield func(string) bool) {
	more := true
	t.stores.Nodes.Nodes(func(n *v1.Node) bool {
		t.stores.Pods.PodsOnNode(n.Name, func(p *v1.Pod) bool {
			more = yield(evictor.PodKey{Namespace: p.Namespace, Name: p.Name}.String())
			return more
		})
		return more
	})
}

// elsewhere looks for the pod's name in other namespaces. A pod that was named without its namespace is the only one that has
// the name.
func (t *tale) elsewhere() {
	if _, here := t.stores.Pods.Pod(t.pod); here || !t.ofPod() {
		return
	}
	var found []evictor.PodKey
	for name := range t.podNames {
		if key := podKey(name); key.Name == t.pod.Name {
			found = append(found, key)
		}
	}
	if len(found) == 1 && t.bare {
		t.pod = found[0]
		return
	}
	for _, key := range found {
		t.others = append(t.others, key.String())
	}
	slices.Sort(t.others)
}

// stays says why a pod that was never evicted is still on its node at the end, "" for other stories.
func (t *tale) stays() string {
	if !t.ofPod() || t.evicted > 0 {
		return ""
	}
	pod, ok := t.stores.Pods.Pod(t.pod)
	if !ok {
		return ""
	}
	node, ok := t.stores.Nodes.Node(pod.Spec.NodeName)
	switch {
	case !ok:
		return ""
	case pod.DeletionTimestamp != nil:
		return "it is deleted, and waits for the kubelet of node " + node.Name
	case pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed:
		return "it has ended, and no pod that has is evicted"
	}
	ready := slices.ContainsFunc(node.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == v1.NodeReady && c.Status == v1.ConditionTrue })
	tainted := slices.ContainsFunc(node.Spec.Taints, func(taint v1.Taint) bool { return taint.Effect == v1.TaintEffectNoExecute })
	switch {
	case ready && !tainted: // whatever held its eviction back before
		return "nothing asks it to leave: node " + node.Name + " has no NoExecute taint"
	case t.held != "":
		return t.held
	case tainted:
		return "it tolerates the taints of node " + node.Name + " without a limit"
	}
	return fmt.Sprintf("node %s is not Ready, and its turn has not come", node.Name)
}

// holds keeps what the pod's eviction waits for.
func (t *tale) holds(e *explain.Entry, mine bool) {
	switch {
	case !mine:
	case e.Kind == "EvictionArmed", e.Kind == "EvictionMoved", e.Kind == "EvictionDelayed", e.Kind == "PodDelayed":
		t.held = "its eviction is not yet done; the last word is: " + wording(e)
	case e.Kind == "EvictionCancelled", e.Kind == "PodEvicted":
		t.held = ""
	}
}
