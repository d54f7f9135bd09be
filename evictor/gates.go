package evictor

import (
	"strings"

	"github.com/evictkit/evictkit/evictor/internal/node"
	"github.com/evictkit/evictkit/evictor/internal/permit"
	"github.com/evictkit/evictkit/evictor/internal/pods"
	"github.com/evictkit/evictkit/zone"
)

// ErrPaused is wrapped by the Decision.Err of evictions that Pause holds back.
var ErrPaused = permit.ErrPaused

// Pause stops new taints and evictions until Resume is called with the same reason. Several pauses, each with its own
// reason, may be in force at once. Lifting and cancelling go on, and deadlines are still armed and run on; no tokens
// accrue. When the last pause ends, pods that became due by taints of others leave at once. Those that became due by our
// own are checked again, and leave node by node at the zone's rate.
func (e *Evictor) Pause(reason string) {
	e.change(func(p *permit.Permits) { p.Pause(reason) })
}

// Resume ends the Pause with that reason. It returns false if there was none.
func (e *Evictor) Resume(reason string) (was bool) {
	e.change(func(p *permit.Permits) { was = p.Resume(reason) })
	return was
}

// Paused returns the reasons of the pauses in force, oldest first.
func (e *Evictor) Paused() (reasons []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.permitted.Paused()
}

// Kick wakes Run and has closed permissions asked for again, and Options.MayEvict about every pod whose eviction it refuses,
// whatever time it named. Its cost grows with what is refused, not with the cluster.
func (e *Evictor) Kick() {
	e.change(func(*permit.Permits) {
		e.tick()
		e.pods.AskAgain()
		e.carryOut()
	})
}

// change changes what is permitted, expires all refusals and wakes Run, which asks again and acts.
func (e *Evictor) change(permits func(*permit.Permits)) {
	e.mu.Lock()
	permits(e.permitted)
	e.permitted.Expire()
	e.mu.Unlock()
	e.inbox.Kick()
}

// SetObserverHealth says whether the evictor itself can see the cluster; err says why not. While err is not nil,
// verdicts are frozen, nothing is tainted or evicted, and pending work is kept. When it becomes nil again, all heartbeat
// clocks restart.
func (e *Evictor) SetObserverHealth(err error) {
	const reason = "observer"
	e.change(func(p *permit.Permits) {
		was := p.SetObserver(err)
		if err != nil && was == nil {
			e.monitor.Freeze(reason)
		}
		if err == nil && was != nil {
			e.tick()
			e.monitor.ThawAt(reason, e.read)
			e.restarted()
		}
	})
}

// askHarm reads the clock and returns nil if taints and evictions are permitted now on that node. It calls MayHarm and
// MayHarmIn, so e.mu must not be held. An open permission is asked for every time, a closed one only after GateInterval.
func (e *Evictor) askHarm(node string) error {
	q := permit.Question{Of: permit.Harm, In: true}
	e.mu.Lock()
	e.tick()
	if rec := e.records[node]; rec != nil {
		q.Domain = rec.domain
	}
	e.mu.Unlock()
	if err := e.ask(permit.Question{Of: permit.Harm}); err != nil {
		return err
	}
	return e.ask(q)
}

// askWrite is askHarm for writes of any kind.
func (e *Evictor) askWrite() error { return e.ask(permit.Question{Of: permit.Write}) }

// ask answers one question; e.mu must not be held. If the answer is now yes, whatever waited for it is tried again. It
// reads no clock, because its callers just have.
func (e *Evictor) ask(q permit.Question) error {
	fence := e.opts.MayHarm
	switch {
	case q.Of == permit.Write:
		fence = e.opts.MayWrite
	case q.In && e.opts.MayHarmIn != nil:
		fence = func() error { return e.opts.MayHarmIn(q.Domain) }
	case q.In:
		fence = nil
	}
	e.mu.Lock()
	err, known := e.permitted.Recall(q, e.now)
	e.mu.Unlock()
	if known || fence == nil {
		return err
	}
	err = fence()
	e.mu.Lock()
	defer e.mu.Unlock()
	err = e.permitted.Answered(q, err, e.now)
	e.settlePermits()
	return err
}

// askDomains asks about the domains in which a node waits, and those where the last answer was no; e.mu must not be
// held.
func (e *Evictor) askDomains() {
	if e.opts.MayHarmIn == nil {
		return
	}
	e.mu.Lock()
	domains := e.permitted.Refused(e.now)
	for _, st := range e.zones.Zones() {
		if e.turns.AnyWaits(st.Zone) && e.permitted.MayIn(st.Zone) == nil {
			domains = append(domains, st.Zone)
		}
	}
	e.mu.Unlock()
	for _, domain := range domains {
		_ = e.ask(permit.Question{Of: permit.Harm, In: true, Domain: domain})
	}
}

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
