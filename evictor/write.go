//go:build !thin

package evictor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor/internal/gate"
	"github.com/evictkit/evictkit/evictor/internal/outage"
	"github.com/evictkit/evictkit/timedworker"
)

// perform is the work of Evictor.writes and, with lift, of Evictor.lifts, which writes only taints so that nothing can
// delay lifting. It reads the node, compares it with the verdict once more, and writes what differs. Writes of one node
// never overlap: while one is in flight, another asks to be scheduled again.
func (e *Evictor) perform(ctx context.Context, name string, lift bool) (result timedworker.Result) {
	w := &writing{Evictor: e, ctx: ctx, task: task{node: name, lift: lift}}
	result, some := w.prepare()
	if !some {
		return result
	}
	err := errEnded // and stays so if the client ends the goroutine
	defer func() { result = e.told(w.task, w.wrote(err)) }()
	err = e.opts.guarded(name, w.write)
	return result
}

var errEnded = fmt.Errorf("%w: the client ended its goroutine", outage.ErrPanic)

// prepare plans the node's write and claims the node for it. If there is nothing to write now, some is false, and result
// says how the try ends.
func (w *writing) prepare() (result timedworker.Result, some bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tick()
	defer func() {
		if !some { // also if the store does not show the node: another probe must not wait for that
			w.tried(w.task, 0)
		}
	}()
	w.rec = w.records[w.task.node]
	switch {
	case w.rec == nil:
		return timedworker.Forget(), false
	case w.rec.busy:
		return timedworker.Blocked(w.cfg.RetryInitial), false
	}
	if w.object = w.current(w.rec); w.object == nil {
		return timedworker.Blocked(w.cfg.GateInterval), false
	}
	if w.p = w.planNode(w.rec, w.about(w.rec), w.object); w.task.lift {
		w.p = w.p.Taints()
	} else {
		w.p, w.inTurn = w.p.Rest(), w.turns.Of(w.rec.name)
	}
	if w.p.Nothing() {
		w.rec.Wrote(false, "") // a conflict is over: it keeps no turn that has nothing to do
		w.p.Told = true
		w.endTurn(nil)
		return timedworker.Forget(), false
	}
	w.rec.busy = true
	return result, true
}

// wrote records the result of a write and says when the next one is to be.
func (w *writing) wrote(err error) timedworker.Result {
	gone := errors.Is(err, errGone)
	if gone { // there is nothing left to write; that counts as done and is not reported
		err, w.p.Tainted, w.p.Again = nil, w.p.Tainted || w.p.Harms(), false
	}
	closed := errors.Is(err, errClosed)
	fails := !closed && outage.Failing(err)
	conflict := !fails && apierrors.IsConflict(err)
	next := time.Duration(0)
	if fails {
		next = w.waits.UntilProbe()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tick()
	w.rec.busy = false
	known := w.records[w.rec.name] == w.rec
	if gone {
		w.rec.Told()
	}
	conflicts := w.rec.Wrote(conflict, w.object.ResourceVersion)
	if !known {
		next = 0
	}
	w.tried(w.task, next)
	if closed && w.refused == 0 {
		w.refused = gate.Write
	}
	if w.refused != 0 && known {
		w.gates.Wait(w.refused, w.rec.domain, w.rec.name)
	}
	if err != nil && !closed {
		w.decide(Decision{Kind: WriteFailed, Node: w.rec.name, Reason: cmp.Or(w.failed, "write"), Err: err})
	}
	w.endTurn(err)
	switch {
	case err == nil && w.p.Again:
		return timedworker.Blocked(0)
	case err == nil && !w.p.HeldBack:
		return timedworker.Forget()
	case err == nil || closed:
		return timedworker.Blocked(w.cfg.GateInterval)
	case conflict:
		return timedworker.Blocked(w.waits.Conflicted(conflicts))
	}
	return timedworker.Retry(nil)
}

// endTurn ends the turn that a write acted on, if any.
func (w *writing) endTurn(err error) {
	rec := w.rec
	if w.inTurn == nil || w.turns.Of(rec.name) != w.inTurn {
		return // none, or one granted during the write: the next write acts on it
	}
	if w.cfg.empties() && w.p.Told {
		rec.BecomeEmptying()
		w.arm(rec, w.about(rec)) // now its pods are evicted, and emptied ends the turn
		w.emptied(rec)
		return
	}
	w.finish(rec, rec.EndTurn(w.about(rec), w.p.Tainted, err != nil))
}

// told delivers what was decided in a try of t, which ended with result. Work that is being told of cannot be brought
// forward, so if the API server answered meanwhile and it waited for that, it is tried again now. Called without e.mu.
func (e *Evictor) told(t task, result timedworker.Result) timedworker.Result {
	waits := func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.outage.Waits(t)
	}
	waited := waits()
	e.deliver()
	if waited && !waits() {
		return timedworker.Blocked(e.cfg.RetryInitial)
	}
	return result
}
