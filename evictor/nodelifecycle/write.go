package nodelifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/internal/environment"
	"github.com/evictkit/evictkit/timedworker"
)

type nodeWork = timedworker.Work[string, struct{}]

// The results of a write whose node no longer exists, of one that is no longer wanted, and of one that is not permitted.
var (
	errGone     = errors.New("the node is gone")
	errUnwanted = errors.New("not wanted any more")
	errClosed   = errors.New("not permitted")
)

// writing is one try to write a node.
type writing struct {
	*Controller
	ctx    context.Context //nolint:containedctx // a writing lives no longer than its call of write
	n      *node
	object *v1.Node
	plan
	in      *turn // the turn that it acts on, nil for none
	tainted bool  // the node has our taint now
	again   bool
	failed  string // the step that did, empty for none
}

// write is the work of writes and lifts. It reads the node, compares it with the verdict once more, and writes what
// differs. Writes of one node never overlap.
func (c *Controller) write(ctx context.Context, name string, lift bool) (result timedworker.Result) {
	w := &writing{Controller: c, ctx: ctx}
	result, some := w.prepare(name, lift)
	if !some {
		return result
	}
	err := environment.ErrEnded // and stays so if the client ends the goroutine
	defer func() {
		result = w.wrote(err)
		c.around.Out.Deliver()
	}()
	err = c.around.Guard(name, w.carryOut)
	return result
}

func (w *writing) prepare(name string, lift bool) (result timedworker.Result, some bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n = w.nodes[name]
	switch {
	case w.n == nil:
		return timedworker.Forget(), false
	case w.n.busy:
		return timedworker.Blocked(w.cfg.RetryInitial), false
	}
	if w.object = w.current(w.n); w.object == nil {
		return timedworker.Blocked(w.cfg.GateInterval), false
	}
	w.plan = w.planWrites(w.n, w.object).part(lift)
	w.tainted = w.n.tainted
	if !lift {
		w.in = w.n.turn
	}
	if w.nothing() {
		w.n.conflicts = 0
		w.wroteInTurn(w.n, w.in, w.tainted, nil)
		if w.held {
			return timedworker.Blocked(w.cfg.GateInterval), false
		}
		return timedworker.Forget(), false
	}
	w.n.busy = true
	return result, true
}

// carryOut writes conditions, taints, labels.
func (w *writing) carryOut() error {
	err := w.writeConditions()
	if errors.Is(err, errUnwanted) { // a heartbeat came meanwhile
		w.again = true
		return nil
	}
	if err == nil {
		err = w.writeTaints()
	}
	if err != nil || len(w.plan.labels) == 0 {
		return err
	}
	return w.step("labels", nil, func() error { return w.clients.NodeWriter.UpdateLabels(w.ctx, w.object, w.plan.labels) }, Decision{Kind: LabelsWritten})
}

// step makes one write, if it is permitted and still wanted, and reports it. A nil wanted means always.
func (w *writing) step(name string, wanted func() bool, write func() error, done Decision) error {
	if w.around.Permits.May(w.ctx, gate.Act{Do: gate.Write}) != nil {
		return errClosed
	}
	if name == "taints" && len(w.plan.change.Add) > 0 && w.around.Permits.May(w.ctx, gate.Act{Do: gate.Harm, Domain: w.n.domain}) != nil {
		return errUnwanted
	}
	if err := w.still(w.n, wanted); err != nil {
		return err
	}
	err := write()
	switch {
	case apierrors.IsNotFound(err):
		return errGone
	case err != nil:
		w.failed = name
		return fmt.Errorf("%s of node %s: %w", name, w.object.Name, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	done.Node = w.object.Name
	w.decide(done)
	return nil
}

// still looks at the node again, because what came before took time.
func (c *Controller) still(n *node, wanted func() bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.nodes[n.name] != n {
		return errGone
	}
	switch _, gone := c.look(n.name); {
	case gone:
		return errGone
	case wanted != nil && !wanted():
		return errUnwanted
	}
	return nil
}

func (w *writing) writeConditions() error {
	if len(w.plan.conditions) == 0 {
		return nil
	}
	err := w.step("conditions", func() bool { return w.n.unwritten && w.n.unread == nil }, func() error {
		return w.clients.NodeWriter.UpdateConditions(w.ctx, w.object, w.plan.conditions)
	}, Decision{Kind: ConditionsWritten, Conditions: w.plan.conditions})
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n.unwritten = false
	if fresh := w.current(w.n); fresh != nil {
		w.object, w.tainted = fresh, w.n.tainted
	}
	return nil
}

// writeTaints writes the change or, if it must do no harm now, what is left of it without that.
func (w *writing) writeTaints() error {
	// step asks about harm again, after it has asked about the write: each answer may take time
	if len(w.plan.change.Add) > 0 && w.around.Permits.May(w.ctx, gate.Act{Do: gate.Harm, Domain: w.n.domain}) != nil {
		w.withhold()
	}
	if w.plan.change.Empty() {
		return nil
	}
	err := w.step("taints", w.mayTaint, func() error {
		return w.clients.NodeWriter.UpdateTaints(w.ctx, w.object, w.plan.change)
	}, Decision{Kind: TaintsWritten, Added: w.plan.change.Add, Removed: w.plan.change.Remove})
	if errors.Is(err, errUnwanted) {
		w.withhold()
		return w.writeTaints()
	}
	w.tainted = w.tainted || err == nil && w.harms()
	return err
}

// mayTaint is the last look at a change, with the lock held.
func (w *writing) mayTaint() bool {
	if len(w.plan.change.Add) > 0 && w.around.Permits.Last(gate.Harm, w.n.domain) != nil {
		return false
	}
	taint, _ := w.execute(w.n, w.tainted)
	return !w.harms() || w.adds(taint.Key) && !w.n.reported()
}

// wrote records the result of a write and says when the next one is to be.
func (w *writing) wrote(err error) timedworker.Result {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.n
	n.busy = false
	if errors.Is(err, errGone) { // there is nothing left to write
		err, w.tainted, n.unwritten = nil, w.tainted || w.harms(), false
	}
	closed, conflict := errors.Is(err, errClosed), apierrors.IsConflict(err)
	if n.conflicts++; !conflict {
		n.conflicts = 0
	}
	if err != nil && !closed {
		w.decide(Decision{Kind: WriteFailed, Node: n.name, Reason: cmp.Or(w.failed, "write"), Err: err})
	}
	w.wroteInTurn(n, w.in, w.tainted, err)
	switch {
	case err == nil && w.again:
		return timedworker.Blocked(0)
	case err == nil && !w.held:
		return timedworker.Forget()
	case err == nil || closed:
		return timedworker.Blocked(w.cfg.GateInterval)
	case conflict: // the object read was old, which is soon over
		backoff := w.backoff()
		backoff.Max = min(backoff.Max, 2*time.Second)
		return timedworker.Blocked(max(1, backoff.Delay(n.conflicts, nil)))
	}
	return timedworker.Retry(err)
}

// maxConflicts is how often a write may meet a conflict before the node loses its turn.
const maxConflicts = 5

// wroteInTurn ends the turn that a write acted on. Except for a conflict, each failed try costs the turn, so that an outage
// of the API saves no turns up.
func (c *Controller) wroteInTurn(n *node, in *turn, tainted bool, err error) {
	if in == nil || n.turn != in || !c.cfg.TaintBasedEviction {
		return // none, or one granted during the write
	}
	switch {
	case !tainted && 0 < n.conflicts && n.conflicts <= maxConflicts:
		return
	case tainted:
		n.unseen = c.mu.Now.Add(c.cfg.NodeMonitorGracePeriod)
		c.endTurn(n, done)
	case err == nil && !c.standing(n).wanted():
		c.endTurn(n, dropped)
	case environment.Unknown(err) && !errors.Is(err, errClosed):
		c.endTurn(n, again)
	default:
		c.endTurn(n, spent)
	}
	n.conflicts = 0
}
