package evictor

import (
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/internal/node"
	"github.com/evictkit/evictkit/health"
	"github.com/evictkit/evictkit/zone"
)

// pass is one monitor pass: verdicts, zones and rates, then what follows from them for the nodes that
// are not well. e.mu is held.
func (e *Evictor) pass(now time.Time) {
	e.left = false
	blind := e.monitor.Blind()
	verdicts := e.monitor.PassAt(e.read)
	if e.monitor.Blind() != blind {
		e.restarted()
	}
	for _, v := range verdicts {
		if rec := e.records[v.Node]; rec != nil && (v.UID == rec.uid) {
			e.judged(rec, v, now)
		}
	}
	for _, rec := range e.attention {
		if rec.known && rec.nextZone != rec.zone {
			rec.zone = rec.nextZone
			e.turns.Move(rec.name, rec.zone)
			e.tryAgain(rec, e.permitted.Forget(rec.name)) // where it is now other answers may hold
		}
		e.member(rec)
	}
	e.evaluateZones(now)
	e.attend(now)
}

// judged takes over a new verdict about the node.
func (e *Evictor) judged(rec *record, v health.Verdict, now time.Time) {
	was, known := rec.verdict.Ready, rec.known
	silent := v.Expired && !rec.verdict.Expired
	rec.verdict, rec.known, rec.beatSince = v, true, false
	rec.writeConditions = v.Expired
	if v.Ready == v1.ConditionTrue {
		delete(e.bad, rec.name)
		rec.waitSettle, rec.emptied, rec.settled, rec.refused, rec.markPods, rec.marked = false, false, nil, nil, false, nil
		e.turns.NotOverdue(rec.name)
	} else {
		e.bad[rec.name] = rec
	}
	if v.Ready == v1.ConditionUnknown {
		rec.markPods = true
	} else {
		rec.markPods, rec.marked = false, nil
	}
	if v.Ready != was || !known || silent {
		d := Decision{Time: now, Kind: NodeVerdict, Node: rec.name, NodeUID: rec.uid, From: was, To: v.Ready, Grace: v.Grace}
		if !known {
			d.From = v.Observed
		}
		if silent {
			d.Silence = now.Sub(v.LastBeat)
		}
		if d.From != d.To {
			e.decide(d)
		}
	}
	e.attention[rec.name] = rec
}

// member tells the zones how the node stands. A verdict counts whether or not its write succeeds.
func (e *Evictor) member(rec *record) {
	if !rec.known {
		return
	}
	e.zones.Set(rec.name, rec.zone, zone.Member{
		Ready:    rec.verdict.Ready == v1.ConditionTrue,
		Excluded: rec.excluded,
		Identity: string(rec.uid),
	})
}

// evaluateZones sets the rates and enters or leaves the state in which every zone is down.
func (e *Evictor) evaluateZones(now time.Time) {
	transition := zone.None
	for _, c := range e.zones.EvaluateAt(now) {
		transition = c.Cluster
		pending := c.Pending
		if e.zones.AllDown() { // which is another matter than what the policy says
			pending = zone.GoOn
		}
		e.permitted.SetPending(c.Zone, pending)
		if c.Gone {
			e.turns.Retire(c.Zone)
			continue
		}
		e.turns.SetRate(c.Zone, c.Rate, e.read)
		e.pauseTurns(c.Zone) // which it does not know of a domain that was gone
		if c.Cluster == zone.None && c.From == c.To && c.Rate == c.PreviousRate {
			continue // what is pending has changed, of which settlePermits tells
		}
		e.decide(Decision{Time: now, Kind: ZoneChanged, Zone: c.Zone, FromState: c.From, State: c.To, Rate: c.Rate, Counts: c.Counts})
	}
	e.settlePermits()
	switch transition {
	case zone.Entered:
		e.decide(Decision{Time: now, Kind: AllZonesDown})
		for _, rec := range e.bad {
			rec.emptied = false
			e.attention[rec.name] = rec
		}
	case zone.Left:
		e.decide(Decision{Time: now, Kind: AllZonesDownEnded})
		e.monitor.RestartAt(e.read)
		e.restarted()
	}
}

// restarted makes every failed node wait one more grace period before it is tainted, emptied or its
// pods are marked, also those whose turn has come or nearly so; e.mu is held.
func (e *Evictor) restarted() {
	for _, name := range sortedKeys(e.bad) {
		rec := e.bad[name]
		rec.waitSettle = true
		e.attention[name] = rec
		e.dequeue(rec, node.Settling.String(), e.now)
		e.turns.LeaveRelease(name) // what is overdue stays so until it may leave
	}
}

// attend looks at the nodes that need it, in the order of their names. Those that only wait for time to
// pass are looked at again in the next pass.
func (e *Evictor) attend(now time.Time) {
	if len(e.attention) == 0 {
		return
	}
	left := e.attention
	e.attention = make(map[string]*record)
	defer func() { maps.Copy(e.attention, left) }() // what a panic of the user's code has left
	for _, name := range sortedKeys(left) {
		if rec := e.records[name]; rec != nil && rec.known {
			e.consider(rec, now)
		}
		delete(left, name)
	}
}

// attendAt is when exact mode has to attend again to nodes that wait for time to pass. None passes for them while
// verdicts are frozen.
func (e *Evictor) attendAt() (next time.Time, ok bool) {
	if e.permitted.Observer() != nil {
		return next, false
	}
	for _, rec := range e.attention {
		at, some := e.waitsUntil(rec)
		if some {
			next, ok = earlier(next, ok, at)
		}
	}
	return next, ok
}

func (e *Evictor) waitsUntil(rec *record) (time.Time, bool) {
	v, ok := e.monitor.Verdict(rec.name)
	if !ok {
		return time.Time{}, false
	}
	if rec.waitSettle {
		if at, settles := e.monitor.Settles(rec.name); settles {
			return at, true
		}
		return v.LastBeat.Add(v.Grace), true // or when it has been silent for so long
	}
	if e.now.Before(rec.unseen) {
		return rec.unseen, true
	}
	if about := e.about(rec); !e.cfg.TaintBasedEviction && about.Failing() {
		return emptyAt(v, e.cfg.PodEvictionTimeout), true
	}
	return e.now, true
}

// emptyAt is when the pods of a failed node are deleted where nothing is tainted.
func emptyAt(v health.Verdict, timeout time.Duration) time.Time {
	if v.Ready == v1.ConditionUnknown {
		return v.LastBeat.Add(timeout)
	}
	return v.Since.Add(timeout)
}

// consider decides what the node's verdict asks for now: to wait in the queue or not, to be written,
// to be lifted.
func (e *Evictor) consider(rec *record, now time.Time) {
	object := e.current(rec)
	e.recount(rec)
	if rec.waitSettle && !e.zones.AllDown() {
		if rec.waitSettle = !e.monitor.SettledAt(rec.name, e.read); rec.waitSettle {
			e.attention[rec.name] = rec
		}
	}
	if rec.verdict.Expired && !rec.beatSince && rec.ready != v1.ConditionUnknown {
		rec.writeConditions = true
	}
	about := e.about(rec)
	switch s := about.Standing(); {
	case !s.MayBeHarmed():
		e.dequeue(rec, about.Why(), now)
		if s == node.Tainted && !rec.tainted {
			e.attention[rec.name] = rec // until it is known whether it is
		}
	case !e.cfg.TaintBasedEviction:
		e.considerEmptying(rec, now)
	case object != nil && e.turns.Of(rec.name) == nil:
		e.enqueue(rec, now)
	}
	e.arm(rec, now)
	if object != nil {
		e.scheduleWrites(rec, object, now)
	}
}

// considerEmptying is the way without taints: a node that failed for long enough waits for its zone's
// rate, and one that was emptied already loses what was bound to it since.
func (e *Evictor) considerEmptying(rec *record, now time.Time) {
	v, ok := e.monitor.Verdict(rec.name)
	if !ok {
		return
	}
	due := emptyAt(v, e.cfg.PodEvictionTimeout)
	if e.cfg.NodeMonitorPeriod > 0 {
		due = due.Add(1) // upstream's passes act strictly after the timeout
	}
	switch {
	case now.Before(due):
		e.attention[rec.name] = rec
	case !rec.emptied && e.turns.Of(rec.name) == nil:
		e.enqueue(rec, now)
	}
}

func sortedKeys[M ~map[string]V, V any](m M) []string { return slices.Sorted(maps.Keys(m)) }
