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

// perform is the work of Evictor.writes and, where lift says so, of Evictor.lifts, which only write taints, so that nothing else can
// hold lifting back. It reads the truth, compares it with the verdict once more, and writes what differs. One node's
// writes never overlap: a second one waits for the first by asking to be scheduled again.
func (e *Evictor) perform(ctx context.Context, name string, lift bool) timedworker.Result {
	rec, object, p, result := e.prepare(name, lift)
	if object == nil {
		return result
	}
	err := e.guarded(name, func() error { return e.write(ctx, rec, object, &p) })
	gone := errors.Is(err, errGone)
	if gone { // all is as well as done, and nobody is told of it
		err, p.Tainted, p.Again = nil, p.Tainted || p.Harms(), false
	}
	closed := errors.Is(err, errClosed)
	fails := !closed && outage.Failing(err)
	conflict := !fails && apierrors.IsConflict(err)
	next := time.Duration(0)
	if fails {
		next = e.untilProbe()
	}

	e.mu.Lock()
	rec.busy = false
	if gone {
		rec.Told()
	}
	conflicts := rec.Wrote(conflict, object.ResourceVersion)
	if fails && e.records[name] == rec {
		e.outage.Failed(task{node: name, lift: lift}, e.tick(), next)
	} else {
		e.outage.Ended(task{node: name, lift: lift}, e.tick())
	}
	if closed && rec.refused == 0 {
		rec.refused = permit.Write
	}
	if rec.refused != 0 && e.records[name] == rec {
		e.permitted.Wait(rec.refused, rec.zone, name, permit.Tried)
	}
	e.endTurn(rec, p.Tainted, err)
	if err != nil && !closed {
		e.decide(Decision{Time: e.tick(), Kind: WriteFailed, Node: name, Reason: failedStep(err), Err: err})
	}
	rest := e.afterBudgets(rec, lift)
	if until := rec.Until(); p.Empty && !until.IsZero() && !e.now.Before(until) {
		rest = timedworker.Blocked(e.cfg.RetryInitial) // that came while others were tried
	}
	e.mu.Unlock()
	e.deliver()
	switch {
	case err == nil && p.Again:
		return timedworker.Blocked(0)
	case err == nil && !p.HeldBack:
		return rest
	case err == nil || closed:
		return timedworker.Blocked(e.cfg.GateInterval)
	case conflict:
		return timedworker.Blocked(e.conflictWait(conflicts))
	default:
		return timedworker.Retry()
	}
}

// prepare plans the node's write and takes the node for it; a nil object means that there is none now, and
// result how the try ends.
func (e *Evictor) prepare(name string, lift bool) (rec *record, object *v1.Node, p node.Plan, result timedworker.Result) {
	e.mu.Lock()
	defer e.mu.Unlock()
	rec = e.records[name]
	e.tick()
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
		e.outage.Ended(task{node: name, lift: lift}, e.tick())
		e.endTurn(rec, p.Tainted, nil)
		return nil, nil, p, e.afterBudgets(rec, lift)
	}
	rec.busy = true
	return rec, object, p, result
}

// afterBudgets is Done, or asks for another try when the budgets that held pods of an emptied node back may let
// them go; e.mu is held.
func (e *Evictor) afterBudgets(rec *record, lift bool) timedworker.Result {
	if wait := rec.Until().Sub(e.tick()); wait > 0 && !lift {
		return timedworker.Blocked(min(wait, e.cfg.GateInterval)) // what else comes up does not wait for budgets
	}
	return timedworker.Done()
}

// guarded turns a panic of a client into a write that failed. What it runs must not leave e.mu locked.
func (e *Evictor) guarded(key any, write func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			e.panicked(key, value, debug.Stack())
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

// errGone is what a write comes to whose node is not there any more.
var errGone = errors.New("the node is gone")

// stillThere says whether the node is there, and looks at it: the writes before took time.
func (e *Evictor) stillThere(rec *record) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.records[rec.name] != rec {
		return false
	}
	e.tick() // a heartbeat that is seen is seen now
	_, s := e.look(rec.name)
	return s == shown || s == older
}

// stillSilent says whether the node is to be declared Unknown still: it may have given a sign of life since that was planned.
func (e *Evictor) stillSilent(rec *record) bool {
	if !e.stillThere(rec) {
		return true // which is seen to before it is written
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return rec.Unwritten()
}

// stillTaints says whether the verdict still asks for what a planned change adds: the writes before it took
// time. NoSchedule taints alone follow the conditions and are corrected by the next write.
func (e *Evictor) stillTaints(rec *record, p *node.Plan) bool {
	if !p.Harms() || !e.stillThere(rec) {
		return true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.records[rec.name] == rec && e.about(rec).Taints(p.Tainted) // or another node has its name
}

// errClosed is wrapped by what a closed permission stops.
var errClosed = errors.New("not permitted")

// mayWrite is asked before each single write.
func (e *Evictor) mayWrite() error {
	if err := e.askWrite(); err != nil {
		return fmt.Errorf("%w: %w", errClosed, err)
	}
	return nil
}

func (e *Evictor) write(ctx context.Context, rec *record, object *v1.Node, p *node.Plan) error {
	try := func(step string, write func() error) error {
		err := e.mayWrite()
		if err == nil && !e.stillThere(rec) {
			return errGone
		}
		if err == nil {
			err = write()
		}
		switch {
		case err == nil:
			return nil
		case apierrors.IsNotFound(err):
			return errGone
		}
		return &writeError{step: step, node: object.Name, err: err}
	}
	wrote := func(d Decision) {
		e.mu.Lock()
		defer e.mu.Unlock()
		d.Time, d.Node = e.tick(), object.Name
		e.decide(d)
		if d.Kind != ConditionsWritten {
			return
		}
		rec.Told()
		if fresh := e.current(rec); fresh != nil {
			object = fresh // with the resourceVersion of the write just made, where the store shows it
		}
	}
	if len(p.Conditions) > 0 {
		if !e.stillSilent(rec) {
			p.Again = true // as the verdict has it by then
			return nil
		}
		if err := try("conditions", func() error { return e.answered(e.clients.NodeWriter.UpdateConditions(ctx, object, p.Conditions)) }); err != nil {
			return err
		}
		wrote(Decision{Kind: ConditionsWritten, Conditions: p.Conditions})
	}
	if len(p.Change.Add) > 0 {
		refused := e.askHarm(rec.name) != nil
		if refused {
			rec.refused = permit.Harm
		}
		if refused || !e.stillTaints(rec, p) {
			p.Withhold()
		}
	}
	if !p.Change.Empty() {
		if err := try("taints", func() error { return e.answered(e.clients.NodeWriter.UpdateTaints(ctx, object, p.Change)) }); err != nil {
			return err
		}
		p.Tainted = p.Tainted || p.Harms()
		wrote(Decision{Kind: TaintsWritten, Added: p.Change.Add, Removed: p.Change.Remove})
	}
	var errs []error
	if p.Mark {
		errs = append(errs, try("marking pods not Ready", func() error { return e.markPods(ctx, rec, p) }))
	}
	if p.Empty {
		errs = append(errs, try("deleting pods", func() error { return e.emptyNode(ctx, rec) }))
	}
	if len(p.Labels) > 0 && !p.Again { // the pods do not wait for labels
		if err := try("labels", func() error { return e.answered(e.clients.NodeWriter.UpdateLabels(ctx, object, p.Labels)) }); err != nil {
			errs = append(errs, err)
		} else {
			wrote(Decision{Kind: LabelsWritten})
		}
	}
	return errors.Join(errs...)
}

// retryAfter is how long the API asks to wait, 0 when it does not say.
func retryAfter(err error) time.Duration {
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		return time.Duration(seconds) * time.Second
	}
	return 0
}
