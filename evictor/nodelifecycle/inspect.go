package nodelifecycle

import (
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/health"
	"github.com/evictkit/evictkit/ratelimitqueue"
	"github.com/evictkit/evictkit/zone"
)

// NodeStatus is a copy of what is known about a node.
type NodeStatus struct {
	Verdict  health.Verdict // the last one, but its LastBeat is as of now
	Zone     zone.Key
	Held     string // why it is held; empty if it is not
	HeldBack error  // why it may not be harmed now
	Waiting  bool   // for its turn
}

// Node returns the status of a node, or false before its first verdict.
func (c *Controller) Node(name string) (NodeStatus, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.nodes[name]
	if n == nil || !n.judged() {
		return NodeStatus{}, false
	}
	status := NodeStatus{Verdict: n.verdict, Zone: n.domain, Held: c.heldFor(n), HeldBack: c.around.Permits.Last(gate.Harm, n.domain).Why()}
	if now, ok := c.monitor.Verdict(name); ok {
		status.Verdict.LastBeat = now.LastBeat
	}
	_, st, _ := c.turns.Get(turnKey{name, false})
	status.Waiting = st.State == ratelimitqueue.Waiting
	return status, true
}

// Waiting is a failed node that waits for its turn, or to release its overdue pods.
type Waiting struct {
	Node  string
	Zone  zone.Key
	Since time.Time
	Turn  time.Time // when it comes if nothing changes; zero if the zone has stopped
}

// Waiting returns the waiting nodes zone by zone, in the order of their turns.
func (c *Controller) Waiting() (waiting []Waiting) {
	now := c.around.Now()
	for _, key := range c.turns.Waiting() {
		domain, st, _ := c.turns.Get(key)
		waiting = append(waiting, Waiting{Node: key.node, Zone: domain, Since: st.Added})
	}
	slices.SortStableFunc(waiting, func(a, b Waiting) int { return a.Zone.Compare(b.Zone) })
	first := 0
	for i := range waiting {
		if waiting[i].Zone != waiting[first].Zone {
			first = i
		}
		if st, _ := c.turns.Domain(waiting[i].Zone); !st.Next.IsZero() {
			next := st.Next
			if next.Before(now) {
				next = now
			}
			waiting[i].Turn = next.Add(time.Duration(float64(i-first) / st.Rate * float64(time.Second)))
		}
	}
	return waiting
}
