//go:build !thin

package evictor

import (
	"strings"

	"github.com/evictkit/evictkit/evictor/internal/gate"
	"github.com/evictkit/evictkit/evictor/internal/node"
	"github.com/evictkit/evictkit/evictor/internal/pods"
	"github.com/evictkit/evictkit/zone"
)

// gatesChanged reports which gates were closed or opened since its last call, and does what follows; e.mu is held. While
// harm is refused, turns are paused too, so that no tokens accrue.
func (e *engine) gatesChanged() {
	changes := e.gates.Changes()
	for i := range changes {
		e.gateChanged(&changes[i])
	}
	for _, name := range e.gates.Freed() {
		if rec := e.records[name]; rec != nil {
			e.allSooner(rec)
		}
	}
	if len(changes) == 0 {
		return
	}
	e.inbox.Kick() // Run may sleep past the instant at which to ask again, or to hand out a turn
	for _, name := range e.turns.AllOverdue() {
		// An Early node is armed again after its grace period, and waits then.
		if rec := e.records[name]; rec != nil && rec.Stage() != node.Early && e.may(gate.Own, rec) == nil {
			e.turns.WaitToRelease(name, string(rec.uid), rec.domain, e.read)
		}
	}
}

func (e *engine) gateChanged(c *gate.Change) {
	d := Decision{Kind: GateChanged, Zone: c.Domain, Reason: c.Text, Err: c.Err}
	switch rec := e.records[c.Node]; {
	case rec != nil:
		d.Kind, d.Node, d.Zone = PendingChanged, rec.name, rec.domain
		e.pendingChanged(rec, c.Pending)
		if e.cfg.NodeMonitorPeriod == 0 {
			e.inbox.Node(rec.name) // a pass follows at once
		}
	case c.In:
		d.Kind = DomainGateChanged
		e.pauseTurns(c.Domain)
		for _, rec := range e.records {
			if c.Class == gate.Own && rec.domain == c.Domain && rec.Stage() >= node.Early {
				e.pendingChanged(rec, c.Pending)
			}
		}
	case c.Class == gate.Harm && c.Err != nil:
		e.turns.Pause(e.read)
	case c.Class == gate.Harm:
		e.turns.Resume(e.read)
	}
	e.decide(d)
}

// pendingChanged acts on a new ruling about pending evictions on a failed node.
func (e *engine) pendingChanged(rec *record, is zone.Pending) {
	if is == zone.Cancel {
		rec.BecomeUnserved()
	}
	e.attention[rec.name] = rec
	e.turns.LeaveRelease(rec.name) // overdue pods stay overdue until they may leave
}

// lookAtBudget asks the budget what becomes of evictions from nodes that were acted on, and reports bounds that apply to
// no node.
func (e *engine) lookAtBudget() {
	if !e.started { // now all nodes have been seen
		e.allowance.ForgetOthers(func(name string) bool { return e.records[name] != nil }, e.read)
	}
	if e.allowance.LookUnmatched() {
		e.decide(Decision{Kind: BoundsUnmatched, Reason: strings.Join(e.allowance.Unmatched, ", ")})
	}
	for _, r := range e.allowance.Look(e.read) {
		e.gates.Exceed(r.Node, r.Pending, r.Exceeded)
	}
	e.gatesChanged()
}

// pauseTurns stops or resumes the turns of a domain, by whether anything may be done with them.
func (e *engine) pauseTurns(domain zone.Key) {
	e.turns.PauseDomain(domain, e.gates.Refusal(gate.In(gate.Harm, domain)) != nil || !e.cfg.TaintBasedEviction && e.gates.Refusal(gate.In(gate.Own, domain)) != nil, e.read)
}

// allSooner has everything tried now that may have waited for a permission. What waits for something else still does.
func (e *engine) allSooner(rec *record) {
	if _, scheduled := e.lifts.Get(rec.name); scheduled {
		e.lifts.Schedule(rec.name, struct{}{}, e.read)
	}
	if e.cfg.Half != TaintEviction {
		e.writes.Schedule(rec.name, struct{}{}, e.read)
	}
	e.armed.Try(rec.pods.Armed(pods.MayHarm), e.read)
}
