package simulation

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
)

// taintOutOfService is v1.TaintNodeOutOfService, which the oldest API that this is compiled with does not have.
const taintOutOfService = "node.kubernetes.io/out-of-service"

// leaveService records whether a node has the out-of-service taint.
func (c *cluster) leaveService(i int32) {
	n := &c.nodes[i]
	if !n.deleted && slices.ContainsFunc(n.taints, func(t v1.Taint) bool { return t.Key == taintOutOfService }) {
		c.outOfService[i] = true
	} else if len(c.outOfService) > 0 {
		delete(c.outOfService, i)
	}
}

// orphan leaves the pods of a node that is about to be deleted bound to its name. They do not run, but look as they
// did.
func (c *cluster) orphan(n *node) {
	if n.firstPod < 0 {
		return
	}
	c.orphans[n.name] = c.nodeByID[n.name]
	if n.failed {
		return
	}
	n.failed, n.failedAt = true, c.now()
}

// adopt makes a new node run the pods that are bound to its name since another one had it: a kubelet runs what the API
// server lists for it, and ends what is deleted.
func (c *cluster) adopt(to int32) {
	n := &c.nodes[to]
	from, ok := c.orphans[n.name]
	if !ok {
		return
	}
	delete(c.orphans, n.name)
	old := &c.nodes[from]
	n.firstPod = old.firstPod
	for i := n.firstPod; i >= 0; i = c.pods[i].next {
		c.rebook(i, ofNode, func(p *pod) { p.node = to })
		c.podChanged(i)
	}
	if old.firstPod = -1; n.firstPod >= 0 {
		c.tellHappening(n.name, "the new node runs the pods that are bound to its name")
	}
	if !n.failed && !c.kubelets.down {
		c.tellPods(n, true)
	}
}

// awaitsNode says whether a pod is bound to the name of a deleted node.
func (c *cluster) awaitsNode(key evictor.PodKey, name string) bool {
	i, ok := c.findPod(key)
	at, gone := c.orphans[name]
	return ok && gone && c.pods[i].node == at
}

// isOn says whether a pod is bound to a node that exists.
func (c *cluster) isOn(key evictor.PodKey, name string) bool {
	i, ok := c.findPod(key)
	return ok && c.pods[i].node == c.nodeByID[name]
}
