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
	"github.com/evictkit/evictkit/zone"
)

type nodeWork = timedworker.Work[string, struct{}]

// The results of a write whose node no longer exists, and of one that is not permitted.
var (
	errGone   = errors.New("the node is gone")
	errClosed = errors.New("not permitted")
)

// writing is one try to write a node.
type writing struct {
	*Controller
	ctx     context.Context //nolint:containedctx // a writing lives no longer than its call of write
	n       *node
	lift    bool
	in      *turn              // the turn that it acts on, nil for none: of when it began, or in which our NoExecute taint was sent
	written []v1.NodeCondition // and to which version; while the store shows that, they count
	version string
	taint   environment.Outcome // of the write of our NoExecute taint
	sentTo  string              // the version of the object to which that was sent
	failed  string              // the step that did, empty for none

	// as of the last look
	plan
	object *v1.Node
	domain zone.Key
	turn   *turn
}

// write is the work of writes and lifts. It reads the node, compares it with the verdict, and writes what differs. Writes
// of one node never overlap.
func (c *Controller) write(ctx context.Context, name string, lift bool) (result timedworker.Result) {
	w := &writing{Controller: c, ctx: ctx, lift: lift}
	result, some := w.prepare(name)
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

func (w *writing) prepare(name string) (result timedworker.Result, some bool) {
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
	if !w.lift {
		w.in = w.n.turn
	}
	if w.draw(); w.nothing() {
		return w.ended(nil), false
	}
	w.n.busy = true
	return result, true
}

// draw plans with what is known now.
func (w *writing) draw() {
	if w.object.ResourceVersion != w.version || w.n.heard {
		w.written = nil
	}
	w.plan, w.domain, w.turn = w.planWrites(w.n, w.object, w.written, w.lift), w.n.domain, w.n.turn
}

// look plans again with what the store shows now. It is the last look before a write: what was answered before it may have
// taken time.
func (w *writing) look() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.nodes[w.n.name] != w.n {
		return errGone
	}
	object, gone := w.Controller.look(w.n.name)
	switch {
	case gone:
		return errGone
	case w.around.Permits.Last(gate.Write, zone.Key{}) != nil:
		return errClosed
	case object != nil && object.UID == w.n.uid:
		w.object = object
	}
	w.draw()
	return nil
}

func (w *writing) carryOut() error {
	conditions := func() bool { return len(w.conditions) > 0 }
	if err := w.step("conditions", conditions, func() (Decision, error) {
		done := Decision{Kind: ConditionsWritten, Conditions: w.conditions}
		return done, w.clients.NodeWriter.UpdateConditions(w.ctx, w.object, w.conditions)
	}); err != nil {
		return err
	}
	if err := w.step("taints", func() bool { return !w.change.Empty() }, func() (Decision, error) {
		done := Decision{Kind: TaintsWritten, Added: w.change.Add, Removed: w.change.Remove}
		if !w.harms() {
			return done, w.clients.NodeWriter.UpdateTaints(w.ctx, w.object, w.change)
		}
		w.in, w.taint, w.sentTo = w.turn, environment.Unknown, w.object.ResourceVersion // and stays so if the client panics
		err := w.clients.NodeWriter.UpdateTaints(w.ctx, w.object, w.change)
		w.taint = environment.OutcomeOf(err)
		return done, err
	}); err != nil {
		return err
	}
	return w.step("labels", func() bool { return len(w.labels) > 0 }, func() (Decision, error) {
		return Decision{Kind: LabelsWritten}, w.clients.NodeWriter.UpdateLabels(w.ctx, w.object, w.labels)
	})
}

// step makes one write, if it is permitted and wanted then, and reports it.
func (w *writing) step(name string, wanted func() bool, write func() (Decision, error)) error {
	if !wanted() {
		return nil
	}
	harms, domain := name == "taints" && w.harms(), w.domain
	asks := []gate.Act{{Do: gate.Write}}
	if harms { // twice, because the answer about the write may take time; what is refused is withheld by look
		harm := gate.Act{Do: gate.Harm, Domain: domain}
		asks = []gate.Act{harm, asks[0], harm}
	}
	for _, act := range asks {
		if w.around.Permits.May(w.ctx, act) != nil && act.Do == gate.Write {
			return errClosed
		}
	}
	if err := w.look(); err != nil {
		return err
	}
	if name == "taints" && (!harms || w.domain != domain) {
		w.withhold() // nobody was asked about it
	}
	if !wanted() {
		return nil
	}
	w.failed = name // and so it has if the client panics
	done, err := write()
	if apierrors.IsNotFound(err) {
		w.failed, err = "", errGone
	}
	if err != nil {
		return fmt.Errorf("%s of node %s: %w", name, w.object.Name, err)
	}
	w.failed = ""
	w.mu.Lock()
	defer w.mu.Unlock()
	done.Node = w.object.Name
	w.decide(done)
	if name == "conditions" {
		w.n.status, w.written, w.version = upToDate, w.conditions, w.object.ResourceVersion
		w.n.wroteTo = w.version
		if w.nodes[w.n.name] == w.n { // else it was deleted meanwhile
			w.attention[w.n.name] = w.n
			w.around.Inbox.Kick()
		}
		w.object = cmp.Or(w.current(w.n), w.object)
	}
	w.draw()
	return nil
}

// wrote records the result of a write and says when the next one is to be.
func (w *writing) wrote(err error) timedworker.Result {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n.busy = false
	return w.ended(err)
}

func (w *writing) ended(err error) timedworker.Result {
	n := w.n
	gone := errors.Is(err, errGone)
	if gone { // the store will show it
		err = nil
	}
	closed, conflict := errors.Is(err, errClosed), apierrors.IsConflict(err)
	if n.failures++; err == nil || closed {
		n.failures = 0
	}
	if err != nil && !closed {
		w.decide(Decision{Kind: WriteFailed, Node: n.name, Reason: cmp.Or(w.failed, "write"), Err: err})
	}
	soon := w.backoff()
	soon.Max = min(soon.Max, 2*time.Second)
	again := max(1, soon.Delay(max(1, n.failures), nil)) // a conflict is soon over: the object read was old
	if w.failed == "conditions" && !conflict && n.status != upToDate {
		n.status = failing
		w.noteEmptied(n)
	}
	w.wroteInTurn(gone, again)
	switch {
	case gone:
		return timedworker.Blocked(max(w.cfg.GateInterval, w.cfg.NodeMonitorPeriod))
	case err == nil && !w.held:
		return timedworker.Forget()
	case err == nil || closed:
		return timedworker.Blocked(w.cfg.GateInterval)
	case conflict:
		return timedworker.Blocked(again)
	}
	return timedworker.Retry(err)
}

// wroteInTurn ends the turn of a node that is tainted. Its outcome is that of the taint, whatever became of other writes. If
// none was sent, or a Conflict says that none was written, the token is for another node, and this one asks the Gate again
// after a while. Any other failure costs the token, too, so that an outage of the API saves none up.
func (w *writing) wroteInTurn(gone bool, after time.Duration) {
	n := w.n
	if w.in == nil || n.turn != w.in || !w.cfg.TaintBasedEviction {
		return // none, or one granted during the write, which sent no taint in it
	}
	if w.taint == environment.Done && !n.tainted || w.taint == environment.Unknown {
		n.unshown = w.unshownSince(w.taint == environment.Done, w.sentTo)
	}
	switch {
	case w.carries(n):
		w.endTurn(n, done, over)
	case gone, !w.standing(n).wanted():
		w.endTurn(n, dropped, over)
	case w.taint == environment.NotSent || w.taint == environment.Conflict:
		w.endTurnUnused(n, after)
	default:
		w.endTurn(n, spent, after)
	}
}
