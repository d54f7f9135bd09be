//go:build !thin

package evictor

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor/internal/gate"
	"github.com/evictkit/evictkit/evictor/internal/outage"
	"github.com/evictkit/evictkit/evictor/internal/pods"
	"github.com/evictkit/evictkit/timedworker"
	"github.com/evictkit/evictkit/zone"
)

type podWork = timedworker.Work[PodKey, *pods.Eviction]

func slotOf(ev *pods.Eviction) (slot PodKey, uid string) {
	return PodKey(ev.Pod().Key), string(ev.Pod().UID)
}

// evictPod is the work of Evictor.armed, called when an eviction is due. It checks everything once more against the
// store and the verdict, then calls the API without any lock held. If the program is asked before (Options.MayEvict),
// that may take time, so everything is checked again. What the API server or the program refuses, or would refuse, moves
// to the set of refused evictions (apart).
func (e *Evictor) evictPod(ctx context.Context, w podWork, apart bool) (result timedworker.Result) {
	try, why := e.permitEviction(ctx, w.Value, apart)
	e.deliver()
	switch try.Outcome {
	case pods.Proceed:
	case pods.Apart:
		return e.armed.PutApart(w, e.opts.Clock.Now().Add(try.Wait))
	case pods.Wait:
		return timedworker.Blocked(try.Wait)
	default:
		return timedworker.Forget()
	}
	err := errEnded // and stays so if the client ends the goroutine
	defer func() { result = e.told(task{pod: w.Key}, e.evicted(w, apart, try, why, err)) }()
	what := why
	if first, some := try.First(); some {
		what = along(why, refOf(first))
	}
	err = e.answered(e.opts.guarded(w.Key, func() error { return e.clients.PodWriter.Evict(ctx, what.Pod, what) }))
	return result
}

// permitEviction asks every permission, the program's for this eviction last, and says what becomes of the eviction. Called
// without e.mu.
func (e *Evictor) permitEviction(ctx context.Context, ev *pods.Eviction, apart bool) (pods.Try, Decision) {
	var with []PodRef
	for unasked := e.opts.MayEvict != nil || e.opts.Together != nil; ; unasked = false {
		// Turns are paused, and a refusal expires, from now and not from when Run last woke.
		_, _ = e.askHarm(ev.Pod().Node), e.askWrite()
		try, why, pod := e.lastCheck(ev, apart, unasked, with)
		if try.Outcome != pods.Ask {
			return try, why
		}
		no := e.consent(ctx, pod, why)
		if no == nil {
			with, no = e.company(ctx, pod, why)
		}
		if no != nil {
			e.withhold(ev, try, no)
		}
	}
}

// withhold records a refusal, so that the next check finds it.
func (e *Evictor) withhold(ev *pods.Eviction, try pods.Try, no *refusal) {
	wait := e.waits.Refused(try.Refusals + 1)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tick()
	switch named := no.again.Sub(e.read); {
	case try.Kicks != e.pods.Kicks: // the answer may be older than what Kick was called for
		wait = e.cfg.RetryInitial
	case named > 0:
		wait = max(named, e.cfg.RetryInitial)
	}
	e.pods.Withhold(ev, no.by, no.err, no.text, e.now.Add(wait))
}

// evicted records the result of a call and says when to try again, if at all.
func (e *Evictor) evicted(w podWork, apart bool, try pods.Try, why Decision, err error) timedworker.Result {
	var wait, next time.Duration
	seconds, _ := apierrors.SuggestsClientDelay(err)
	asked := time.Duration(seconds) * time.Second
	switch {
	case apierrors.IsTooManyRequests(err):
		if wait = asked; wait == 0 {
			wait = e.waits.Refused(try.Refused + 1)
		}
	case apierrors.IsConflict(err):
		wait = e.waits.Conflicted(try.Conflicts + 1)
	case outage.Failing(err):
		next = e.waits.UntilProbe()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tick()
	ev, rec, done := w.Value, e.records[why.Node], err == nil || apierrors.IsNotFound(err)
	first, before := try.First()
	what := why
	if before {
		what = along(why, refOf(first))
	}
	e.pods.End(what.Pod.ref(), done)
	defer e.emptied(rec)
	defer e.carryOut()
	if before && !done {
		e.pods.FirstStays(ev)
	}
	if !ev.Armed() {
		next = 0
	}
	e.tried(task{pod: w.Key}, next)
	if err == nil {
		e.decide(what)
		e.podLeft(rec, ev, try)
	}
	switch {
	case done && before:
		e.pods.FirstGone(ev, e.now)
		return timedworker.Blocked(e.cfg.RetryMax) // or until the others are gone
	case done:
		e.pods.Done(ev)
		return timedworker.Forget()
	case apierrors.IsTooManyRequests(err):
		e.refusedBy(what, err)
		e.pods.Refused(ev, try.Group, e.now.Add(wait), asked > 0, e.now)
		if apart {
			return timedworker.Blocked(wait)
		}
		return e.armed.PutApart(w, e.read.Add(wait))
	}
	e.decide(Decision{Kind: WriteFailed, Node: what.Node, Pod: what.Pod, Reason: "eviction", Err: fmt.Errorf("evicting pod %s: %w", what.Pod.PodKey, err)})
	if wait == 0 {
		ev.Failed()
		return timedworker.Retry(nil)
	}
	ev.Conflicted()
	return timedworker.Blocked(wait)
}

// podLeft notes that a pod has left the node of that record, if that is known.
func (e *engine) podLeft(rec *record, ev *pods.Eviction, try pods.Try) {
	if rec == nil {
		return
	}
	if try.Own && !try.Goes {
		e.allowance.PodLeft(&rec.allowance, e.now)
	}
	if ev.Emptying() && ev.Armed() {
		rec.PodLeft()
		e.noteActed(rec) // from its first eviction on, even if no other follows
	}
}

// refusedBy reports that a disruption budget or an overloaded API server holds an eviction back.
func (e *engine) refusedBy(why Decision, err error) {
	why.Kind, why.Reason, why.Err = EvictionDelayed, "TooManyRequests", err
	if apierrors.HasStatusCause(err, "DisruptionBudget") { // policyv1.DisruptionBudgetCause
		why.Reason = "DisruptionBudget"
	}
	e.decide(why)
}

// lastCheck reads the pod and the node again and says what becomes of the eviction. unasked says that the program has yet to
// permit it, and with which pods go with it. If the outcome is Proceed, evicted must follow.
func (e *Evictor) lastCheck(ev *pods.Eviction, apart, unasked bool, with []PodRef) (try pods.Try, why Decision, pod *v1.Pod) {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer e.carryOut()
	e.tick()
	ref := refOf(ev.Pod())
	defer func() {
		if try.Outcome != pods.Proceed && try.Outcome != pods.Ask {
			e.tried(task{pod: ref.PodKey}, 0)
		}
	}()
	rec := e.records[ref.Node]
	if rec == nil {
		return try, why, nil
	}
	pod = e.readPod(ref.PodKey)
	shown, permits := e.current(rec) != nil, e.permits(rec)
	permits.Unasked = unasked
	members, no := e.members(with)
	if no != nil {
		e.pods.Withhold(ev, pods.Together, no, no.Error(), e.now.Add(e.cfg.GateInterval))
	}
	permits.With = members
	try = e.pods.Check(ev, pod, shown, apart, e.oursOf(rec, e.about(rec)), permits, e.now)
	if try.Round { // decide about the node's other pods too: its own event may find nothing new
		e.inbox.Node(rec.name)
	}
	if try.Outcome == pods.Wait {
		ev.Failed()
	}
	switch {
	case try.Outcome == pods.Gone:
		e.inbox.Pod(ref.PodKey)
	case try.Outcome == pods.Dropped && (ev.Emptying() || try.Goes):
	case try.Outcome == pods.Dropped:
		e.decide(Decision{Kind: EvictionCancelled, Node: ref.Node, Pod: ref, Toleration: -1, Reason: try.Reason})
	case try.Why.Taint != nil:
		why = e.evictionDecision(PodEvicted, ref, try.Why, e.now)
		if try.Goes {
			why.With = refOf(try.GoesWith)
		}
		e.holdBack(rec, try, why)
	}
	if try.Outcome != pods.Proceed { // after holdBack, so that a turn that ends here leaves nothing overdue
		e.emptied(rec)
	}
	return try, why, pod
}

// permits says what holds back evictions from the node. For our own taints the verdict counts, not the taint: if the
// kubelet has just reported Ready, or we have not watched the node for long enough, they wait for the next pass.
func (e *engine) permits(rec *record) pods.Permits {
	p := pods.Permits{
		NoHarm: e.may(gate.Harm, rec) != nil, NoWrite: e.may(gate.Write, rec) != nil,
		Waits: e.gates.Pending(rec.domain, rec.name) != zone.GoOn, Ask: e.cfg.GateInterval,
		Turn: e.turns.IsOverdue(rec.name), Again: e.cfg.RetryMax, Soon: e.cfg.RetryInitial,
	}
	if (rec.Tainted || e.cfg.empties()) && (e.about(rec).Unclear() || !e.monitor.SettledAt(rec.name, e.read)) {
		p.Unsettled = e.untilPass(rec)
	}
	return p
}

// closes is the class of the gate that causes a delay.
var closes = map[pods.Delay]gate.Class{pods.MayHarm: gate.Harm, pods.MayWrite: gate.Write, pods.Policy: gate.Own}

// holdBack makes a due eviction wait for what it lacks, and reports each such cause once.
func (e *engine) holdBack(rec *record, try pods.Try, why Decision) {
	if try.Delay == pods.Overdue {
		// Evictions are permitted again; the zone's queue releases its nodes one by one.
		e.turns.WaitToRelease(rec.name, string(rec.uid), rec.domain, e.read)
		e.inbox.Kick() // Run hands the turn out
	}
	why.Err = try.Err
	if class, closed := closes[try.Delay]; closed {
		why.Err = e.may(class, rec)
		e.gates.Wait(class, rec.domain, rec.name)
		if try.Own { // the pace must hold after a change of leader too
			e.turns.Overdue(rec.name)
		}
	}
	if try.News {
		why.Kind, why.Reason = EvictionDelayed, try.Delay.String()
		e.decide(why)
	}
}

// untilPass is the time until the next possible verdict about the node or, in exact mode, until we have watched it for
// long enough.
func (e *engine) untilPass(rec *record) time.Duration {
	var soon soonest
	soon.or(e.monitor.NextAt(e.read))
	at, settles := e.monitor.Settles(rec.name)
	soon.or(at, settles && e.cfg.NodeMonitorPeriod == 0 && at.After(e.read))
	if !soon.After(e.read) {
		soon = soonest{}
		soon.or(e.waitsUntil(rec))
	}
	if !soon.After(e.read) {
		return e.cfg.GateInterval
	}
	return soon.Sub(e.read)
}
