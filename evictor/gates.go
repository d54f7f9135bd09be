package evictor

import (
	"github.com/evictkit/evictkit/evictor/internal/node"
	"github.com/evictkit/evictkit/evictor/internal/permit"
	"github.com/evictkit/evictkit/evictor/internal/pods"
	"github.com/evictkit/evictkit/timedworker"
	"github.com/evictkit/evictkit/zone"
)

// ErrPaused is wrapped by the reason of evictions that Pause or PauseDomain holds back.
var ErrPaused = permit.ErrPaused

// Pause stops new taints and evictions until Resume with the same reason; reasons add up. Lifting and
// cancelling go on, deadlines run on and are armed, tokens do not accrue. When the last pause ends, what taints of others
// made due meanwhile leaves at once; what our own made due is checked again and leaves node by node, at the zone's rate.
func (e *Evictor) Pause(reason string) {
	e.change(func(p *permit.Permits) { p.Pause(reason) })
}

// Resume ends Pause with that reason and says whether there was one.
func (e *Evictor) Resume(reason string) (was bool) {
	e.change(func(p *permit.Permits) { was = p.Resume(reason) })
	return was
}

// Paused returns the reasons of Pause in force, oldest first.
func (e *Evictor) Paused() (reasons []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.permitted.Paused()
}

// PauseDomain is Pause for one failure domain; the others go on. It may be called before the domain has a node, and stays in
// force when it has none any more. A node that moves to another domain leaves the pause behind.
func (e *Evictor) PauseDomain(domain zone.Key, reason string) {
	e.change(func(p *permit.Permits) { p.PauseDomain(domain, reason) })
}

// ResumeDomain ends PauseDomain with that reason and says whether there was one.
func (e *Evictor) ResumeDomain(domain zone.Key, reason string) (was bool) {
	e.change(func(p *permit.Permits) { was = p.ResumeDomain(domain, reason) })
	return was
}

// PausedDomain returns the reasons of PauseDomain in force for that domain, oldest first. Those of Pause are not among them.
func (e *Evictor) PausedDomain(domain zone.Key) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.permitted.PausedDomain(domain)
}

// Kick wakes Run and asks closed permissions again. It costs what is closed, not what there is.
func (e *Evictor) Kick() { e.change(func(*permit.Permits) {}) }

// change changes what is permitted, has refusals asked about again and wakes Run, which acts on it.
func (e *Evictor) change(permits func(*permit.Permits)) {
	e.mu.Lock()
	permits(e.permitted)
	e.permitted.Expire()
	e.mu.Unlock()
	e.inbox.Kick()
}

// SetObserverHealth tells how well the evictor itself sees the cluster. While err is not nil verdicts
// are frozen and nothing is tainted or evicted, and pending work is kept; when it becomes nil all
// heartbeat clocks start anew.
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

// askHarm answers whether taints and evictions are permitted now on that node. It calls the user's fences, so e.mu
// must not be held. An open permission is asked every time, a closed one after GateInterval.
func (e *Evictor) askHarm(node string) error {
	if err := e.ask(permit.Question{Of: permit.Harm}); err != nil {
		return err
	}
	e.mu.Lock()
	q := permit.Question{Of: permit.Harm, In: true}
	if rec := e.records[node]; rec != nil {
		q.Domain = rec.zone
	}
	e.mu.Unlock()
	return e.ask(q)
}

// askWrite answers the same for writes of any kind.
func (e *Evictor) askWrite() error { return e.ask(permit.Question{Of: permit.Write}) }

// ask answers one question; e.mu must not be held. What waited for it to be permitted is tried again. It reads no clock: whoever
// asks has just done so, and else a refusal is only asked about again the sooner.
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

// askDomains asks about the domains of which a node waits, or where the last answer was no; e.mu must not be held.
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

// settlePermits acts on what was refused or permitted since the last time, and lets what waits no more be tried again now; e.mu
// is held. The turns are paused with it, so that no tokens accrue meanwhile.
func (e *engine) settlePermits() {
	changes := e.permitted.Changes()
	for i := range changes {
		c := &changes[i]
		kind := GateChanged
		switch {
		case !c.All:
			kind = DomainGateChanged
			e.domainChanged(c)
		case c.Of == permit.Harm && c.Err != nil:
			e.turns.Pause(e.read)
		case c.Of == permit.Harm:
			e.turns.Resume(e.read)
		}
		e.decide(Decision{Time: e.now, Kind: kind, Zone: c.Domain, Reason: c.Text, Err: c.Err})
	}
	for _, name := range e.permitted.Freed() {
		if rec := e.records[name]; rec != nil {
			e.tryAgain(rec)
		}
	}
	if len(changes) == 0 {
		return
	}
	for _, name := range e.turns.AllOverdue() {
		// Those that are to be watched for one more grace are armed anew after it, and wait then.
		if rec := e.records[name]; rec != nil && rec.Stage() != node.Watched && e.permitted.May(permit.Own, rec.zone) == nil {
			e.turns.WaitToRelease(name, string(rec.uid), rec.zone, e.read)
		}
	}
}

// domainChanged is the same for one domain.
func (e *engine) domainChanged(c *permit.Change) {
	e.pauseTurns(c.Domain)
	if c.Of != permit.Own {
		return
	}
	for _, rec := range e.records {
		if rec.zone == c.Domain && rec.Stage() >= node.Watched {
			if c.Pending == zone.Cancel {
				rec.BecomeUnserved()
			}
			e.attention[rec.name] = rec
			e.turns.LeaveRelease(rec.name) // what is overdue stays so until it may leave
		}
	}
}

// pauseTurns hands out no turns of a domain in which nothing may be done with them.
func (e *engine) pauseTurns(domain zone.Key) {
	e.turns.PauseDomain(domain, e.permitted.MayIn(domain) != nil || !e.cfg.TaintBasedEviction && e.permitted.Policy(domain) != nil, e.read)
}

// tryAgain has all be tried now that may have waited for a permission. What waits for something else goes on to.
func (e *engine) tryAgain(rec *record) {
	now := timedworker.Entry[string, struct{}]{Key: rec.name, OnDuplicate: timedworker.Replace}
	if _, scheduled := e.lifts.Get(rec.name); scheduled {
		e.lifts.ScheduleEntryAt(now, e.read)
	}
	if e.cfg.Half != TaintEviction {
		e.writes.ScheduleEntryAt(now, e.read)
	}
	e.armed.Try(rec.pods.Armed(pods.MayHarm), e.read)
}
