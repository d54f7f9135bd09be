package simulation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor/simulation/internal/placement"
	"github.com/evictkit/evictkit/zone"
)

// taintOutOfService is v1.TaintNodeOutOfService, which the oldest API that this is compiled with does not have.
const taintOutOfService = "node.kubernetes.io/out-of-service"

// orphan leaves the pods of a node that is about to be deleted bound to its name. They do not run, but look as they
// did.
func (c *cluster) orphan(n *node) {
	if n.firstPod < 0 {
		return
	}
	c.orphans[n.Name] = c.nodeByID[n.Name]
	if !n.failed {
		n.failedAt = c.now()
	}
	n.failed, n.parted, n.reach = true, false, 0 // the machine is gone
}

// adopt makes a new node run the pods that are bound to its name since another one had it: a kubelet runs what the API
// server lists for it, and ends what is deleted.
func (c *cluster) adopt(to int32) {
	n := &c.nodes[to]
	from, ok := c.orphans[n.Name]
	if !ok {
		return
	}
	delete(c.orphans, n.Name)
	old := &c.nodes[from]
	n.firstPod = old.firstPod
	for i := n.firstPod; i >= 0; i = c.pods[i].next {
		c.rebook(i, ofNode, func(p *pod) { p.node = to })
		c.podChanged(i)
	}
	if old.firstPod = -1; n.firstPod >= 0 {
		c.tellHappening(n.Name, "the new node runs the pods that are bound to its name")
	}
	if !n.failed && !c.kubelets.down {
		c.tellPods(n, true)
	}
}

func (c *cluster) addNode(n node) error {
	if n.Name == "" {
		return fmt.Errorf("metadata.name is missing")
	}
	if _, taken := c.nodeByID[n.Name]; taken {
		return fmt.Errorf("node %s already exists", n.Name)
	}
	c.serial++
	if n.uid == "" {
		n.uid = types.UID("node-" + strconv.FormatUint(c.serial, 10))
	}
	n.zone = zone.KeyOf(n.Labels)
	n.firstPod, n.renewed = -1, 0 // its kubelet makes its lease, if it reaches the API
	n.fresh = lasting(n.Taints)
	i := int32(len(c.nodes))
	c.nodes = append(c.nodes, n)
	c.nodeByID[n.Name] = i
	c.filters.AddNode(n.NodeInfo)
	c.nodeChanged(&c.nodes[i])
	c.adopt(i)
	return nil
}

// AddNodeObject adds a node from a file, with its own conditions, taints and labels. A node without conditions has
// reported Ready; a node whose Ready condition is Unknown is silent.
func (c *cluster) AddNodeObject(object *v1.Node) error {
	c.nodeDated(object)
	n := node{
		NodeInfo: &placement.NodeInfo{
			Name: object.Name, Labels: object.Labels, Taints: object.Spec.Taints, Unschedulable: object.Spec.Unschedulable,
			Conditions: object.Status.Conditions, Room: c.filters.NewRoom(&object.Status),
		},
		uid: object.UID, created: object.CreationTimestamp, reported: -1,
	}
	if len(n.Conditions) == 0 {
		n.Conditions, n.reported = c.registered(), c.now()
	}
	for _, cond := range object.Status.Conditions {
		if cond.Type == v1.NodeReady && cond.Status == v1.ConditionUnknown {
			n.failed, n.failedAt = true, c.now()
		}
		if cond.Type == v1.NodeReady && cond.Status == v1.ConditionTrue || cond.Type != v1.NodeReady && cond.Status == v1.ConditionFalse || cond.Status == v1.ConditionUnknown {
			continue
		}
		n.setKubelet(cond.Type, cond.Status)
	}
	return c.addNode(n)
}

// lasting returns the taints that a replaced node has again: not those that controllers and people add.
func lasting(taints []v1.Taint) []v1.Taint {
	return slices.DeleteFunc(slices.Clone(taints), func(t v1.Taint) bool { return strings.HasPrefix(t.Key, "node.kubernetes.io/") })
}

// DeleteNode removes a node, and its machine with it. Its pods are gone at once only if nobody collects garbage.
func (c *cluster) DeleteNode(n *node) {
	name, i := n.Name, c.nodeByID[n.Name]
	c.tellHappening(name, "the node is deleted")
	if c.collects {
		c.orphan(n)
	}
	n.Deleted = true
	c.bookNode(i)
	for n.firstPod >= 0 && !c.collects {
		c.diesWithNode(&c.pods[n.firstPod])
		c.takeAway(n.firstPod)
	}
	delete(c.emptied, i)
	n.epoch++
	delete(c.nodeByID, name)
	c.world.nodeChanged(name)
}
