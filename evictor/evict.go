package evictor

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/timedworker"
)

// checkResult is the outcome of the last check before an eviction.
type checkResult struct {
	answer timedworker.Answer
	ref    PodRef
	why    Decision
}

// delay is why an eviction that is due waits.
type delay uint8

const (
	notSettled delay = iota + 1
	mayHarm
	mayWrite
)

var delays = [...]string{notSettled: "NotSettled", mayHarm: "MayHarm", mayWrite: "MayWrite"}

// evictPod is the work of Evictor.pods: an armed eviction is due. Everything is checked once more
// against the store and the verdict, then the call is made without any lock.
func (e *Evictor) evictPod(ctx context.Context, w timedworker.Work[PodKey, eviction]) timedworker.Result {
	harm := e.askHarm()
	write := e.askWrite()
	check := e.lastCheck(w, harm, write)
	e.deliver()
	if !check.answer.Proceeds() {
		return check.answer.Result()
	}
	err := e.guarded(w.Key, func() error { return e.clients.PodWriter.Evict(ctx, check.ref, check.why) })
	e.mu.Lock()
	defer e.deliver()
	defer e.mu.Unlock()
	tp := e.tracked[w.Key]
	mine := tp != nil && string(tp.uid) == w.Identity
	switch {
	case err == nil, apierrors.IsNotFound(err):
		if mine {
			tp.armed, tp.evicted = false, err == nil
		}
		if err == nil {
			e.decide(check.why)
		}
		return timedworker.Done()
	case apierrors.IsTooManyRequests(err):
		return timedworker.Blocked(e.heldByBudget(check.why, err))
	default:
		e.decide(Decision{Time: e.tick(), Kind: WriteFailed, Node: check.ref.Node, Pod: check.ref, Reason: "eviction", Err: fmt.Errorf("evicting pod %s: %w", w.Key, err)})
		return timedworker.Retry()
	}
}

// lastCheck reads pod and node again.
func (e *Evictor) lastCheck(w timedworker.Work[PodKey, eviction], harm, write error) checkResult {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.tick()
	gone := checkResult{answer: timedworker.Cancel("Gone")}
	tp := e.tracked[w.Key]
	if tp == nil || string(tp.uid) != w.Identity || tp.evicted {
		return gone
	}
	rec := tp.rec
	pod, ok := e.clients.Pods.Pod(w.Key)
	if !ok || pod.UID != tp.uid || pod.Spec.NodeName != rec.name || pod.DeletionTimestamp != nil {
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
	node, ok := e.clients.Nodes.Node(rec.name)
	if !ok || node.UID != rec.uid {
		tp.armed = false
		rec.rearm = true // for when it is there again, as nothing had happened
		e.NodeChanged(rec.name)
		return gone
	}
	if e.seeTaints(rec, node, now) {
		// The event, which is still to come, finds nothing new; the other pods have to be decided upon too.
		rec.rearm = true
		e.NodeChanged(rec.name)
	}
	due, why, finite := e.dueAt(rec, tp, pod.Spec.Tolerations, rec.eligible)
	if !finite {
		return dropped(e.unarmedReason(rec, w.Payload))
	}
	if due.After(now) {
		tp.due = due
		return checkResult{answer: timedworker.Delay(due.Sub(now), "NotDue")}
	}
	decision := e.evictionDecision(PodEvicted, refOf(pod), why, due, now)
	held := func(reason delay, err error, wait time.Duration) checkResult {
		if tp.delayed != reason { // it is tried again and again
			tp.delayed = reason
			d := decision
			d.Kind, d.Reason, d.Err = EvictionDelayed, delays[reason], err
			e.decide(d)
		}
		return checkResult{answer: timedworker.Delay(wait, delays[reason])}
	}
	// The verdict counts, not the taint: a kubelet that has just reported Ready, or a node that we
	// have not watched for long enough ourselves, waits for the next pass. So does all while that is so late that
	// it will find that nobody watched. Taints of others go on.
	if why.own && (e.saysReady(rec, node) || !e.monitor.Settled(rec.name) || e.monitor.Late()) {
		wait := e.untilPass(rec, now)
		due, other, finite := e.dueAt(rec, tp, pod.Spec.Tolerations, false)
		if finite {
			wait = min(wait, due.Sub(now))
		}
		if !finite || wait > 0 {
			return held(notSettled, nil, wait)
		}
		decision = e.evictionDecision(PodEvicted, refOf(pod), other, due, now)
	}
	switch {
	case harm != nil:
		rec.overdue = true
		e.gates.overdue[rec.name] = struct{}{}
		return held(mayHarm, harm, e.cfg.GateInterval)
	case rec.overdue:
		tp.delayed = 0
		// Evictions are permitted again; the zone's queue lets its nodes go one by one.
		e.enqueueRelease(rec)
		e.inbox.kick() // Run hands the turn out
		return checkResult{answer: timedworker.Delay(e.cfg.RetryMax, "Overdue")}
	case write != nil:
		return held(mayWrite, write, e.cfg.GateInterval)
	}
	tp.delayed = 0
	return checkResult{ref: refOf(pod), why: decision}
}

// untilPass is how long it is until the next verdict about the node can fall, or in exact mode until it is settled.
func (e *Evictor) untilPass(rec *record, now time.Time) time.Duration {
	next, ok := e.monitor.Next()
	if at, settles := e.monitor.SettlesAt(rec.name); settles && e.cfg.NodeMonitorPeriod == 0 && at.After(now) {
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
	e.forgetOverdue(rec)
	for _, key := range sortedPods(rec.pods) {
		tp := rec.pods[key]
		st, ok := e.pods.Get(key)
		if !tp.armed || !ok {
			continue
		}
		e.pods.ScheduleEntry(timedworker.Entry[PodKey, eviction]{Key: key, Identity: string(tp.uid), Payload: st.Payload, At: now})
	}
}
