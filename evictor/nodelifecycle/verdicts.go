package nodelifecycle

import (
	"cmp"

	"github.com/evictkit/evictkit/evictor/cluster"
)

// Own says whether evictions by our own taints are wanted on a node, as the store shows it now. Package tainteviction asks.
func (c *Controller) Own(name string) (own cluster.Own) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.nodes[name]
	if n == nil {
		return cluster.Own{Why: standings[unjudged], Wait: c.cfg.GateInterval}
	}
	own.Stale = c.current(n) == nil
	own.Domain = n.belongs
	if !c.cfg.TaintBasedEviction { // then they order nothing, whoever set them
		own.Why = "NoTaintBasedEviction"
		return own
	}
	s := c.standing(n)
	own.Wanted, own.Overdue = s.wanted(), n.overdue
	if !own.Wanted {
		own.Why = c.why(n)
	}
	if own.Stale || c.unclear(n) || !c.settled(n) {
		own.Why, own.Wait = cmp.Or(own.Why, standings[settling]), c.untilPass(n)
	}
	if own.Wanted {
		c.release(n)
	}
	return own
}

// Overdue says that pods of the node fell due by our own taints while harm was refused, or that a Gate wants them paced. They
// wait for a turn of the node at its zone's rate.
func (c *Controller) Overdue(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.nodes[name]; n != nil {
		n.overdue = true
		c.release(n)
	}
}

// Hold keeps a node from being tainted NoExecute or emptied until Release; such a taint of ours is lifted. Its conditions and
// its NoSchedule taints go on, because kube-scheduler looks at these taints alone.
func (c *Controller) Hold(node, reason string) { c.hold(node, cmp.Or(reason, "Held")) }

// Release ends Hold. A node that Options.Hold holds stays held.
func (c *Controller) Release(node string) { c.hold(node, "") }

func (c *Controller) hold(name, reason string) {
	c.mu.Lock()
	if c.holds[name] = reason; reason == "" {
		delete(c.holds, name)
	}
	if n := c.nodes[name]; n != nil {
		if reason != "" {
			c.dequeue(n, reason)
		}
		c.attention[name] = n
	}
	c.mu.Unlock()
	c.around.Inbox.Node(name)
}
