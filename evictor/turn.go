//go:build !thin

package evictor

import (
	"github.com/evictkit/evictkit/evictor/internal/allowance"
	"github.com/evictkit/evictkit/evictor/internal/node"
	"github.com/evictkit/evictkit/evictor/internal/pods"
	"github.com/evictkit/evictkit/evictor/internal/turns"
	"github.com/evictkit/evictkit/zone"
)

// enqueue puts a failed node into its zone's queue.
func (e *engine) enqueue(rec *record) {
	st, ok := e.zones.Zone(rec.domain)
	if ok && st.State == zone.Initial {
		e.turns.SetRate(rec.domain, st.Rate, e.read) // a custom policy may have no states: a first rate of 0 was then not reported as a change
	}
	if e.turns.Wait(rec.name, string(rec.uid), rec.domain, e.read) {
		e.decide(Decision{Kind: NodeQueued, Node: rec.name, Zone: rec.domain, State: st.State, Rate: st.Rate, Counts: st.Counts})
	}
}

// dequeue takes the node out of its zone's queue, or forgets that it had its turn. It needs no permission.
func (e *engine) dequeue(rec *record, reason string) {
	e.allowance.Unasked(&rec.allowance)
	if e.turns.Leave(rec.name) {
		e.decide(Decision{Kind: NodeDequeued, Node: rec.name, Zone: rec.domain, Reason: reason})
	}
}

// granted schedules the write of a node whose turn has come, if it may still be harmed.
func (e *engine) granted(rec *record, turn *turns.Turn) {
	looked := false
	defer func() {
		if !looked { // the store panicked
			turn.Later(0, e.read)
		}
	}()
	object := e.current(rec)
	looked = true
	switch about := e.about(rec); {
	case object == nil: // the store does not show it as it is; try again when it has caught up
		turn.Later(e.cfg.GateInterval, e.read)
	case !about.Standing().MayBeHarmed():
		// It was failed at the last pass; the next one decides again.
		turn.Drop()
		e.attention[rec.name] = rec
		e.decide(Decision{Kind: NodeDequeued, Node: rec.name, Zone: rec.domain, Reason: about.Why()})
	case !e.reserve(rec):
		turn.Later(e.cfg.GateInterval, e.read)
	default:
		e.writes.Schedule(rec.name, struct{}{}, e.read)
	}
}

// reserve asks the budget for the node, which may be acted on if that is granted. It reports once which bound refuses it.
func (e *engine) reserve(rec *record) (granted bool) {
	err, first := e.allowance.Ask(&rec.allowance, e.read)
	if first {
		e.decide(Decision{Kind: TurnRefused, Node: rec.name, Zone: rec.domain, Reason: reasonBudget, Err: err})
	}
	return err == nil
}

// emptied ends the turn of a node that is being emptied, once each of its pods has been tried. Pods that the API server
// refuses to evict are tried again and hold no turn. If an eviction failed for another reason, the node waits for another
// turn: no turns are saved up during an outage.
func (e *engine) emptied(rec *record) {
	if rec == nil || !e.cfg.empties() || e.turns.Of(rec.name) == nil {
		return
	}
	far := rec.pods.Emptied()
	switch {
	case !e.about(rec).Standing().Wanted(): // it has recovered, say
		e.finish(rec, node.Dropped)
	case far == pods.NotYet:
	case far == pods.Failed:
		e.finish(rec, node.Spent)
		e.arm(rec, e.about(rec))
	default:
		d := Decision{Kind: NodeEmptied, Node: rec.name, NodeUID: rec.uid}
		if far == pods.NoPods {
			d.Reason = reasonNoPods
		}
		if rec.BecomeServed() {
			e.decide(d)
		}
		e.finish(rec, node.Done)
	}
}

// recount updates whether the node counts as failed: it carries our taint, or has been emptied.
func (e *engine) recount(rec *record, about node.Facts) {
	if about.Carries && !rec.Tainted {
		e.attention[rec.name] = rec // the store does not show the taint yet; recount when that time is over
	}
	e.turns.Count(rec.name, about.Carries || rec.Emptied())
	e.noteActed(rec)
}

// noteActed tells the budget how it is with the node.
func (e *engine) noteActed(rec *record) {
	if e.opts.Budget != nil {
		about := e.about(rec)
		is := allowance.Is{
			Acted: about.Carries || rec.Begun(), Turn: about.Turn, Well: rec.Stage() == node.Calm,
			Ours: e.now, Unseen: e.cfg.tainting() && e.cfg.Half == Lifecycle,
		}
		if e.allowance.Note(&rec.allowance, is, e.read); !rec.allowance.Acting() {
			e.gates.Forget(rec.name)
		}
	}
}

// finish ends the turn that the node has, unless it is kept.
func (e *engine) finish(rec *record, how node.Ending) {
	turn := e.turns.Of(rec.name)
	switch how {
	case node.Kept:
		return
	case node.Done:
		turn.Served()
	case node.Dropped:
		rec.EndEmptying()
		turn.Drop()
	case node.Spent:
		rec.EndEmptying()
		turn.Again(e.read)
		e.attention[rec.name] = rec // if the node left the queue meanwhile, Again does not put it back: a pass must
	}
	e.noteActed(rec)
	e.inbox.Kick() // a turn is free: Run hands out the next
}

// arm decides again about every pod on the node, if its NoExecute taints have changed or whether ours evict has.
func (e *engine) arm(rec *record, about node.Facts) {
	ours := e.oursOf(rec, about)
	needed, some := e.pods.Anew(&rec.pods, ours, e.now)
	if !needed {
		return
	}
	defer e.carryOut() // also when the store panics
	if !some {
		e.turns.NotOverdue(rec.name)
	} else {
		for pod := range e.podsOn(rec.name) {
			e.pods.Shown(pods.RefOf(pod).Key, pod, &rec.pods, e.started, ours, e.now)
		}
	}
	e.pods.EndRound(&rec.pods, ours)
	e.emptied(rec)
}
