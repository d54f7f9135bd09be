package evictor

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor/internal/node"
	"github.com/evictkit/evictkit/evictor/internal/permit"
)

// writing is a plan being written. Each of its steps needs permission and a node that still exists.
type writing struct {
	*Evictor
	ctx    context.Context //nolint:containedctx // a writing lives no longer than its call of write
	rec    *record
	object *v1.Node // as read, or read again after the conditions were written
	p      *node.Plan
}

// write carries out a plan: conditions, taints, pods not Ready, labels.
func (e *Evictor) write(ctx context.Context, rec *record, object *v1.Node, p *node.Plan) error {
	w := &writing{e, ctx, rec, object, p}
	if err := w.conditions(); err != nil {
		if errors.Is(err, errUnwanted) { // a heartbeat came meanwhile
			p.Again = true
			return nil
		}
		return err
	}
	if err := w.taints(); err != nil {
		return err
	}
	p.Told = true
	return errors.Join(w.marks(), w.labels())
}

// step makes one write, if it is permitted and still wanted, and reports it.
func (w *writing) step(name string, wanted func() bool, write func(client NodeWriter) error, done Decision) error {
	err := w.mayWrite()
	if err == nil {
		if gone := w.still(w.rec, wanted); gone != nil {
			return gone
		}
		err = write(w.clients.NodeWriter)
	}
	switch {
	case apierrors.IsNotFound(err):
		return errGone
	case err != nil:
		return &writeError{step: name, node: w.object.Name, err: err}
	case done.Kind == 0:
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tick()
	done.Node = w.object.Name
	w.decide(done)
	return nil
}

func always() bool { return true }

func (w *writing) conditions() error {
	if len(w.p.Conditions) == 0 {
		return nil
	}
	err := w.step("conditions", w.rec.Unwritten, func(client NodeWriter) error {
		return w.answered(client.UpdateConditions(w.ctx, w.object, w.p.Conditions))
	}, Decision{Kind: ConditionsWritten, Conditions: w.p.Conditions})
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rec.Told()
	if fresh := w.current(w.rec); fresh != nil {
		// With the resourceVersion of this write, if the store shows it already. If our taint is gone from it, the planned
		// swap would taint it anew, for which it needs a turn.
		w.object, w.p.Tainted = fresh, w.rec.Tainted
	}
	return nil
}

func (w *writing) taints() error {
	p := w.p
	if len(p.Change.Add) > 0 {
		refused := w.askHarm(w.rec.name) != nil
		if refused {
			w.rec.refused = permit.Harm
		}
		// NoSchedule taints alone follow the conditions and are corrected by the next write.
		wanted := func() bool { return !p.Harms() || w.about(w.rec).Taints(p.Tainted) }
		if refused || errors.Is(w.still(w.rec, wanted), errUnwanted) {
			p.Withhold()
		}
	}
	if p.Change.Empty() {
		return nil
	}
	err := w.step("taints", always, func(client NodeWriter) error {
		return w.answered(client.UpdateTaints(w.ctx, w.object, p.Change))
	}, Decision{Kind: TaintsWritten, Added: p.Change.Add, Removed: p.Change.Remove})
	p.Tainted = p.Tainted || err == nil && p.Harms()
	return err
}

func (w *writing) marks() error {
	if !w.p.Mark {
		return nil
	}
	return w.step("marking pods not Ready", always, func(NodeWriter) error { return w.markPods(w.ctx, w.rec, w.p) }, Decision{})
}

func (w *writing) labels() error {
	if len(w.p.Labels) == 0 || w.p.Again { // pods come first: labels are written when no marking is left
		return nil
	}
	return w.step("labels", always, func(client NodeWriter) error {
		return w.answered(client.UpdateLabels(w.ctx, w.object, w.p.Labels))
	}, Decision{Kind: LabelsWritten})
}

// errGone is the result of a write whose node no longer exists, errUnwanted that of one that is no longer wanted.
var (
	errGone     = errors.New("the node is gone")
	errUnwanted = errors.New("not wanted any more")
)

// still looks at the node again, because the writes before took time. It returns errGone if the node is not there any
// more, and errUnwanted if wanted, which is called with e.mu held, returns false.
func (e *Evictor) still(rec *record, wanted func() bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.records[rec.name] != rec { // it was deleted, or another node has its name
		return errGone
	}
	e.tick() // a heartbeat that this look finds counts from now
	switch _, s := e.look(rec.name); {
	case s == missing || s == another:
		return errGone
	case !wanted():
		return errUnwanted
	}
	return nil
}

// errClosed is wrapped by the error of a write that a closed permission stopped.
var errClosed = errors.New("not permitted")

// mayWrite is called before every single write.
func (e *Evictor) mayWrite() error {
	if err := e.askWrite(); err != nil {
		return fmt.Errorf("%w: %w", errClosed, err)
	}
	return nil
}
