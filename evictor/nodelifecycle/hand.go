package nodelifecycle

import (
	"cmp"
	"context"

	"github.com/evictkit/evictkit/evictor/gate"
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
		n.overdue = false
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
