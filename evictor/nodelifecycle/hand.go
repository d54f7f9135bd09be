package nodelifecycle

import (
	"cmp"
	"context"
	"time"

	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/internal/environment"
	"github.com/evictkit/evictkit/ratelimitqueue"
	"github.com/evictkit/evictkit/zone"
)

// hand takes the turns that have come, unless writes are refused, and schedules what follows.
func (c *Controller) hand(ctx context.Context) {
	for item, ok := c.take(ctx); ok; item, ok = c.take(ctx) {
		if item.Key.release {
			c.released(item)
		} else {
			asked, no := c.mayTurn(ctx, item)
			c.granted(item, asked, no)
		}
	}
}

// take takes a turn that has come.
func (c *Controller) take(ctx context.Context) (item turn, ok bool) {
	c.mu.Lock()
	ok = c.free() && c.mu.Due(c.turns.Next())
	c.mu.Unlock()
	if !ok || c.around.Permits.May(ctx, gate.Act{Do: gate.Write}) != nil {
		return item, false
	}
	_, item, ok = c.turns.Take() // without the lock: Options.Prefer may look at the evictor
	return item, ok
}

// mayTurn asks about a turn, unless asksTurn says no.
func (c *Controller) mayTurn(ctx context.Context, item turn) (asked bool, no *gate.Refused) {
	if domain, asks := c.asksTurn(item); asks {
		c.around.Out.Deliver() // what became of its last turn, before another is asked about
		if no = c.around.Permits.May(ctx, gate.Act{Do: gate.Harm, Domain: domain}); no == nil {
			asked, no = true, c.around.Permits.May(ctx, gate.Act{Do: gate.Turn, Node: item.Key.node, Domain: domain})
		}
	}
	return asked, no
}

// asksTurn says whether a turn is to be asked about, and in which domain: not if what the node was granted is not over, or
// if it would take none.
func (c *Controller) asksTurn(item turn) (domain zone.Key, asks bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.nodes[item.Key.node]
	if n == nil || n.uid != item.Key.uid {
		return domain, false
	}
	panics := true
	defer func() {
		if panics { // the store
			item.Blocked(c.cfg.GateInterval)
		}
	}()
	c.resolve(n, "")
	panics = false
	return n.domain, !n.lost() && c.standing(n) == harmable
}

// released has the overdue pods of a node leave.
func (c *Controller) released(item turn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	item.Forget()
	if n := c.nodes[item.Key.node]; n != nil && n.uid == item.Key.uid {
		c.notOverdue(n) // nor does what was added meanwhile wait
		n.released = true
		c.changed = append(c.changed, n.name)
	}
}

// granted gives a node its turn, if it may still be harmed. A turn that was permitted is over once it is known to be unused.
func (c *Controller) granted(item turn, asked bool, no *gate.Refused) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.nodes[item.Key.node]
	if n == nil || n.uid != item.Key.uid {
		item.Forget()
		return
	}
	given, how, after := false, ending(""), c.cfg.GateInterval // soon again
	defer func() {
		switch {
		case given:
			return
		case n.turn == &item: // the store panicked
			c.endTurnUnused(n, after)
			return
		case how == dropped:
			item.Forget()
		default:
			item.Blocked(after)
		}
		if asked && no == nil {
			c.turnOver(n, cmp.Or(how, spent))
		}
	}()
	object := c.current(n)
	switch s := c.standing(n); {
	case object == nil, n.belongs != n.domain, s == unwritable: // the store does not show it as it was asked about
	case s != harmable: // it was at the last pass; the next one decides again
		how, c.attention[n.name] = dropped, n
		c.decide(Decision{Kind: NodeDequeued, Node: n.name, Zone: n.domain, Reason: c.why(n)})
	case no != nil:
		after = max(after, no.Again.Sub(c.mu.Shown(c.mu.Now)))
		was := n.refused
		if n.refused, n.held = no, nil; was == nil || was.Reason != no.Reason {
			c.decide(Decision{Kind: TurnRefused, Node: n.name, NodeUID: n.uid, Zone: n.domain, Reason: no.Reason, Err: no})
		}
	case !asked && !n.lost(): // it took no turn when it was to be asked about; the next one is
	default:
		n.turn, n.refused, n.held, n.begun = &item, nil, nil, false
		c.turnsOut++
		if c.cfg.TaintBasedEviction {
			c.writes.Schedule(n.name, struct{}{}, c.mu.Now)
		} else {
			c.empty(n)
		}
		given = true
	}
}

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
