package nodelifecycle

import (
	"errors"
	"time"
)

// errAsked is why the lease of a node is not known while it is being read.
var errAsked = errors.New("its lease is being read")

// Silent returns the nodes that will have been silent for their whole grace period at the next pass unless a heartbeat
// comes, and when to ask again. Their leases have to be read live, because the events about them may have got lost: each
// of these nodes waits until LeaseRead has answered for it, is named until then, and is not harmed before. Without a period
// it names nodes a quarter of their grace period before its end. A leases.Reader does all of this.
func (c *Controller) Silent() (nodes []string, next time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	by, next := c.mu.Now.Add(c.cfg.NodeMonitorGracePeriod/4), c.mu.Now.Add(c.cfg.NodeMonitorGracePeriod/8)
	if period := c.cfg.NodeMonitorPeriod; period > 0 {
		if by, _ = c.monitor.Next(); !by.After(c.mu.Now) { // for that one they were asked about before
			by = c.mu.Now.Add(period)
		}
		next = by
	}
	if c.blind {
		return nil, c.around.Shown(next)
	}
	c.asked = by
	for _, name := range c.monitor.Silent(by) {
		if n := c.nodes[name]; n != nil && n.unread == nil {
			c.unknown(n, errAsked)
		}
	}
	return sortedKeys(c.unread), c.around.Shown(next)
}

// unknown notes why the lease of a node is not known, nil if it is.
func (e *engine) unknown(n *node, why error) {
	if n.unread = why; why == nil {
		delete(e.unread, n.name)
	} else {
		e.unread[n.name] = n
	}
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
	if c.unknown(n, err); err == nil && n.failed() { // it waited for this
		c.attention[node] = n
		c.around.Inbox.Node(node)
	}
}
