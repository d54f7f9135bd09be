package nodelifecycle

import "time"

// Silent returns the nodes that the next pass may find silent for their whole grace period, however late it comes: those of
// which a quarter of the grace period is left, or 1.2 periods if that is more. Their leases have to be read live, because the
// events about them may have got lost: each of these nodes waits until LeaseRead has answered for it, is named until then, and
// is not harmed before. Once Silent was called, so is each node that falls silent unread, however late the next call is.
//
// The next call is due halfway between two passes, because an answer that comes during a pass is too late for it. A
// leases.Reader does all of this.
func (c *Controller) Silent() (nodes []string, next time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads = true
	gap, period := c.cfg.NodeMonitorGracePeriod/4, c.cfg.NodeMonitorPeriod
	next = c.mu.Now.Add(gap / 2)
	if period > 0 {
		gap = max(gap, period+period/5)
		pass, _ := c.monitor.Next()
		if next = pass.Add(period / 2); !next.After(c.mu.Now) {
			next = c.mu.Now.Add(period)
		}
	}
	for _, name := range c.monitor.Silent(c.mu.Now.Add(gap)) {
		if n := c.nodes[name]; n != nil && n.unread == nil {
			c.unknown(n, errAsked)
		}
	}
	return sortedKeys(c.unread), c.mu.Shown(next) // what could not be read is named until it is, even by who is blind
}

// LeaseRead answers for a node that Silent has named: what its lease says, the zero time if it has none, or why it cannot
// be read. Then the node waits until it can.
func (c *Controller) LeaseRead(node string, renewTime time.Time, resourceVersion string, err error) {
	if err == nil && !renewTime.IsZero() {
		c.LeaseObserved(node, renewTime, resourceVersion)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.nodes[node]
	if n == nil {
		return
	}
	if c.unknown(n, err); err == nil {
		n.read = c.mu.Now
		if n.failed() { // it waited for this
			c.announce(n)
			c.attention[node] = n
			c.around.Inbox.Node(node)
		}
	}
}
