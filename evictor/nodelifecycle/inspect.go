package nodelifecycle

import (
	"cmp"
	"slices"
	"time"

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
