package evictor

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor/internal/node"
	"github.com/evictkit/evictkit/evictor/internal/outage"
	"github.com/evictkit/evictkit/evictor/internal/permit"
	"github.com/evictkit/evictkit/evictor/internal/pods"
	"github.com/evictkit/evictkit/timedworker"
)

// checkResult is the outcome of the last check before an eviction.
type checkResult struct {
	answer             timedworker.Answer
	ref                PodRef
	why                Decision
	refused, conflicts int        // how often in a row, so far
	group              pods.Group // with whom it may be refused
	apart              bool       // it is to wait with those that were refused
}

// evictPod is the work of Evictor.pods: an armed eviction is due. Everything is checked once more
// against the store and the verdict, then the call is made without any lock.
func (e *Evictor) evictPod(ctx context.Context, w podWork, apart bool) (r timedworker.Result, wait time.Duration, refused bool) {
	harm := e.askHarm(w.Value.node)
	write := e.askWrite()
	check := e.lastCheck(w, apart, harm, write)
	e.deliver()
	if check.apart || !check.answer.Proceeds() {
		return check.answer.Result(), 0, check.apart
	}
	err := e.evict(ctx, check.ref, check.why)
	defer e.deliver()
	var next time.Duration
	switch {
	case apierrors.IsTooManyRequests(err):
		wait = e.refusedBy(check.why, err, check.refused+1)
	case apierrors.IsConflict(err):
		wait = e.conflictWait(check.conflicts + 1)
	case outage.Failing(err):
		next = e.untilProbe()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	tp := e.tracked[w.Key]
	mine := tp != nil && string(tp.uid) == w.Identity
	if mine && next > 0 {
		e.outage.Failed(task{pod: w.Key}, e.tick(), next)
	} else {
		e.outage.Ended(task{pod: w.Key}, e.tick())
	}
	switch {
	case err == nil, apierrors.IsNotFound(err):
		if mine {
			tp.armed = false
		}
		if err == nil {
			e.decide(check.why)
		}
		return timedworker.Done(), 0, false
	case apierrors.IsTooManyRequests(err):
		if mine {
			tp.refused = check.refused + 1
		}
		e.refusing.Add(check.group, e.tick().Add(wait), e.now)
		return timedworker.Done(), wait, true
	default:
		e.decide(Decision{Time: e.tick(), Kind: WriteFailed, Node: check.ref.Node, Pod: check.ref, Reason: "eviction", Err: fmt.Errorf("evicting pod %s: %w", w.Key, err)})
		if wait == 0 {
			return timedworker.Retry(), 0, false
		}
		if mine {
			tp.conflicts = check.conflicts + 1
		}
		return timedworker.Blocked(wait), 0, false
	}
}

// evict makes the call for which e.evicted.Begin was asked, with nothing locked, and notes what became of it.
func (e *Evictor) evict(ctx context.Context, ref PodRef, why Decision) error {
	done := false // nor will it be if the client ends the goroutine
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.evicted.End(ref.PodKey, ref.UID, ref.Node, done)
	}()
	err := e.answered(e.guarded(ref.PodKey, func() error { return e.clients.PodWriter.Evict(ctx, ref, why) }))
	done = err == nil
	return err
}

// lastCheck reads pod and node again.
func (e *Evictor) lastCheck(w podWork, apart bool, harm, write error) (result checkResult) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.tick()
	defer func() {
		if !result.answer.Proceeds() {
			e.outage.Ended(task{pod: w.Key}, now)
		}
	}()
	gone := checkResult{answer: timedworker.Cancel("Gone")}
	tp := e.tracked[w.Key]
	if tp == nil || string(tp.uid) != w.Identity {
		return gone
	}
	rec := tp.rec
	pod, ok := e.clients.Pods.Pod(w.Key)
	notShown := func() checkResult {
		tp.delayed = pods.NotShown
		rec.rearm = true // to look at it again at the node's next event
		return checkResult{answer: timedworker.Delay(e.cfg.GateInterval, tp.delayed.String())}
	}
	if ok && tp.knowsNewer(pod) {
		return notShown()
	}
	if !ok || pod.UID != tp.uid || pod.Spec.NodeName != rec.name || pod.DeletionTimestamp != nil || e.wasEvicted(pod) {
		tp.armed = false
		e.PodChanged(w.Key)
		return gone
	}
	dropped := func(reason string) checkResult {
		tp.armed = false
		e.decide(Decision{Time: now, Kind: EvictionCancelled, Node: rec.name, Pod: refOf(pod), Toleration: -1, Reason: reason})
		return checkResult{answer: timedworker.Cancel(reason)}
	}
	if why := spared(pod); why != "" {
		return dropped(why)
	}
	if e.current(rec) == nil {
		return notShown()
	}
	wanted := e.about(rec).Standing().Wanted()
	if rec.rearm || wanted != rec.eligible {
		// The event, which is still to come, finds nothing new; the other pods have to be decided upon too.
		rec.rearm = true
		e.NodeChanged(rec.name)
	}
	a := rec.taints.Check(e.matcher, tp.asked(pod), e.own, wanted, e.permits(rec, harm, write, now), now)
	if a.Why.Forever {
		return dropped(e.unarmedReason(rec, w.Value))
	}
	if a.Delay == pods.NotDue {
		tp.due = a.Why.At
		return checkResult{answer: timedworker.Delay(a.Wait, a.Delay.String())}
	}
	decision := e.evictionDecision(PodEvicted, refOf(pod), e.evictionOf(rec, a.Why), a.Why.At, now)
	if !a.Evict {
		e.holdBack(tp, a, decision, harm, write)
		return checkResult{answer: timedworker.Delay(a.Wait, a.Delay.String())}
	}
	group := pods.GroupOf(pod)
	if !apart && e.refusing.Has(group, now) {
		return checkResult{answer: timedworker.Cancel("Refusing"), apart: true}
	}
	if !e.evicted.Begin(w.Key) { // its node is being emptied
		return checkResult{answer: timedworker.Delay(e.cfg.RetryInitial, "Evicting")}
	}
	tp.delayed = 0
	return checkResult{ref: refOf(pod), why: decision, refused: tp.refused, conflicts: tp.conflicts, group: group}
}

// permits is what holds evictions from the node back; e.mu is held. The verdict counts, not the taint: for our own taints a
// kubelet that has just reported Ready, or a node that we have not watched for long enough ourselves, waits for the next pass.
func (e *Evictor) permits(rec *record, harm, write error, now time.Time) pods.Permits {
	p := pods.Permits{Harm: harm != nil, Write: write != nil, Policy: e.permitted.Policy(rec.zone) != nil, Ask: e.cfg.GateInterval, Turn: e.turns.IsOverdue(rec.name), Again: e.cfg.RetryMax}
	if rec.Tainted && (e.about(rec).Standing() == node.Reported || !e.monitor.SettledAt(rec.name, e.read)) {
		p.Unsettled = e.untilPass(rec, now)
	}
	return p
}

// holdBack notes, and tells once of each reason, that an eviction that is due waits; e.mu is held.
func (e *Evictor) holdBack(tp *trackedPod, a pods.Answer, why Decision, harm, write error) {
	was := tp.delayed
	tp.delayed = a.Delay
	why.Kind, why.Reason = EvictionDelayed, a.Delay.String()
	switch rec := tp.rec; a.Delay {
	case pods.Overdue:
		// Evictions are permitted again; the zone's queue lets its nodes go one by one.
		e.turns.WaitToRelease(rec.name, string(rec.uid), rec.zone, e.read)
		e.inbox.kick() // Run hands the turn out
		return
	case pods.MayHarm:
		e.permitted.Wait(permit.Harm, rec.zone, rec.name, permit.Evictions)
		why.Err = harm
		if a.Own {
			e.turns.Overdue(rec.name)
		}
	case pods.MayWrite:
		e.permitted.Wait(permit.Write, rec.zone, rec.name, permit.Evictions)
		why.Err = write
	case pods.Policy:
		e.permitted.Wait(permit.Own, rec.zone, rec.name, permit.Evictions)
		why.Err = e.permitted.Policy(rec.zone)
		e.turns.Overdue(rec.name)
	}
	if was != a.Delay { // it is tried again and again
		e.decide(why)
	}
}

// untilPass is how long it is until the next verdict about the node can fall, or in exact mode until it is settled.
func (e *Evictor) untilPass(rec *record, now time.Time) time.Duration {
	next, ok := e.monitor.NextAt(e.read)
	if at, settles := e.monitor.Settles(rec.name); settles && e.cfg.NodeMonitorPeriod == 0 && at.After(now) {
		next, ok = earlier(next, ok, at)
	}
	if ok && next.After(now) {
		return next.Sub(now)
	}
	if at, ok := e.waitsUntil(rec); ok && at.After(now) {
		return at.Sub(now)
	}
	return e.cfg.GateInterval
}

// release lets the overdue pods of one node go: its turn has come.
func (e *Evictor) release(rec *record, now time.Time) {
	for _, key := range sortedPods(rec.pods) {
		tp := rec.pods[key]
		st, ok := e.pods.Get(key)
		if !tp.armed || !ok {
			continue
		}
		e.pods.Schedule(key, tp, st.Value, now, e.read)
	}
}
