package nodelifecycle

import (
	"time"

	"golang.org/x/time/rate"

	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/ratelimitqueue"
	"github.com/evictkit/evictkit/zone"
)

// enqueue puts a failed node into its zone's queue.
func (e *engine) enqueue(n *node) {
	if st, ok := e.zones.Zone(n.domain); ok && st.State == zone.Initial {
		_ = e.turns.SetRate(n.domain, rate.Limit(st.Rate))
	}
	entry := ratelimitqueue.Entry[turnKey, struct{}]{Key: n.turnKey(false), OnDuplicate: ratelimitqueue.KeepFirst}
	if e.turns.AddEntry(n.domain, entry) == ratelimitqueue.Unknown {
		e.queued(n)
	}
}

func (e *engine) queued(n *node) {
	st, _ := e.zones.Zone(n.domain)
	e.decide(Decision{Kind: NodeQueued, Node: n.name, Zone: n.domain, State: st.State, Rate: st.Rate, Counts: st.Counts})
}

// dequeue takes the node out of its zone's queue, and voids its turn. It needs no permission.
func (e *engine) dequeue(n *node, reason string) {
	n.refused, n.held = nil, nil
	if e.turns.Remove(n.turnKey(false)) == ratelimitqueue.Waiting {
		e.decide(Decision{Kind: NodeDequeued, Node: n.name, Zone: n.domain, Reason: reason})
	}
}

// release has a node wait in its zone to release its overdue pods, once harm is permitted there.
func (e *engine) release(n *node) {
	if n.overdue && !n.early && e.around.Permits.Last(gate.Harm, n.domain) == nil {
		entry := ratelimitqueue.Entry[turnKey, struct{}]{Key: n.turnKey(true), Exempt: true, OnDuplicate: ratelimitqueue.KeepFirst}
		if e.turns.AddEntry(n.domain, entry) == ratelimitqueue.Unknown {
			e.around.Inbox.Kick() // Run hands it out
		}
	}
}

func (e *engine) notOverdue(n *node) {
	n.overdue = false
	e.turns.Remove(n.turnKey(true))
}

// move has the node wait in the domain to which it belongs.
func (e *engine) move(n *node) {
	n.domain = n.belongs
	e.turns.Move(n.turnKey(false), n.domain)
	e.turns.Move(n.turnKey(true), n.domain)
}

// ending is how a turn ends.
type ending string

const (
	done    ending = "Served"
	dropped ending = "Dropped" // there was nothing left to do
	spent   ending = "Spent"   // nothing was done: the node waits for another
	undone  ending = "Undone"  // after Served: the store, newer than the write, does not show it
)

// over says that a node does not wait for another turn.
const over = time.Duration(-1)

// endTurn ends the node's turn, if it has one. Unless it is over, the node waits again, at least for that long, and for
// another token. If nobody knows what was done, the turn is not over: the node waits to try again, with the same permission.
func (e *engine) endTurn(n *node, how ending, after time.Duration) {
	if after == over {
		e.end(n, how, turn.Forget)
	} else {
		e.end(n, how, func(item turn) { item.RetryAfter(after) })
	}
}

// endTurnUnused ends a turn in which nothing was sent: the node waits again for that long, and the token is for another one.
func (e *engine) endTurnUnused(n *node, after time.Duration) {
	e.end(n, spent, func(item turn) { item.Blocked(after) })
}

func (e *engine) end(n *node, how ending, end func(turn)) {
	if n.turn == nil {
		return
	}
	end(*n.turn)
	e.attention[n.name] = n
	n.turn = nil
	e.turnsOut--
	if how == done && n.lost() {
		n.unshown = nil
	}
	if !n.lost() {
		e.turnOver(n, how)
	}
	e.around.Inbox.Kick() // a turn is free: Run hands out the next
}

func (e *engine) turnOver(n *node, how ending) {
	e.decide(Decision{Kind: TurnEnded, Node: n.name, NodeUID: n.uid, Zone: n.domain, Reason: string(how)})
	if _, st, _ := e.turns.Get(n.turnKey(false)); how == done && st.State == ratelimitqueue.Waiting {
		e.queued(n) // for what is left of its pods
	}
}

// free says whether another turn may be out.
func (e *engine) free() bool {
	most := e.around.MostTurns.Load()
	return most == 0 || e.turnsOut < int(most)
}
