//go:build !thin

package evictor

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor/internal/gate"
	"github.com/evictkit/evictkit/evictor/internal/node"
	"github.com/evictkit/evictkit/evictor/internal/turns"
)

// writing is one try to write a node: a plan, and what comes of it. Each of its steps needs permission and a node that
// still exists.
type writing struct {
	*Evictor
	ctx     context.Context //nolint:containedctx // a writing lives no longer than its call of perform
	task    task
	rec     *record
	object  *v1.Node // as read, or read again after the conditions were written
	p       node.Plan
	inTurn  *turns.Turn // the turn that it acts on, nil for none
	refused gate.Class  // what it lacked, 0 for nothing
	failed  string      // the first step that failed
}

// write carries out the plan: conditions, taints, pods not Ready, labels.
func (w *writing) write() error {
	err := w.conditions()
	if errors.Is(err, errUnwanted) { // a heartbeat came meanwhile
		w.p.Again = true
		return nil
	}
	if err == nil {
		err = w.taints()
	}
	if err != nil {
		return err
	}
	w.p.Told = true
	return errors.Join(w.marks(), w.labels())
}

// step makes one write, if it is permitted and still wanted, and reports it. A nil wanted means always.
func (w *writing) step(name string, wanted func() bool, write func(client NodeWriter) error, done Decision) error {
	err := errClosed
	if w.askWrite() == nil {
		if gone := w.still(w.rec, wanted); gone != nil {
			return gone
		}
		err = write(w.clients.NodeWriter)
	}
	switch {
	case apierrors.IsNotFound(err):
		return errGone
	case err != nil:
		w.failed = cmp.Or(w.failed, name)
		return fmt.Errorf("%s of node %s: %w", name, w.object.Name, err)
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

// taints writes the change or, if it must do no harm now, what is left of it without that.
func (w *writing) taints() error {
	p := &w.p
	if len(p.Change.Add) > 0 && w.askHarm(w.rec.name) != nil {
		w.refused = gate.Harm
		p.Withhold()
	}
	if p.Change.Empty() {
		return nil
	}
	err := w.step("taints", w.mayTaint, func(client NodeWriter) error {
		return w.answered(client.UpdateTaints(w.ctx, w.object, p.Change))
	}, Decision{Kind: TaintsWritten, Added: p.Change.Add, Removed: p.Change.Remove})
	if errors.Is(err, errUnwanted) {
		p.Withhold()
		return w.taints() // only lifting is left
	}
	p.Tainted = p.Tainted || err == nil && p.Harms()
	return err
}

// mayTaint is the last look at a change, with the lock held: the program was asked about it before, with nothing locked.
func (w *writing) mayTaint() bool {
	p := &w.p
	if len(p.Change.Add) > 0 && w.may(gate.Harm, w.rec) != nil {
		w.refused = gate.Harm
		return false
	}
	// NoSchedule taints alone follow the conditions and are corrected by the next write.
	return !p.Harms() || w.about(w.rec).Taints(p.Tainted)
}

func (w *writing) marks() error {
	if !w.p.Mark {
		return nil
	}
	return w.step("marking pods not Ready", nil, func(NodeWriter) error { return w.markPods() }, Decision{})
}

func (w *writing) labels() error {
	if len(w.p.Labels) == 0 || w.p.Again { // pods come first: labels are written when no marking is left
		return nil
	}
	return w.step("labels", nil, func(client NodeWriter) error {
		return w.answered(client.UpdateLabels(w.ctx, w.object, w.p.Labels))
	}, Decision{Kind: LabelsWritten})
}

// The results of a write whose node no longer exists, of one that is no longer wanted, and of one that is not permitted.
var (
	errGone     = errors.New("the node is gone")
	errUnwanted = errors.New("not wanted any more")
	errClosed   = errors.New("not permitted")
)
