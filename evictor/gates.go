//go:build !thin

package evictor

import (
	"github.com/evictkit/evictkit/evictor/internal/gate"
)

// ErrPaused is what the Decision.Err of an eviction wraps while Pause holds it back.
var ErrPaused = gate.ErrPaused

// Pause stops new taints and evictions until Resume is called with the same reason. Several pauses, each with its own
// reason, may be in force at once. Meanwhile the evictor still lifts taints, cancels evictions and arms new ones;
// deadlines run on, but no tokens accrue. When the last pause ends, pods that became due by taints of others leave at
// once. The evictor checks those that became due by our own taints again; they leave node by node at the zone's rate.
func (e *Evictor) Pause(reason string) {
	e.change(func(g *gate.Gates) { g.Pause(reason) })
}

// Resume ends the Pause with that reason. It returns false if there was none.
func (e *Evictor) Resume(reason string) (was bool) {
	e.change(func(g *gate.Gates) { was = g.Resume(reason) })
	return was
}

// Paused returns the reasons of the pauses in force, oldest first.
func (e *Evictor) Paused() (reasons []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.gates.Paused()
}

// Kick wakes Run, and makes the evictor ask all closed permissions again, and Options.MayEvict about every pod that it
// refuses, whatever time it named. Its cost grows with the number of refusals, not with the cluster.
func (e *Evictor) Kick() {
	e.change(func(*gate.Gates) {
		e.tick()
		e.pods.AskAgain()
		e.carryOut()
	})
}

// change changes what is permitted, expires all refusals and wakes Run, which asks again and acts.
func (e *Evictor) change(gates func(*gate.Gates)) {
	e.mu.Lock()
	gates(e.gates)
	e.gates.Expire()
	e.mu.Unlock()
	e.inbox.Kick()
}

// SetObserverHealth says whether the evictor itself can see the cluster; err says why not. While err is not nil, the
// evictor freezes verdicts, taints and evicts nothing, and keeps pending work. When it becomes nil again, all heartbeat
// clocks restart.
func (e *Evictor) SetObserverHealth(err error) {
	const reason = "observer"
	err = gate.Blind(err) // with nothing locked: err is the program's
	e.change(func(g *gate.Gates) {
		was := g.SetObserver(err)
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
	q := gate.Gate{Class: gate.Harm, In: true}
	e.mu.Lock()
	e.tick()
	if rec := e.records[node]; rec != nil {
		q.Domain = rec.domain
	}
	e.mu.Unlock()
	if err := e.ask(gate.Gate{Class: gate.Harm}); err != nil {
		return err
	}
	return e.ask(q)
}

// askWrite is askHarm for writes of any kind.
func (e *Evictor) askWrite() error { return e.ask(gate.Gate{Class: gate.Write}) }

// ask answers one question; e.mu must not be held. If the answer is now yes, whatever waited for it is tried again. It
// reads no clock, because its callers just have.
func (e *Evictor) ask(q gate.Gate) error {
	fence := e.opts.MayHarm
	switch {
	case q.Class == gate.Write:
		fence = e.opts.MayWrite
	case q.In && e.opts.MayHarmIn != nil:
		fence = func() error { return e.opts.MayHarmIn(q.Domain) }
	case q.In:
		fence = nil
	}
	e.mu.Lock()
	err, known := e.gates.Recall(q, e.now)
	e.mu.Unlock()
	if known || fence == nil {
		return err
	}
	err = q.Named(fence())
	e.mu.Lock()
	defer e.mu.Unlock()
	err = e.gates.Answered(q, err, e.now)
	e.gatesChanged()
	return err
}

// askDomains asks about the domains in which a node waits, and those where the last answer was no; e.mu must not be
// held.
func (e *Evictor) askDomains() {
	if e.opts.MayHarmIn == nil {
		return
	}
	e.mu.Lock()
	domains := e.gates.Refused(e.now)
	for _, st := range e.zones.Zones() {
		if e.turns.AnyWaits(st.Zone) && e.gates.Refusal(gate.In(gate.Harm, st.Zone)) == nil {
			domains = append(domains, st.Zone)
		}
	}
	e.mu.Unlock()
	for _, domain := range domains {
		_ = e.ask(gate.In(gate.Harm, domain))
	}
}
