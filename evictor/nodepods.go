package evictor

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor/internal/node"
	"github.com/evictkit/evictkit/evictor/internal/permit"
	"github.com/evictkit/evictkit/evictor/internal/pods"
)

// markPods sets the Ready condition of the pods of an unreachable node to False, once for each pod and
// outage. What fails is tried again, the others are not held up. Under Run it ends after any pod when a node waits for
// a worker: pods are many, and a node that is to be declared Unknown must not wait for them.
func (e *Evictor) markPods(ctx context.Context, rec *record, p *node.Plan) error {
	return e.eachPod(rec, func(pod *v1.Pod) bool {
		_, done := rec.Marks.Done[pod.UID]
		return !done && pods.Ready(pod)
	}, func(bool) { rec.Marks.Due = false }, func(ref PodRef) (goOn bool, err error) {
		there := e.stillThere(rec)
		e.mu.Lock()
		still := there && rec.Marks.Due && e.about(rec).Marks() && e.records[rec.name] == rec
		e.mu.Unlock()
		if !still {
			return false, nil
		}
		if err := e.mayWrite(); err != nil {
			return false, err
		}
		err = e.answered(e.guarded(ref.PodKey, func() error { return e.clients.PodWriter.MarkNotReady(ctx, ref) }))
		if err != nil && !apierrors.IsNotFound(err) {
			return true, err
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		rec.Marks.Marked(ref.UID)
		if err == nil {
			e.decide(Decision{Time: e.tick(), Kind: PodMarkedNotReady, Node: rec.name, Pod: ref})
		}
		due, waits := e.writes.Next()
		p.Again = !p.Empty && e.pooled && waits && !due.After(e.clock.Now())
		return !p.Again, nil
	})
}

// emptyNode deletes the pods of a failed node, where nothing is tainted. What the API server refuses to evict has had
// its turn all the same: it is tried again later, and takes no turn from other nodes.
func (e *Evictor) emptyNode(ctx context.Context, rec *record) error {
	return e.eachPod(rec, func(pod *v1.Pod) bool {
		at := rec.Pod(pod.UID)
		return !at.Settled && !e.now.Before(at.Until)
	}, func(listed bool) { // none is left but those that the API server refuses to evict
		if e.records[rec.name] != rec || !e.about(rec).Standing().Wanted() {
			return // it recovered meanwhile, say
		}
		d := Decision{Time: e.tick(), Kind: NodeEmptied, Node: rec.name, NodeUID: rec.uid}
		if listed {
			rec.Gone(e.now)
		}
		first, nobody := rec.BecomeServed()
		if nobody {
			d.Reason = reasonNoPods
		}
		if first {
			e.decide(d)
		}
	}, func(ref PodRef) (goOn bool, err error) {
		if err := e.mayEmpty(rec); err != nil {
			rec.refused = permit.Own
			return false, fmt.Errorf("%w: %w", errClosed, err)
		}
		if err := e.mayWrite(); err != nil {
			return false, err
		}
		why, refused, still, there := e.lastCheckWithoutTaints(rec, ref)
		wait := time.Duration(0)
		switch {
		case !still:
			return false, nil
		case there && why.Kind == EvictionDelayed: // a taint evicts it at this moment
			refused, wait = 0, e.cfg.RetryInitial
		case there && why.Kind == PodEvicted:
			err := e.evict(ctx, ref, why)
			if apierrors.IsTooManyRequests(err) {
				refused++
				wait = e.refusedBy(why, err, refused)
			} else if err != nil && !apierrors.IsNotFound(err) {
				return true, err
			}
			there = err == nil
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		if wait > 0 {
			rec.Leaves(ref.UID, node.Leaving{Refused: refused, Until: e.tick().Add(wait)})
			return true, nil
		}
		rec.Leaves(ref.UID, node.Leaving{Settled: true})
		if there {
			e.decide(why)
		}
		return true, nil
	})
}

// mayEmpty is asked before each eviction from a node that is being emptied.
func (e *Evictor) mayEmpty(rec *record) error {
	if err := e.askHarm(rec.name); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.permitted.Policy(rec.zone)
}

// refusedBy tells that a disruption budget holds an eviction back, or an API server that has too much to do, and says for how
// long: as it asks or, where it does not say, for longer each time, up to Config.RetryMax.
func (e *Evictor) refusedBy(why Decision, err error, times int) time.Duration {
	why.Kind, why.Reason, why.Err = EvictionDelayed, "TooManyRequests", err
	if apierrors.HasStatusCause(err, "DisruptionBudget") { // policyv1.DisruptionBudgetCause
		why.Reason = "DisruptionBudget"
	}
	e.mu.Lock()
	e.decide(why)
	e.mu.Unlock()
	if wait := retryAfter(err); wait > 0 {
		return wait
	}
	return max(e.refusal.Delay(times, nil), e.cfg.RetryInitial)
}

// eachPod acts on those of the node's pods that are wanted and not being deleted, and on those that came meanwhile. When
// there is none any more it calls none, with whether they were listed to see that, before an event of another can be read. An error of one pod does not hold the others
// up. wanted and none are called with e.mu held.
func (e *Evictor) eachPod(rec *record, wanted func(*v1.Pod) bool, none func(listed bool), act func(PodRef) (goOn bool, err error)) error {
	for again := false; ; again = true {
		refs := e.podsOf(rec, again, wanted, none)
		if len(refs) == 0 {
			return nil
		}
		var errs []error
		for _, ref := range refs {
			goOn, err := act(ref)
			if !goOn {
				return err
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("pod %s: %w", ref.PodKey, err))
			}
		}
		if len(errs) > 0 {
			return errors.Join(errs...)
		}
	}
}

// podsOf lists them, again only if any changed since.
func (e *Evictor) podsOf(rec *record, again bool, wanted func(*v1.Pod) bool, none func(listed bool)) (refs []PodRef) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if again && !rec.PodsChanged {
		none(false)
		return nil
	}
	rec.PodsChanged = false
	e.clients.Pods.PodsOnNode(rec.name, func(pod *v1.Pod) bool {
		if pod.Spec.NodeName == rec.name && pod.DeletionTimestamp == nil && wanted(pod) {
			refs = append(refs, refOf(pods.RefOf(pod)))
		}
		return true
	})
	if len(refs) == 0 {
		none(true)
	}
	return refs
}

// lastCheckWithoutTaints reads node and pod again: whether the node is still to be emptied, whether the pod
// is there, how often in a row it was refused, and what becomes of it.
func (e *Evictor) lastCheckWithoutTaints(rec *record, ref PodRef) (why Decision, refused int, still, there bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.current(rec) == nil || !e.about(rec).Standing().MayBeHarmed() {
		return why, 0, false, false
	}
	if e.tick(); !e.monitor.SettledAt(rec.name, e.read) { // it has renewed its lease, say: the next pass looks again
		rec.PodsChanged, e.attention[rec.name] = true, rec
		return why, 0, false, false
	}
	pod := e.readPod(ref.PodKey)
	if !ref.ref().Shows(pod) || e.pods.WasEvicted(pod) {
		return why, 0, true, false
	}
	why = Decision{Time: e.tick(), Kind: PodEvicted, Node: rec.name, Pod: ref, Toleration: -1, Reason: reasonTimeout}
	if spared := pods.SparedWithoutTaints(pod); spared != "" {
		why.Kind, why.Reason = PodSpared, spared
	} else if !e.pods.Begin(ref.ref()) {
		why.Kind = EvictionDelayed
	}
	return why, rec.Pod(ref.UID).Refused, true, true
}

const (
	reasonTimeout = "PodEvictionTimeout"
	reasonNoPods  = "NoPods"
)
