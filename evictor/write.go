package evictor

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor/internal/node"
	"github.com/evictkit/evictkit/evictor/internal/outage"
	"github.com/evictkit/evictkit/evictor/internal/permit"
	"github.com/evictkit/evictkit/timedworker"
)

// perform is the work of Evictor.writes and, with lift, of Evictor.lifts, which writes only taints so that nothing can
// delay lifting. It reads the node, compares it with the verdict once more, and writes what differs. Writes of one node
// never overlap: while one is in flight, another asks to be scheduled again.
func (e *Evictor) perform(ctx context.Context, name string, lift bool) (result timedworker.Result) {
	rec, object, p, result := e.prepare(name, lift)
	if object == nil {
		return result
	}
	err := errEnded // and stays so if the client ends the goroutine
	defer func() { result = e.told(task{node: name, lift: lift}, e.wrote(rec, object, &p, lift, err)) }()
	err = e.opts.guarded(name, func() error { return e.write(ctx, rec, object, &p) })
	return result
}

var errEnded = fmt.Errorf("%w: the client ended its goroutine", outage.ErrPanic)

// wrote records the result of a write and says when the next one is to be.
func (e *Evictor) wrote(rec *record, object *v1.Node, p *node.Plan, lift bool, err error) timedworker.Result {
	gone := errors.Is(err, errGone)
	if gone { // there is nothing left to write; that counts as done and is not reported
		err, p.Tainted, p.Again = nil, p.Tainted || p.Harms(), false
	}
	closed := errors.Is(err, errClosed)
	fails := !closed && outage.Failing(err)
	conflict := !fails && apierrors.IsConflict(err)
	next := time.Duration(0)
	if fails {
		next = e.waits.UntilProbe()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tick()
	rec.busy = false
	known := e.records[rec.name] == rec
	if gone {
		rec.Told()
	}
	conflicts := rec.Wrote(conflict, object.ResourceVersion)
	if !known {
		next = 0
	}
	e.tried(task{node: rec.name, lift: lift}, next)
	if closed && rec.refused == 0 {
		rec.refused = permit.Write
	}
	if rec.refused != 0 && known {
		e.permitted.Wait(rec.refused, rec.zone, rec.name)
	}
	if err != nil && !closed {
		e.decide(Decision{Kind: WriteFailed, Node: rec.name, Reason: failedStep(err), Err: err})
	}
	e.endTurn(rec, p, err)
	switch {
	case err == nil && p.Again:
		return timedworker.Blocked(0)
	case err == nil && !p.HeldBack:
		return timedworker.Done()
	case err == nil || closed:
		return timedworker.Blocked(e.cfg.GateInterval)
	case conflict:
		return timedworker.Blocked(e.waits.Conflicted(conflicts))
	}
	return timedworker.Retry()
}

// prepare plans the node's write and claims the node for it. A nil object means that there is nothing to write now;
// result then says how the try ends.
func (e *Evictor) prepare(name string, lift bool) (rec *record, object *v1.Node, p node.Plan, result timedworker.Result) {
	e.mu.Lock()
	defer e.mu.Unlock()
	rec = e.records[name]
	e.tick()
	defer func() {
		if object == nil { // also if the store does not show the node: another probe must not wait for that
			e.tried(task{node: name, lift: lift}, 0)
		}
	}()
	switch {
	case rec == nil:
		return nil, nil, p, timedworker.Done()
	case rec.busy:
		return nil, nil, p, timedworker.Blocked(e.cfg.RetryInitial)
	}
	if object = e.current(rec); object == nil {
		return nil, nil, p, timedworker.Blocked(e.cfg.GateInterval)
	}
	p, rec.turn, rec.refused = e.planNode(rec, object), nil, 0
	if lift {
		p = p.Taints()
	} else {
		p, rec.turn = p.Rest(), e.turns.Of(name)
	}
	if p.Nothing() {
		rec.Wrote(false, "") // a conflict is over: it keeps no turn that has nothing to do
		p.Told = true
		e.endTurn(rec, &p, nil)
		return nil, nil, p, timedworker.Done()
	}
	rec.busy = true
	return rec, object, p, result
}

// guarded runs write and turns a panic of a client into an error. write must not leave e.mu locked.
func (o *Options) guarded(key any, write func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			o.panicked(key, value, debug.Stack())
			err = fmt.Errorf("%w: %v", outage.ErrPanic, value)
		}
	}()
	return write()
}

// writeError names the step of a write that failed.
type writeError struct {
	step string
	node string
	err  error
}

func (w *writeError) Error() string { return fmt.Sprintf("%s of node %s: %v", w.step, w.node, w.err) }
func (w *writeError) Unwrap() error { return w.err }

func failedStep(err error) string {
	var w *writeError
	if errors.As(err, &w) {
		return w.step
	}
	return "write"
}

// retryAfter is how long the API server asks to wait; 0 if it does not say.
func retryAfter(err error) time.Duration {
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		return time.Duration(seconds) * time.Second
	}
	return 0
}
