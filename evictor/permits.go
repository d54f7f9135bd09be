package evictor

import (
	"strings"

	"github.com/evictkit/evictkit/evictor/internal/node"
	"github.com/evictkit/evictkit/evictor/internal/permit"
	"github.com/evictkit/evictkit/evictor/internal/pods"
	"github.com/evictkit/evictkit/zone"
)

// settlePermits reports what changed since its last call and has tried again what is now permitted; e.mu is held. While harm
// is refused, turns are paused too, so that no tokens accrue.
func (e *engine) settlePermits() {
	changes := e.permitted.Changes()
	for i := range changes {
		c := &changes[i]
		kind := GateChanged
		switch {
		case c.In:
			kind = DomainGateChanged
			e.domainChanged(c)
		case c.Of == permit.Harm && c.Err != nil:
			e.turns.Pause(e.read)
		case c.Of == permit.Harm:
			e.turns.Resume(e.read)
		}
		e.decide(Decision{Kind: kind, Zone: c.Domain, Reason: c.Text, Err: c.Err})
	}
	for _, name := range e.permitted.Freed() {
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
		if rec := e.records[name]; rec != nil && rec.Stage() != node.Early && e.mayOwn(rec) == nil {
			e.turns.WaitToRelease(name, string(rec.uid), rec.domain, e.read)
		}
	}
}

// domainChanged does so for one domain.
func (e *engine) domainChanged(c *permit.Change) {
	e.pauseTurns(c.Domain)
	if c.Of != permit.Own {
		return
	}
	for _, rec := range e.records {
		if rec.domain == c.Domain && rec.Stage() >= node.Early {
			e.pendingChanged(rec, c.Pending)
		}
	}
}

// pendingChanged acts on a new ruling about pending evictions on a failed node.
func (e *engine) pendingChanged(rec *record, is zone.Pending) {
	if is == zone.Cancel {
		rec.BecomeUnserved()
	}
	e.attention[rec.name] = rec
	e.turns.LeaveRelease(rec.name) // overdue pods stay overdue until they may leave
}

// lookAtBudget acts on what the budget says about nodes that were acted on, and reports bounds that apply to no node.
func (e *engine) lookAtBudget() {
	if !e.started { // now all nodes have been seen
		e.allowance.ForgetOthers(func(name string) bool { return e.records[name] != nil }, e.read)
	}
	if e.allowance.LookUnmatched() {
		e.decide(Decision{Kind: BoundsUnmatched, Reason: strings.Join(e.allowance.Unmatched, ", ")})
	}
	for _, c := range e.allowance.Look(e.read) {
		rec := e.records[c.Node]
		e.pendingChanged(rec, c.Is)
		if e.cfg.NodeMonitorPeriod == 0 {
			e.inbox.Node(rec.name) // a pass follows at once
		}
		e.decide(Decision{Kind: PendingChanged, Node: rec.name, Zone: rec.domain, Reason: permit.PolicyText(c.Is), Err: rec.allowance.HeldBack()})
		if e.mayOwn(rec) != nil {
			continue
		}
		if e.turns.IsOverdue(rec.name) {
			e.turns.WaitToRelease(rec.name, string(rec.uid), rec.domain, e.read)
		}
		e.allSooner(rec)
	}
}

// pauseTurns stops or resumes the turns of a domain, by whether anything may be done with them.
func (e *engine) pauseTurns(domain zone.Key) {
	e.turns.PauseDomain(domain, e.permitted.MayIn(domain) != nil || !e.cfg.TaintBasedEviction && e.permitted.Policy(domain) != nil, e.read)
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
