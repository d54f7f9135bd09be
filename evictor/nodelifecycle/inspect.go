package nodelifecycle

import (
	"cmp"
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/internal/environment"
	"github.com/evictkit/evictkit/health"
	"github.com/evictkit/evictkit/ratelimitqueue"
	"github.com/evictkit/evictkit/zone"
)

// NodeStatus is a copy of what is known about a node.
type NodeStatus struct {
	Verdict  health.Verdict // the last one, but its LastBeat is as of now
	Zone     zone.Key
	Why      string    // why its verdict asks for no taint and no eviction now, such as NodeReady; empty if it does
	Held     string    // why it is held; empty if it is not
	HeldBack error     // what the Gate or the observer refuses: harm there, writes, its turn
	Queued   time.Time // since when it waits for its turn; zero if it does not
	Turn     time.Time // when that comes if nothing changes; zero if that is not known, or the zone has stopped
}

// Node returns the status of a node, or false before its first verdict.
func (c *Controller) Node(name string) (NodeStatus, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.nodes[name]; n != nil {
		if _, st, _ := c.turns.Get(n.turnKey(false)); st.State == ratelimitqueue.Waiting {
			waiting := c.waiting()
			if i := slices.IndexFunc(waiting, func(s NodeStatus) bool { return s.Verdict.Node == name }); i >= 0 {
				return waiting[i], true
			}
		}
	}
	return c.status(name)
}

func (c *Controller) status(name string) (NodeStatus, bool) {
	n := c.nodes[name]
	if n == nil || !n.judged() {
		return NodeStatus{}, false
	}
	status := NodeStatus{Verdict: n.verdict, Zone: n.domain, Held: c.heldFor(n), HeldBack: environment.Why(cmp.Or(c.around.Permits.Closed(n.domain), n.refused, n.held)), Why: c.why(n)}
	if now, ok := c.monitor.Verdict(name); ok {
		status.Verdict.LastBeat = now.LastBeat
	}
	return status, true
}

// Waiting returns the nodes that wait for their turns, or to release pods that became overdue while harm was refused, zone
// by zone, in the order of their turns.
func (c *Controller) Waiting() []NodeStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting()
}

func (c *Controller) waiting() (waiting []NodeStatus) {
	for _, key := range c.turns.Waiting() {
		domain, st, _ := c.turns.Get(key)
		if status, ok := c.status(key.node); ok {
			status.Zone, status.Queued = domain, st.Added
			waiting = append(waiting, status)
		}
	}
	slices.SortStableFunc(waiting, func(a, b NodeStatus) int {
		return cmp.Or(cmp.Compare(a.Zone.Region, b.Zone.Region), cmp.Compare(a.Zone.Zone, b.Zone.Zone))
	})
	first := 0
	for i := range waiting {
		if waiting[i].Zone != waiting[first].Zone {
			first = i
		}
		if st, _ := c.turns.Domain(waiting[i].Zone); !st.Next.IsZero() && c.cfg.MaxNodesPerSecond == 0 && c.opts.Prefer == nil {
			wait := max(0, st.Next.Sub(c.mu.Now)) + time.Duration(float64(i-first)/float64(st.Rate)*float64(time.Second))
			waiting[i].Turn = c.mu.Now.Add(wait)
		}
	}
	return waiting
}

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
		n.overdue, n.released = true, n.released && c.around.Permits.Closed(n.domain) == nil
		c.release(n)
	}
}

// Hold keeps a node from being tainted NoExecute or emptied until Release; such a taint of ours is lifted. Its conditions and
// its NoSchedule taints go on, because kube-scheduler looks at these taints alone.
func (c *Controller) Hold(node, reason string) { c.hold(node, cmp.Or(reason, "Held")) }

// Held returns why a node is held: by Hold or by Options.Hold; empty if it is not.
func (c *Controller) Held(node string) (reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.nodes[node]; n != nil {
		return c.heldFor(n)
	}
	return c.holds[node]
}

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
