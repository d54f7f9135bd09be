package simulation

import (
	"maps"
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor"
)

// quarantineTime is how long the pod garbage collector misses a node before it removes the node's pods.
const quarantineTime = 40 * time.Second

// garbage is what the pod garbage collector knows of deleted nodes.
type garbage struct {
	collects   bool                     // somebody collects garbage: pods of deleted nodes stay until then
	orphans    map[string]int32         // deleted nodes to whose names pods are bound
	quarantine map[string]time.Duration // nodes that the collector misses, and when that is long enough
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

// collectOrphans takes the pods of deleted nodes away that it has missed for long enough, and notes which it misses
// now.
func (p *player) collectOrphans(at time.Duration) {
	c := p.cluster
	var due []string
	for _, name := range slices.Sorted(maps.Keys(c.quarantine)) {
		if c.quarantine[name] <= at {
			due = append(due, name)
			delete(c.quarantine, name)
		}
	}
	for name := range c.orphans {
		if _, missed := c.quarantine[name]; !missed {
			c.quarantine[name] = at + quarantineTime
		}
	}
	for _, name := range due {
		if _, gone := c.orphans[name]; !gone {
			continue
		}
		for _, key := range c.SortedPods(name) {
			if i, ok := c.findPod(key); ok {
				c.diesWithNode(&c.pods[i])
				p.removed(name, i, "the node no longer exists")
			}
		}
		delete(c.orphans, name)
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
