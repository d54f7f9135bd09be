package nodelifecycle

import (
	"errors"
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor/internal/environment"
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
	var soon environment.Soonest
	pass, _ := c.monitor.NextAt(c.mu.Now)
	if period := c.cfg.NodeMonitorPeriod; period > 0 {
		if !pass.After(c.mu.Now) { // for that one they were asked about before
			pass = c.mu.Now.Add(period)
		}
		soon.Or(pass, true)
	}
	for name, n := range c.nodes {
		v, ok := c.monitor.Verdict(name)
		if !ok || n.unread == nil && (c.blind || v.Expired) { // what could not be read is named until it is
			continue
		}
		at, by := v.LastBeat.Add(v.Grace), pass // when it is asked about, if that lies before the next pass
		if c.cfg.NodeMonitorPeriod == 0 {
			at, by = at.Add(-v.Grace/4), c.mu.Now
		}
		switch {
		case n.unread == nil && by.Before(at):
			soon.Or(at, c.cfg.NodeMonitorPeriod == 0)
			continue
		case n.unread == nil:
			n.unread = errAsked
		}
		nodes = append(nodes, name)
	}
	slices.Sort(nodes)
	return nodes, c.around.Shown(soon.Time)
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
	if n.unread = err; err == nil && n.failed() { // it waited for this
		c.attention[node] = n
		c.around.Inbox.Node(node)
	}
}
