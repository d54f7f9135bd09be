package evictor

import (
	"time"

	"github.com/evictkit/evictkit/evictor/internal/turns"
	"github.com/evictkit/evictkit/zone"
)

// enqueue lets a failed node wait for its zone's rate; e.mu is held.
func (e *Evictor) enqueue(rec *record, now time.Time) {
	st, ok := e.zones.Zone(rec.zone)
	if ok && st.State == zone.Initial {
		e.turns.SetRate(rec.zone, st.Rate, e.read) // a policy of the user's that knows no states: no change told of its first rate, if that was 0
	}
	if e.turns.Wait(rec.name, string(rec.uid), rec.zone, e.read) {
		e.decide(Decision{Time: now, Kind: NodeQueued, Node: rec.name, Zone: rec.zone, State: st.State, Rate: st.Rate, Counts: st.Counts})
	}
}

// dequeue forgets that the node waits, was tainted or emptied; e.mu is held. It needs no permission.
func (e *Evictor) dequeue(rec *record, reason string, now time.Time) {
	if e.turns.Leave(rec.name) {
		e.decide(Decision{Time: now, Kind: NodeDequeued, Node: rec.name, Zone: rec.zone, Reason: reason})
	}
}

// hand acts on the turns that have come, unless no write is permitted. The writes follow.
func (e *Evictor) hand() {
	if e.askWrite() != nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.tick()
	for turn, ok := e.turns.Take(e.read); ok; turn, ok = e.turns.Take(e.read) {
		if rec := e.records[turn.Node]; turn.Release {
			e.armed.Try(rec.pods.Armed(0), now) // its overdue pods go
		} else {
			e.granted(rec, turn, now)
		}
	}
}

// granted lets a worker act on a node whose turn has come, if it still has to be; e.mu is held.
func (e *Evictor) granted(rec *record, turn *turns.Turn, now time.Time) {
	looked := false
	defer func() {
		if !looked { // the store panicked
			turn.Later(0, e.read)
		}
	}()
	node := e.current(rec)
	looked = true
	switch {
	case node == nil: // it is looked at again when the store has caught up
		turn.Later(e.cfg.GateInterval, e.read)
	case !e.standing(rec).MayBeHarmed():
		// The last pass still said failed; the next one will see for itself.
		turn.Unwanted(e.read)
		e.attention[rec.name] = rec
		e.decide(Decision{Time: now, Kind: NodeDequeued, Node: rec.name, Zone: rec.zone, Reason: "NotFailed"})
	default:
		e.writes.Schedule(rec.name, struct{}{}, now)
	}
}

// recount counts the node as failed, or not, by what it carries or has been through; e.mu is held.
func (e *Evictor) recount(rec *record) {
	failed := rec.emptied
	if e.cfg.TaintBasedEviction {
		if failed = e.about(rec).Carries; failed && !rec.tainted {
			e.attention[rec.name] = rec // to count again when that ends
		}
	}
	e.turns.Count(rec.name, failed)
}

// endTurn ends the turn that a write was planned with, if any; e.mu is held. A failed write gives the turn back: every
// try costs a token, so that an outage of the API saves none up.
func (e *Evictor) endTurn(rec *record, p *nodePlan, err error) {
	turn := p.turn
	if turn == nil || e.turns.Of(rec.name) != turn {
		return // none, or one that came while the write was under way: the next write has it
	}
	done := p.Tainted
	if !e.cfg.TaintBasedEviction {
		done = rec.emptied
	}
	if !done && 0 < rec.conflicts && rec.conflicts <= maxConflicts {
		return // the turn is kept for reading again
	}
	rec.conflicts = 0
	now := e.tick()
	switch {
	case done: // whatever failed after it
		turn.Served()
		if e.cfg.TaintBasedEviction {
			rec.unseen = now.Add(e.cfg.NodeMonitorGracePeriod)
		}
	case err == nil && !e.standing(rec).Wanted():
		turn.Drop()
	default:
		turn.Again(e.read)
		e.attention[rec.name] = rec // the turn is void when the node has left the queue meanwhile
	}
	e.inbox.Kick() // Run looks for the next one
}
