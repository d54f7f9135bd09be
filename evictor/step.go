//go:build !thin

package evictor

import (
	"context"
	"time"

	"github.com/evictkit/evictkit/evictor/internal/gate"
)

// maxLaps bounds how often one Step goes round because its own writes made something else due. A healthy cluster needs a
// few; what is left after the last one is due in the next Step.
const maxLaps = 16

// Step does everything that is due now, in line and in order: heartbeats and verdicts (for which it asks
// Clients.Confirmer), zones and rates, lifting, then the turns of the zones' queues, then evictions. It returns the
// instant at which to call it again; the zero time means not before the evictor is fed again. Step tries an item at
// most once: if that fails, the item is due again after its backoff. While the stores are not synced, or nobody has fed
// the evictor, Step decides nothing and asks to be called again after Config.GateInterval.
//
// The error is ErrRunning if another Step or Run is active, or else the context's; a nil context is one, too.
func (e *Evictor) Step(ctx context.Context) (next time.Time, err error) {
	if err := e.begin(ctx, "Step"); err != nil {
		return time.Time{}, err
	}
	defer e.active.Store(false)
	defer e.deliver()
	for range maxLaps {
		if err := ctx.Err(); err != nil {
			return time.Time{}, err
		}
		if !e.plan() {
			return e.opts.Clock.Now().Add(e.cfg.GateInterval), nil
		}
		if err := e.act(ctx); err != nil {
			return time.Time{}, err
		}
		if next, idle := e.next(); idle {
			return next, nil
		}
	}
	return e.opts.Clock.Now(), nil
}

// act runs what plan made due, in line, until there is something to plan: an answer about a suspect ends the pass that found
// it, and a store that shows writes at once has already reported our own taints, which come before evictions.
func (e *Evictor) act(ctx context.Context) error {
	if ran, err := e.work(ctx, e.asks); ran > 0 || err != nil {
		return err
	}
	if _, err := e.work(ctx, e.lifts); err != nil {
		return err
	}
	e.hand()
	if _, err := e.work(ctx, e.writes); err != nil || !e.inbox.Empty() {
		return err
	}
	_, err := e.work(ctx, e.armed.Fresh, e.armed.Refused)
	return err
}

// worker is one set of timed work.
type worker interface {
	NextAt(now time.Time) (next time.Time, ok bool)
	Step(ctx context.Context) (ran int, err error)
}

// work does what is due in each set in turn, and returns how much that was. It skips sets with nothing due, without reading
// the clock.
func (e *Evictor) work(ctx context.Context, sets ...worker) (ran int, err error) {
	defer e.deliver()
	for _, set := range sets {
		e.mu.Lock()
		idle := !due(set.NextAt, e.read)
		e.mu.Unlock()
		if idle {
			continue
		}
		n, err := set.Step(ctx)
		if ran += n; err != nil {
			return ran, err
		}
	}
	return ran, ctx.Err()
}

// plan reads the inbox and, if a monitor pass is due, makes the decisions of the pass. It schedules writes and makes
// none. It returns false, and decides nothing, if the stores are not complete or nobody feeds the evictor.
func (e *Evictor) plan() bool {
	if !e.complete() {
		return false
	}
	_ = e.ask(gate.Gate{Class: gate.Harm})
	e.askDomains()
	took := e.planned()
	if took >= 0 && e.opts.OnPass != nil {
		e.opts.OnPass(took)
	}
	return true
}

// planned is the rest of plan, once the permissions are known. It returns how long the pass took, or a negative time if
// there was none.
func (e *Evictor) planned() (took time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	took = -1
	e.gatesChanged()
	nodes, pods := e.inbox.Take()
	defer func() { // if the user's code panics, keep the rest for the next Step
		for _, name := range nodes {
			e.NodeChanged(name)
		}
		for _, key := range pods {
			e.PodChanged(key)
		}
	}()
	if !e.started {
		nodes = nodes[:0]
		for node := range e.clients.Nodes.Nodes {
			nodes = append(nodes, node.Name)
		}
	}
	for ; len(nodes) > 0; nodes = nodes[1:] {
		e.syncNode(nodes[0])
	}
	for ; len(pods) > 0; pods = pods[1:] {
		e.syncPod(pods[0])
	}
	if !e.started {
		for name, lease := range e.inbox.Leases() {
			e.monitor.ObserveLease(name, lease.RenewTime, lease.ResourceVersion)
		}
	}
	if e.cfg.Half == TaintEviction {
		e.attention = make(map[string]*record) // it is for passes, and this half has none
	} else if due(e.monitor.NextAt, e.read) || !e.started || e.cfg.NodeMonitorPeriod == 0 && (len(e.attention) > 0 || e.left || due(e.zones.NextAt, e.read)) {
		e.pass()
		if took = 0; e.opts.OnPass != nil {
			took = max(0, e.opts.Clock.Since(e.read))
		}
	}
	e.conclude()
	if e.cfg.NodeMonitorPeriod == 0 {
		e.lookAtBudget() // the next pass may be far
	}
	e.probe()
	e.started = true
	return took
}

// next returns when something is next due, and whether nothing is due now.
func (e *Evictor) next() (next time.Time, idle bool) {
	next, read, idle := e.planNext()
	soon := soonest{next}
	for _, set := range []worker{e.asks, e.writes, e.lifts, e.armed.Fresh, e.armed.Refused} {
		soon.or(set.NextAt(read))
	}
	return soon.Time, idle && (soon.IsZero() || read.Before(soon.Time))
}

// planNext is next for what plan and hand do, without the work that they schedule. read is the reading of the clock that
// it took.
func (e *Evictor) planNext() (next, read time.Time, idle bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tick()
	if !e.inbox.Empty() {
		return e.read, e.read, false
	}
	var soon soonest
	at, ok := e.outage.Next()
	soon.or(e.shown(at), ok)
	soon.or(e.concludeAt())
	at, ok = e.gates.Next() // which may lie in the past
	soon.or(e.read.Add(max(1, e.shown(at).Sub(e.read))), ok)
	if e.gates.Refusal(gate.Gate{Class: gate.Write}) == nil {
		soon.or(e.turns.Next(e.read))
	}
	if e.cfg.Half != TaintEviction {
		soon.or(e.monitor.NextAt(e.read))
	}
	if e.cfg.Half != TaintEviction && e.cfg.NodeMonitorPeriod == 0 {
		soon.or(e.allowance.Next())
		soon.or(e.zones.NextAt(e.read))
		soon.or(e.attendAt())
	}
	return soon.Time, e.read, soon.IsZero() || e.read.Before(soon.Time)
}

// hand takes the turns that have come, unless writes are not permitted, and schedules what follows from them.
func (e *Evictor) hand() {
	if e.askWrite() != nil {
		return
	}
	e.askDomains()
	e.mu.Lock()
	defer e.mu.Unlock()
	for turn, ok := e.turns.Take(e.read); ok; turn, ok = e.turns.Take(e.read) {
		if rec := e.records[turn.Node]; turn.Release {
			e.armed.Try(rec.pods.Armed(0), e.read) // its overdue pods may leave
		} else {
			e.granted(rec, turn)
		}
	}
}
