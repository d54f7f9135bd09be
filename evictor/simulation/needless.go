package simulation

import (
	"slices"
	"time"

	"github.com/evictkit/evictkit/taints"
)

// NeedlessWithin is how soon after it fell silent a node must be back for the evictions from it to be needless.
const NeedlessWithin = 10 * time.Minute

// lostAfter is how long an eviction must be overdue to count as lost.
const lostAfter = time.Minute

// leaves records an eviction.
func (c *cluster) leaves(i int32) {
	at, s, now := c.pods[i].node, &c.stats, c.Clock.Elapsed()
	n := &c.nodes[at]
	z := &c.zoneOf(n).told
	if s.Evicted++; s.Evicted == 1 {
		s.FirstEviction = now
	}
	if z.Evicted++; z.Evicted == 1 {
		z.FirstEviction = now
	}
	s.LastEviction, z.LastEviction = now, now
	if c.runsOn(&c.pods[i]) {
		s.EvictedWhileRunning++
	}
	if !n.failed {
		s.EvictedFromLiveNodes++
		return
	}
	s.delays = append(s.delays, now-time.Duration(n.failedAt))
	c.emptied[at] = append(c.emptied[at], int64(now))
}

// isBack checks the evictions from a node that is back.
func (c *cluster) isBack(i int32) {
	if c.now()-c.nodes[i].failedAt <= int64(NeedlessWithin) {
		c.stats.NeedlessEvictions += len(c.emptied[i])
	}
	for _, at := range c.emptied[i] {
		if c.now()-at <= int64(NeedlessWithin) {
			c.stats.EvictedBeforeReturn++
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
	limit := c.Clock.Now().Add(-lostAfter)
	for i := n.firstPod; i >= 0; i = c.pods[i].next {
		p := &c.pods[i]
		if p.terminating || p.phase.finished() || p.spec.Mirror || p.spec.ofDaemonSet() || c.lost[p.serial] {
			continue
		}
		deadline := taints.DeadlineOf(begun, Epoch.Add(time.Duration(p.bound)), p.spec.Tolerations, nil, false)
		if !deadline.Forever && deadline.At.Before(limit) {
			c.lost[p.serial] = true
		}
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
