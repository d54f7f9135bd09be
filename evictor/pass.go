package evictor

import (
	"maps"
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor/internal/node"
	"github.com/evictkit/evictkit/health"
	"github.com/evictkit/evictkit/zone"
)

// pass is one monitor pass: verdicts, zones and rates, then what follows from them for the nodes that
// are not well.
func (e *engine) pass(now time.Time) {
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
		if rec.Stage() == node.New {
			continue
		}
		if rec.zone != rec.Zone {
			rec.zone = rec.Zone
			e.turns.Move(rec.name, rec.zone)
			if e.permitted.Forget(rec.name) { // where it is now other answers may hold
				e.tryAgain(rec)
			}
		}
		// A verdict counts whether or not its write succeeds.
		e.zones.Set(rec.name, rec.zone, zone.Member{Ready: rec.Stage() == node.Calm, Excluded: rec.Excluded, Identity: string(rec.uid)})
	}
	e.evaluateZones(now)
	e.attend(now)
}

// judged takes over a new verdict about the node.
func (e *engine) judged(rec *record, v health.Verdict, now time.Time) {
	from, silent := rec.Judge(v)
	if rec.Stage() == node.Calm {
		e.turns.NotOverdue(rec.name)
		rec.pods.Recovered()
	}
	if from != v.Ready {
		d := Decision{Time: now, Kind: NodeVerdict, Node: rec.name, NodeUID: rec.uid, From: from, To: v.Ready, Grace: v.Grace}
		if silent {
			d.Silence = e.read.Sub(v.LastBeat)
		}
		e.decide(d)
	}
	e.attention[rec.name] = rec
}

// evaluateZones sets the rates and enters or leaves the state in which every zone is down.
func (e *engine) evaluateZones(now time.Time) {
	transition := zone.None
	for _, c := range e.zones.EvaluateAt(e.read) {
		transition = c.Cluster
		pending := c.Pending
		if e.zones.AllDown() { // which is another matter than what the policy says
			pending = zone.GoOn
		}
		other := e.permitted.SetPending(c.Zone, pending)
		if c.Gone {
			e.turns.Retire(c.Zone)
			continue
		}
		rated := e.turns.SetRate(c.Zone, c.Rate, e.read)
		e.pauseTurns(c.Zone) // which it does not know of a domain that was gone
		if c.Cluster == zone.None && c.From == c.To && other && !rated {
			continue // what is pending has changed alone, of which settlePermits tells
		}
		e.decide(Decision{Time: now, Kind: ZoneChanged, Zone: c.Zone, FromState: c.From, State: c.To, Rate: c.Rate, Counts: c.Counts})
	}
	e.settlePermits()
	switch transition {
	case zone.Entered:
		e.decide(Decision{Time: now, Kind: AllZonesDown})
		for _, rec := range e.records {
			if rec.BecomeUnserved() {
				e.attention[rec.name] = rec
			}
		}
	case zone.Left:
		e.decide(Decision{Time: now, Kind: AllZonesDownEnded})
		e.monitor.RestartAt(e.read)
		e.restarted()
	}
}

// restarted makes every failed node wait one more grace period before it is tainted, emptied or its
// pods are marked, also those whose turn has come or nearly so.
func (e *engine) restarted() {
	for _, name := range sortedKeys(e.records) {
		if rec := e.records[name]; rec.BecomeWatched() {
			e.attention[name] = rec
			e.dequeue(rec, node.Settling.String(), e.now)
			e.turns.LeaveRelease(name) // what is overdue stays so until it may leave
		}
	}
}

// attend looks at the nodes that need it, in the order of their names. Those that only wait for time to
// pass are looked at again in the next pass.
func (e *engine) attend(now time.Time) {
	if len(e.attention) == 0 {
		return
	}
	left := e.attention
	e.attention = make(map[string]*record)
	defer func() { maps.Copy(e.attention, left) }() // what a panic of the user's code has left
	for _, name := range sortedKeys(left) {
		if rec := e.records[name]; rec != nil && rec.Stage() != node.New {
			e.consider(rec, now)
		}
		delete(left, name)
	}
}

// attendAt is when exact mode has to attend again to nodes that wait for time to pass. None passes for them while
// verdicts are frozen.
func (e *engine) attendAt() (next time.Time, ok bool) {
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

// waitsUntil is what the clock shows when time alone changes what there is to do about the node.
func (e *engine) waitsUntil(rec *record) (at time.Time, ok bool) {
	v, ok := e.latest(rec)
	settles, waits := e.monitor.Settles(rec.name)
	if waits {
		settles = settles.Add(e.ahead)
	}
	return e.shown(rec.WaitsUntil(e.world(rec), v, settles)), ok
}

// latest is the verdict about the node with its times as they are by now, in our time.
func (e *engine) latest(rec *record) (v health.Verdict, ok bool) {
	v, ok = e.monitor.Verdict(rec.name)
	v.Since, v.LastBeat = v.Since.Add(e.ahead), v.LastBeat.Add(e.ahead)
	return v, ok
}

// consider decides what the node's verdict asks for now: to wait in the queue or not, to be written,
// to be lifted.
func (e *engine) consider(rec *record, now time.Time) {
	object := e.current(rec)
	e.recount(rec)
	latest, ok := e.latest(rec)
	settled := rec.Stage() == node.Watched && e.monitor.SettledAt(rec.name, e.read)
	waits, again := rec.Consider(e.world(rec), latest, settled, object != nil)
	if again {
		e.attention[rec.name] = rec
	}
	if about := e.about(rec); !about.Standing().MayBeHarmed() {
		e.dequeue(rec, about.Why(), now)
	} else if waits && ok {
		e.enqueue(rec, now)
	}
	e.arm(rec, now)
	if object != nil {
		e.scheduleWrites(rec, object)
	}
}

func sortedKeys[M ~map[string]V, V any](m M) []string { return slices.Sorted(maps.Keys(m)) }
