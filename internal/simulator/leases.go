package simulator

import (
	"context"
	"time"

	"github.com/evictkit/evictkit/evictor"
)

// LoseLeases has the watch lose the renewals of a node's lease from now on, or deliver them again. The kubelet renews, and
// Confirm sees it. It returns false if the node does not exist.
func (c *Cluster) LoseLeases(name string, lost bool) bool {
	i, ok := c.nodeByID[name]
	if ok {
		c.nodes[i].unseen = lost
	}
	return ok
}

// Confirm implements evictor.Confirmer: it reads the lease as the API has it. If the watch has delivered all there is,
// there is nothing to read.
func (c *Cluster) Confirm(_ context.Context, suspect evictor.Suspect) (evictor.Answer, error) {
	i, ok := c.nodeByID[suspect.Node]
	if !ok || c.nodes[i].uid != suspect.UID || !c.nodes[i].missed {
		return evictor.Silent, nil
	}
	return suspect.Lease(Epoch.Add(time.Duration(c.nodes[i].renewed)), ""), nil
}
