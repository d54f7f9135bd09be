package simulation

import (
	"slices"
	"time"

	"github.com/evictkit/evictkit/taints"
)

// NeedlessWithin is how soon after it fell silent a node must be back for the evictions from it to be needless.
const NeedlessWithin = 10 * time.Minute

// LostAfter is how long an eviction must be overdue to count as lost.
const LostAfter = time.Minute

// leaves records an eviction.
func (c *cluster) leaves(i int32) {
	at := c.pods[i].node
	n := &c.nodes[at]
	c.stats.evicted(c.now(), n, c.runsOn(&c.pods[i]))
	c.zoneOf(n).evicted(c.now())
	if !n.failed {
		return
	}
	c.emptied[at] = append(c.emptied[at], c.now())
}

// isBack checks the evictions from a node that is back.
func (c *cluster) isBack(i int32) {
	if c.now()-c.nodes[i].failedAt <= int64(NeedlessWithin) {
		c.stats.needless += len(c.emptied[i])
	}
	for _, at := range c.emptied[i] {
		if c.now()-at <= int64(NeedlessWithin) {
			c.stats.beforeReturn++
		}
	}
	delete(c.emptied, i)
}

// overdue records the pods of a node whose eviction is overdue. It is called before that can be forgotten: before a
// NoExecute taint is removed, when the kubelet is back, and at the end.
func (c *cluster) overdue(n *node) {
	begun := slices.DeleteFunc(n.begun(), func(b taints.Begun) bool { return b.Taint.TimeAdded == nil })
	if len(begun) == 0 {
		return
	}
	limit := c.Clock.Now().Add(-LostAfter)
	for i := n.firstPod; i >= 0; i = c.pods[i].next {
		p := &c.pods[i]
		if p.terminating || p.phase.finished() || p.spec.Mirror || p.spec.ofDaemonSet() || c.lost[p.serial] {
			continue
		}
		deadline := taints.DeadlineOf(begun, Epoch.Add(time.Duration(p.bound)), p.spec.Tolerations, nil, false)
		if deadline.Forever || !deadline.At.Before(limit) {
			continue
		}
		c.lost[p.serial] = true
	}
}

// overdueAtEnd checks all nodes, and counts.
func (c *cluster) overdueAtEnd() int {
	for i := range c.nodes {
		if n := &c.nodes[i]; !n.Deleted {
			c.overdue(n)
		}
	}
	return len(c.lost)
}
