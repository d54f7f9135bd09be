//go:build !thin

package evictor

import (
	"cmp"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/internal/node"
	"github.com/evictkit/evictkit/health"
	"github.com/evictkit/evictkit/zone"
)

// pass is one monitor pass: verdicts, then zones and rates, then what follows for the nodes that need attention.
func (e *engine) pass() {
	if !e.started {
		e.begun = e.now
	}
	blind := e.monitor.Blind()
	verdicts := e.monitor.PassAt(e.read)
	if e.monitor.Blind() != blind {
		e.restarted()
	}
	for _, v := range verdicts {
		if rec := e.records[v.Node]; rec != nil && (v.UID == rec.uid) {
			e.judged(rec, v)
		}
	}
	e.follow(e.unasked > 0)
}

// follow draws the conclusions from new verdicts: zones and rates, then what the nodes that need attention ask for. While the
// answers about some suspects are awaited zones stay as they are; conclude follows with them.
func (e *engine) follow(awaits bool) {
	for _, rec := range e.attention {
		if rec.Stage() == node.New {
			continue
		}
		if rec.domain != rec.Zone {
			rec.domain = rec.Zone
			e.turns.Move(rec.name, rec.domain)
			e.marks.Moved(rec.name, rec.domain)
			if e.gates.Unwait(rec.name) { // its new zone may have other gates
				e.allSooner(rec)
			}
		}
		// A verdict counts in its zone and in the budget, whether or not its write succeeds or the store shows the node as it is.
		e.zones.Set(rec.name, rec.domain, zone.Member{Ready: rec.Stage() == node.Calm, Excluded: e.about(rec).Excluded, Identity: string(rec.uid)})
		e.tellBudget(rec)
	}
	if awaits {
		e.awaitsSince = cmp.Or(e.awaitsSince, e.now)
	} else {
		e.evaluateZones()
		e.left = false // not before: if the policy panics, the next Step asks it again
	}
	e.lookAtBudget()
	e.grantMarks()
	e.attend()
}

// judged records a new verdict about the node.
func (e *engine) judged(rec *record, v health.Verdict) {
	e.suspect(rec, v)
	first := rec.Stage() == node.New
	from, silent := rec.Judge(v)
	e.silentOrNot(rec)
	if first && !rec.seen.After(e.begun) { // what has failed by the first verdict may have failed before we watched
		rec.BecomeEarly()
	}
	if rec.Stage() == node.Calm {
		e.dequeue(rec, node.Ready.String()) // now, because a store may panic before it is considered
		e.turns.NotOverdue(rec.name)
		if from == v1.ConditionFalse || from == v1.ConditionUnknown {
			rec.pods.Recovered()
		}
	}
	if from != v.Ready {
		d := Decision{Kind: NodeVerdict, Node: rec.name, NodeUID: rec.uid, From: from, To: v.Ready, Grace: v.Grace}
		if silent {
			d.Silence = e.read.Sub(v.LastBeat)
		}
		e.decide(d)
	}
	e.attention[rec.name] = rec
}

// evaluateZones sets the zones' rates, and enters or leaves the state in which every zone is down.
func (e *engine) evaluateZones() {
	transition := zone.None
	for _, c := range e.zones.EvaluateAt(e.read) {
		transition = c.Cluster
		pending := c.Pending
		if e.zones.AllDown() { // Standing handles this state; it is not the policy's to decide
			pending = zone.GoOn
		}
		e.gates.Rule(c.Zone, pending)
		if c.Gone || !e.zones.AllDown() { // while all are down nobody is marked
			e.marks.Limit(c.Zone, c.MaxMarked)
		}
		if c.Gone {
			e.turns.Retire(c.Zone)
			continue
		}
		rated := e.turns.SetRate(c.Zone, c.Rate, e.read)
		e.pauseTurns(c.Zone) // the queue may have forgotten the zone, and its pause, meanwhile
		if c.Cluster == zone.None && c.From == c.To && !rated {
			continue // what the policy says of pending evictions is reported by gatesChanged, and of marks by grantMarks
		}
		e.decide(Decision{Kind: ZoneChanged, Zone: c.Zone, FromState: c.From, State: c.To, Rate: c.Rate, Counts: c.Counts})
	}
	e.gatesChanged()
	switch transition {
	case zone.Entered:
		e.decide(Decision{Kind: AllZonesDown})
		for _, rec := range e.records {
			if rec.BecomeUnserved() {
				e.attention[rec.name] = rec
			}
		}
	case zone.Left:
		e.decide(Decision{Kind: AllZonesDownEnded})
		e.monitor.RestartAt(e.read)
		e.restarted()
	}
}

// restarted makes every failed node wait one more grace period before it is tainted or emptied and its pods are marked,
// even a node that already has its turn.
func (e *engine) restarted() {
	e.begun = e.now
	for _, name := range sortedKeys(e.records) {
		if rec := e.records[name]; rec.BecomeEarly() {
			e.attention[name] = rec
			e.dequeue(rec, node.Settling.String())
			e.turns.LeaveRelease(name) // overdue pods stay overdue until they may leave
		}
	}
	e.suspectsAnew()
}

// attend considers the nodes that need attention, sorted by name. A node that only waits for time to pass is considered
// again in the next pass.
func (e *engine) attend() {
	if len(e.attention) == 0 {
		return
	}
	left := e.attention
	e.attention = make(map[string]*record)
	defer func() { maps.Copy(e.attention, left) }() // if the user's code panics, keep the rest for the next pass
	for _, name := range sortedKeys(left) {
		if rec := e.records[name]; rec != nil && rec.Stage() != node.New {
			e.consider(rec)
		}
		delete(left, name)
	}
}

// attendAt is when exact mode must attend again to nodes that wait for time to pass; never while verdicts are frozen,
// when no time passes for them.
func (e *engine) attendAt() (next time.Time, ok bool) {
	var soon soonest
	if e.gates.Observer() == nil {
		for _, rec := range e.attention {
			soon.or(e.waitsUntil(rec))
		}
	}
	return soon.Time, !soon.IsZero()
}

// waitsUntil is when, by the clock, time alone changes what the node needs.
func (e *engine) waitsUntil(rec *record) (at time.Time, ok bool) {
	v, ok := e.latest(rec)
	if v.Suspect && rec.Stage() == node.Early {
		return at, false // it waits for an answer
	}
	settles, waits := e.monitor.Settles(rec.name)
	if waits {
		settles = settles.Add(e.ahead)
	}
	return e.shown(rec.WaitsUntil(e.about(rec), v, settles)), ok
}

// latest is the monitor's current verdict about the node, with its instants in our time.
func (e *engine) latest(rec *record) (v health.Verdict, ok bool) {
	v, ok = e.monitor.Verdict(rec.name)
	v.Since, v.LastBeat = v.Since.Add(e.ahead), v.LastBeat.Add(e.ahead)
	return v, ok
}

// consider decides what the node's verdict asks for now: whether it waits in the queue, and what is written or lifted.
func (e *engine) consider(rec *record) {
	object := e.current(rec)
	latest, ok := e.latest(rec)
	settled := rec.Stage() == node.Early && e.monitor.SettledAt(rec.name, e.read)
	waits, again := rec.Consider(e.about(rec), latest, settled, object != nil)
	if again {
		e.attention[rec.name] = rec
	}
	about := e.about(rec)
	if !about.Standing().MayBeHarmed() {
		e.dequeue(rec, about.Why())
	} else if waits && ok {
		e.enqueue(rec)
	}
	e.follows(rec, about, object)
}

func sortedKeys[M ~map[string]V, V any](m M) []string { return slices.Sorted(maps.Keys(m)) }
