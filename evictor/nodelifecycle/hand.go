package nodelifecycle

import (
	"context"

	"github.com/evictkit/evictkit/evictor/gate"
)

// hand takes the turns that have come, unless writes are refused, and schedules what follows.
func (c *Controller) hand(ctx context.Context) {
	for {
		item, ok := c.take(ctx)
		if !ok {
			return
		}
		var no *gate.Refused
		if !item.Key.release {
			no = c.mayTurn(ctx, item.Key)
		}
		c.granted(item, no)
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

func (c *Controller) mayTurn(ctx context.Context, key turnKey) *gate.Refused {
	c.mu.Lock()
	n := c.nodes[key.node]
	if n == nil || n.uid != key.uid || n.sent {
		c.mu.Unlock()
		return nil // what it was granted is not over
	}
	domain := n.domain
	c.mu.Unlock()
	if no := c.around.Permits.May(ctx, gate.Act{Do: gate.Harm, Domain: domain}); no != nil {
		return no
	}
	return c.around.Permits.May(ctx, gate.Act{Do: gate.Turn, Node: key.node, Domain: domain})
}

// granted gives a node its turn, if it may still be harmed.
func (c *Controller) granted(item turn, no *gate.Refused) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.nodes[item.Key.node]
	if n == nil || n.uid != item.Key.uid {
		item.Forget()
		return
	}
	if item.Key.release {
		item.Forget()
		n.overdue = false
		c.changed = append(c.changed, n.name)
		return
	}
	ended := false
	defer func() {
		switch { // the store panicked
		case ended:
		case n.turn != nil:
			c.endTurn(n, spent)
		default:
			item.Blocked(0)
		}
	}()
	object := c.current(n)
	switch s := c.standing(n); {
	case object == nil: // the store does not show it as it is; try again when it has caught up
		item.Blocked(c.cfg.GateInterval)
	case s != harmable: // it was at the last pass; the next one decides again
		item.Forget()
		c.attention[n.name] = n
		c.decide(Decision{Kind: NodeDequeued, Node: n.name, Zone: n.domain, Reason: c.why(n)})
	case no != nil:
		item.Blocked(max(c.cfg.GateInterval, no.Again.Sub(c.mu.Shown(c.mu.Now))))
		was := n.refused
		if n.refused = no; was == nil || was.Reason != no.Reason {
			c.decide(Decision{Kind: TurnRefused, Node: n.name, NodeUID: n.uid, Zone: n.domain, Reason: no.Reason, Err: no})
		}
	default:
		n.turn, n.refused = &item, nil
		c.turnsOut++
		if c.cfg.TaintBasedEviction {
			c.writes.Schedule(n.name, struct{}{}, c.mu.Now)
		} else {
			c.empty(n)
		}
	}
	ended = true
}
