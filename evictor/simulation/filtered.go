package simulation

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation/internal/placement"
)

// EachPod and EachPodOn are what the scheduler's filters see of pods.
func (c *cluster) EachPod(visit func(placement.Pod)) {
	for i := range c.pods {
		if p := &c.pods[i]; p.node >= 0 {
			visit(c.filtered(p))
		}
	}
}

func (c *cluster) EachPodOn(node int32, visit func(placement.Pod)) {
	for i := c.nodes[node].firstPod; i >= 0; i = c.pods[i].next {
		visit(c.filtered(&c.pods[i]))
	}
}

func (c *cluster) filtered(p *pod) placement.Pod {
	return placement.Pod{
		Spec: &p.spec.Spec, Namespace: c.spaces[p.id.space], Node: p.node,
		Takes: p.booked.traits&takes != 0, Spreads: p.booked.traits&spreads != 0,
	}
}

// occupies and spreads count a pod for the filters, and occupies for how full its node is.
func (c *cluster) occupies(i int32, by int) {
	c.filters.Occupy(c.filtered(&c.pods[i]), by)
	n := &c.nodes[c.pods[i].node]
	n.taken += int32(by) //nolint:gosec // 1 or -1
	if n.Room == nil && int(n.taken) > c.stats.fullest {
		c.stats.fullest, c.stats.fullestNode = int(n.taken), n.Name
	}
}

func (c *cluster) spreads(i int32, by int) { c.filters.Spread(c.filtered(&c.pods[i]), by) }

// detachAfter is how long the attach-detach controller waits for a node that is silent or gone to unmount a volume,
// after the object of the last pod that uses it is gone.
const detachAfter = 6 * time.Minute

// detached returns how long after a pod's object is gone its volumes can be attached to another node. A node that is out
// of service lets go at once.
func (c *cluster) detached(p *pod) time.Duration {
	if n := &c.nodes[p.node]; !p.spec.Attached() || !n.failed && !n.Deleted || c.outOfService[p.node] {
		return 0
	}
	return detachAfter
}

// claimant is a pod whose claims are looked up when all objects are known.
type claimant struct {
	pod       evictor.PodKey
	claims    []string
	ephemeral bool
}

// awaitClaims notes a pod whose claims may come later in the files.
func (c *cluster) awaitClaims(object *v1.Pod) {
	if names, ephemeral := placement.ClaimsOf(&object.Spec); len(names) > 0 || ephemeral {
		c.claimants = append(c.claimants, claimant{evictor.PodKey{Namespace: object.Namespace, Name: object.Name}, names, ephemeral})
	}
}
