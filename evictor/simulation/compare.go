package simulation

import (
	"time"

	"github.com/evictkit/evictkit/evictor/simulation/internal/placement"
)

// statusFrequency is the default of a kubelet's nodeStatusUpdateFrequency: so often it compares the
// status of its node, as the API has it, with what it sees.
const statusFrequency = int64(10 * time.Second)

// compares makes a live kubelet notice at its next comparison that somebody else has written a wrong status of its node.
// Comparisons come in step with its renewals.
func (c *cluster) compares(n *node) {
	if !c.comparing || n.failed || n.Deleted || c.renewals.period <= 0 || !c.wrong(n) {
		return
	}
	turns := (c.now()-n.renewed)/statusFrequency + 1
	c.kubelets.comparisons.push(turn{n.renewed + turns*statusFrequency, c.nodeByID[n.Name], n.epoch})
}

// wrong says whether the API has another status of a condition than the kubelet, of those that every kubelet reports.
func (c *cluster) wrong(n *node) bool {
	for i := range n.Conditions {
		if kind := n.Conditions[i].Type; placement.FindCondition(healthy, kind) >= 0 && n.Conditions[i].Status != n.kubeletStatus(kind) {
			return true
		}
	}
	return false
}

// compare takes the comparison whose turn it is: if the status is still wrong, the kubelet reports.
func (c *cluster) compare() {
	t := c.kubelets.comparisons.pop()
	if n := &c.nodes[t.node]; n.epoch == t.epoch && !n.failed && !n.Deleted && c.wrong(n) {
		c.call(&c.kubelets.reports, t.node, c.report)
	}
}
