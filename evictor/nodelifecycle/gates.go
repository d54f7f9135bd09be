package nodelifecycle

import (
	"context"
	"time"

	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/internal/environment"
	"github.com/evictkit/evictkit/ratelimitqueue"
	"github.com/evictkit/evictkit/zone"
)

// ask asks about harm in the domains in which a node waits, and again about what was refused, and does what follows.
func (c *Controller) ask(ctx context.Context) {
	for _, st := range c.zones.Zones() {
		if domain, _ := c.turns.Domain(st.Zone); domain.Waiting > 0 {
			_ = c.around.Permits.May(ctx, gate.Act{Do: gate.Harm, Domain: st.Zone})
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, st := range c.zones.Zones() {
		c.noteHarm(st.Zone)
	}
	if no := c.around.Permits.Last(gate.Write, zone.Key{}); c.mute != (no != nil) {
		c.mute = no != nil
		c.decide(Decision{Kind: GateChanged, Reason: "writes", Err: environment.Why(no)})
		c.tryAll(nil)
	}
}

// noteHarm pauses the turns of a domain while harm is refused there, so that no tokens accrue.
func (e *engine) noteHarm(domain zone.Key) {
	no := e.around.Permits.Last(gate.Harm, domain)
	if (no != nil) == e.closed[domain] {
		return
	}
	e.decide(Decision{Kind: GateChanged, Zone: domain, Reason: "harm", Err: environment.Why(no)})
	if no != nil {
		e.closed[domain] = true
		e.turns.PauseDomain(domain)
		return
	}
	delete(e.closed, domain)
	e.turns.ResumeDomain(domain)
	e.tryAll(&domain)
}

// tryAll has everything tried now that may have waited for a permission, in one domain or everywhere.
func (e *engine) tryAll(domain *zone.Key) {
	for _, name := range sortedKeys(e.nodes) {
		if n := e.nodes[name]; domain == nil || n.domain == *domain {
			e.tryNow(n)
		}
	}
}

func (e *engine) tryNow(n *node) {
	if _, scheduled := e.lifts.Get(n.name); scheduled {
		e.lifts.Schedule(n.name, struct{}{}, e.mu.Now)
	}
	if n.failed() || n.tainted {
		e.writes.Schedule(n.name, struct{}{}, e.mu.Now)
	}
	e.tryPods(n, false)
	e.askTurn(n, false)
	e.release(n)
}

// askTurn has a turn that was refused, or in which all pods were, asked about now, at its place in the queue; without anew,
// not before the time that the refusal names.
func (e *engine) askTurn(n *node, anew bool) {
	key := n.turnKey(false)
	if !anew && n.refused != nil && n.refused.Again.After(e.mu.Shown(e.mu.Now)) {
		return
	}
	if _, st, _ := e.turns.Get(key); (n.refused != nil || n.held != nil) && st.State == ratelimitqueue.Waiting {
		e.turns.Remove(key)
		e.turns.AddEntry(n.domain, ratelimitqueue.Entry[turnKey, struct{}]{Key: key, Due: st.Added})
	}
}

// tryPods has the node's pods tried now that are being deleted, also, with refused, those that were refused.
func (e *engine) tryPods(n *node, refused bool) {
	for pod, how := range n.leaving {
		if refused {
			how.again = time.Time{}
			n.leaving[pod] = how
		}
		if _, scheduled := e.deletes.Get(pod); scheduled {
			e.deletes.Schedule(pod, struct{}{}, e.mu.Now)
		}
	}
}
