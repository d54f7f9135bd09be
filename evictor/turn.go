package evictor

import (
	"time"

	"github.com/evictkit/evictkit/evictor/internal/node"
	"github.com/evictkit/evictkit/evictor/internal/pods"
	"github.com/evictkit/evictkit/evictor/internal/turns"
	"github.com/evictkit/evictkit/zone"
)

// enqueue lets a failed node wait for its zone's rate.
func (e *engine) enqueue(rec *record, now time.Time) {
	st, ok := e.zones.Zone(rec.zone)
	if ok && st.State == zone.Initial {
		e.turns.SetRate(rec.zone, st.Rate, e.read) // a policy of the user's that knows no states: no change told of its first rate, if that was 0
	}
	if e.turns.Wait(rec.name, string(rec.uid), rec.zone, e.read) {
		e.decide(Decision{Time: now, Kind: NodeQueued, Node: rec.name, Zone: rec.zone, State: st.State, Rate: st.Rate, Counts: st.Counts})
	}
}

// dequeue forgets that the node waits, was tainted or emptied. It needs no permission.
func (e *engine) dequeue(rec *record, reason string, now time.Time) {
	if e.turns.Leave(rec.name) {
		e.decide(Decision{Time: now, Kind: NodeDequeued, Node: rec.name, Zone: rec.zone, Reason: reason})
	}
}

// hand acts on the turns that have come, unless no write is permitted. The writes follow.
func (e *Evictor) hand() {
	if e.askWrite() != nil {
		return
	}
	e.askDomains()
	e.mu.Lock()
	defer e.mu.Unlock()
	for turn, ok := e.turns.Take(e.read); ok; turn, ok = e.turns.Take(e.read) {
		if rec := e.records[turn.Node]; turn.Release {
			e.armed.Try(rec.pods.Armed(0), e.read) // its overdue pods go
		} else {
			e.granted(rec, turn)
		}
	}
}

// granted lets a worker act on a node whose turn has come, if it still has to be.
func (e *engine) granted(rec *record, turn *turns.Turn) {
	looked := false
	defer func() {
		if !looked { // the store panicked
			turn.Later(0, e.read)
		}
	}()
	object := e.current(rec)
	looked = true
	switch {
	case object == nil: // it is looked at again when the store has caught up
		turn.Later(e.cfg.GateInterval, e.read)
	case !e.about(rec).Standing().MayBeHarmed():
		// The last pass still said failed; the next one will see for itself.
		turn.Unwanted(e.read)
		e.attention[rec.name] = rec
		e.decide(Decision{Time: e.now, Kind: NodeDequeued, Node: rec.name, Zone: rec.zone, Reason: "NotFailed"})
	default:
		e.writes.Schedule(rec.name, struct{}{}, e.read)
	}
}

// emptied ends the turn of a node that is emptied, where nothing is tainted, once every pod of it was tried. Those that the API server
// refuses to evict are tried again, and take no turn from other nodes. Where an eviction could not be had for other reasons the node
// waits for another turn, so that an outage saves none up.
func (e *engine) emptied(rec *record, now time.Time) {
	if rec == nil || !e.cfg.empties() || e.turns.Of(rec.name) == nil {
		return
	}
	turn, far := e.turns.Of(rec.name), rec.pods.Emptied()
	switch {
	case !e.about(rec).Standing().Wanted(): // it recovered meanwhile, say
		turn.Drop()
	case far == pods.NotYet:
		return
	case far == pods.Failed:
		turn.Again(e.read)
		e.attention[rec.name] = rec // the turn is void when the node has left the queue meanwhile
		rec.BecomeWaiting()
		e.arm(rec, now)
	default:
		turn.Served()
		d := Decision{Time: now, Kind: NodeEmptied, Node: rec.name, NodeUID: rec.uid}
		if far == pods.NoPods {
			d.Reason = reasonNoPods
		}
		if rec.BecomeServed() {
			e.decide(d)
		}
	}
	e.inbox.Kick() // Run looks for the next one
}

// recount counts the node as failed, or not, by what it carries or has been through.
func (e *engine) recount(rec *record) {
	carries := e.about(rec).Carries
	if carries && !rec.Tainted {
		e.attention[rec.name] = rec // to count again when that ends
	}
	e.turns.Count(rec.name, carries || rec.Emptied())
}

// endTurn ends the turn that a write was planned with, if any.
func (e *engine) endTurn(rec *record, p *node.Plan, err error) {
	turn := rec.turn
	if turn == nil || e.turns.Of(rec.name) != turn {
		return // none, or one that came while the write was under way: the next write has it
	}
	if e.tick(); e.cfg.empties() && p.Told {
		rec.BecomeEmptying()
		e.arm(rec, e.now) // its pods follow, and emptied ends it
		e.emptied(rec, e.now)
		return
	}
	switch rec.EndTurn(e.world(rec), p.Tainted, err != nil) {
	case node.Kept:
		return
	case node.Done:
		turn.Served()
	case node.Dropped:
		turn.Drop()
	case node.Spent:
		turn.Again(e.read)
		e.attention[rec.name] = rec // the turn is void when the node has left the queue meanwhile
	}
	e.inbox.Kick() // Run looks for the next one
}
