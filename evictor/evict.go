package evictor

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor/internal/outage"
	"github.com/evictkit/evictkit/evictor/internal/permit"
	"github.com/evictkit/evictkit/evictor/internal/pods"
	"github.com/evictkit/evictkit/timedworker"
)

// evictPod is the work of Evictor.armed: an eviction is due. Everything is checked once more against the store and the verdict, then
// the call is made without any lock. What the API server refuses, or would, is tried again apart.
func (e *Evictor) evictPod(ctx context.Context, w podWork, apart bool) timedworker.Result {
	ev := w.Value
	harm := e.askHarm(ev.Pod().Node)
	write := e.askWrite()
	try, why := e.lastCheck(ev, apart, harm, write)
	e.deliver()
	switch try.Outcome {
	case pods.Proceed:
	case pods.Apart:
		return e.armed.putApart(w, e.clock.Now())
	case pods.Wait:
		return timedworker.Blocked(try.Wait)
	default:
		return timedworker.Drop()
	}
	err := e.evict(ctx, why.Pod, why)
	defer e.deliver()
	return e.evicted(w, apart, try, why, err)
}

// evicted takes over what came of a call, and says when there is to be another.
func (e *Evictor) evicted(w podWork, apart bool, try pods.Try, why Decision, err error) timedworker.Result {
	var wait, next time.Duration
	switch {
	case apierrors.IsTooManyRequests(err):
		if wait = retryAfter(err); wait == 0 {
			wait = e.waits.refused(try.Refused + 1)
		}
	case apierrors.IsConflict(err):
		wait = e.waits.conflicted(try.Conflicts + 1)
	case outage.Failing(err):
		next = e.waits.untilProbe()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	now, ev, rec := e.tick(), w.Value, e.records[why.Node]
	defer e.emptied(rec, now)
	if ev.Armed() && next > 0 {
		e.outage.Failed(task{pod: w.Key}, now, next)
	} else {
		e.outage.Ended(task{pod: w.Key}, now)
	}
	switch {
	case err == nil:
		e.decide(why)
		fallthrough
	case apierrors.IsNotFound(err):
		ev.Done()
		return timedworker.Done()
	case apierrors.IsTooManyRequests(err):
		e.refusedBy(why, err)
		e.pods.Refused(ev, try.Group, now.Add(wait), now)
		if apart {
			return timedworker.Blocked(wait)
		}
		return e.armed.putApart(w, e.read.Add(wait))
	}
	e.decide(Decision{Time: now, Kind: WriteFailed, Node: why.Node, Pod: why.Pod, Reason: "eviction", Err: fmt.Errorf("evicting pod %s: %w", w.Key, err)})
	if wait == 0 {
		ev.Failed()
		return timedworker.Retry()
	}
	ev.Conflicted()
	return timedworker.Blocked(wait)
}

// refusedBy tells that a disruption budget holds an eviction back, or an API server that has too much to do. It is tried again when
// that asks for or, where it does not say, after a time that grows up to Config.RetryMax.
func (e *engine) refusedBy(why Decision, err error) {
	why.Kind, why.Reason, why.Err = EvictionDelayed, "TooManyRequests", err
	if apierrors.HasStatusCause(err, "DisruptionBudget") { // policyv1.DisruptionBudgetCause
		why.Reason = "DisruptionBudget"
	}
	e.decide(why)
}

// evict makes the call for which e.pods.Begin was asked, with nothing locked, and notes what became of it.
func (e *Evictor) evict(ctx context.Context, ref PodRef, why Decision) error {
	done := false // nor will it be if the client ends the goroutine
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.pods.End(ref.ref(), done)
	}()
	e.mu.Lock()
	why = e.asShown(why)
	e.mu.Unlock()
	err := e.answered(e.opts.guarded(ref.PodKey, func() error { return e.clients.PodWriter.Evict(ctx, ref, why) }))
	done = err == nil || apierrors.IsNotFound(err)
	return err
}

// lastCheck reads pod and node again, and says what becomes of the eviction.
func (e *Evictor) lastCheck(ev *pods.Eviction, apart bool, harm, write error) (try pods.Try, why Decision) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.tick()
	ref := refOf(ev.Pod())
	defer func() {
		if try.Outcome != pods.Proceed {
			e.outage.Ended(task{pod: ref.PodKey}, now)
		}
	}()
	rec := e.records[ref.Node]
	if rec == nil {
		return try, why
	}
	pod, shown := e.readPod(ref.PodKey), e.current(rec) != nil
	try = e.pods.Check(ev, pod, shown, apart, e.oursOf(rec), e.permits(rec, harm, write, now), now)
	if try.Round { // the event, which is still to come, finds nothing new
		e.inbox.Node(rec.name)
	}
	if try.Outcome == pods.Wait {
		ev.Failed()
	}
	switch {
	case try.Outcome == pods.Gone:
		e.inbox.Pod(ref.PodKey)
	case try.Outcome == pods.Dropped && ev.Emptying():
	case try.Outcome == pods.Dropped:
		e.decide(Decision{Time: now, Kind: EvictionCancelled, Node: ref.Node, Pod: ref, Toleration: -1, Reason: try.Reason})
	case try.Why.Taint != nil:
		why = evictionDecision(PodEvicted, ref, try.Why, now)
		e.holdBack(rec, try, why, harm, write)
	}
	if try.Outcome != pods.Proceed { // last: a turn that ends here leaves nothing overdue
		e.emptied(rec, now)
	}
	return try, why
}

// permits is what holds evictions from the node back. The verdict counts, not the taint: for our own taints a
// kubelet that has just reported Ready, or a node that we have not watched for long enough ourselves, waits for the next pass.
func (e *engine) permits(rec *record, harm, write error, now time.Time) pods.Permits {
	p := pods.Permits{
		Harm: harm != nil, Write: write != nil, Policy: e.permitted.Policy(rec.zone) != nil, Ask: e.cfg.GateInterval,
		Turn: e.turns.IsOverdue(rec.name), Again: e.cfg.RetryMax, Soon: e.cfg.RetryInitial,
	}
	if (rec.Tainted || e.cfg.empties()) && (rec.Unclear(e.world(rec)) || !e.monitor.SettledAt(rec.name, e.read)) {
		p.Unsettled = e.untilPass(rec)
	}
	return p
}

// holdBack has an eviction that is due wait for what it needs, and tells once of each.
func (e *engine) holdBack(rec *record, try pods.Try, why Decision, harm, write error) {
	switch try.Delay {
	case pods.Overdue:
		// Evictions are permitted again; the zone's queue lets its nodes go one by one.
		e.turns.WaitToRelease(rec.name, string(rec.uid), rec.zone, e.read)
		e.inbox.Kick() // Run hands the turn out
	case pods.MayHarm:
		e.permitted.Wait(permit.Harm, rec.zone, rec.name)
		why.Err = harm
		if try.Own {
			e.turns.Overdue(rec.name)
		}
	case pods.MayWrite:
		e.permitted.Wait(permit.Write, rec.zone, rec.name)
		why.Err = write
	case pods.Policy:
		e.permitted.Wait(permit.Own, rec.zone, rec.name)
		why.Err = e.permitted.Policy(rec.zone)
		e.turns.Overdue(rec.name)
	}
	if try.News {
		why.Kind, why.Reason = EvictionDelayed, try.Delay.String()
		e.decide(why)
	}
}

// untilPass is how long it is until the next verdict about the node can fall, or in exact mode until it is settled.
func (e *engine) untilPass(rec *record) time.Duration {
	next, ok := e.monitor.NextAt(e.read)
	if at, settles := e.monitor.Settles(rec.name); settles && e.cfg.NodeMonitorPeriod == 0 && at.After(e.read) {
		next, ok = earlier(next, ok, at)
	}
	if ok && next.After(e.read) {
		return next.Sub(e.read)
	}
	if at, ok := e.waitsUntil(rec); ok && at.After(e.read) {
		return at.Sub(e.read)
	}
	return e.cfg.GateInterval
}
