package evictor

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor/internal/pods"
)

// markPods sets the Ready condition of the pods of an unreachable node to False, once for each pod and
// outage. What fails is tried again, the others are not held up. Under Run it ends after any pod when a node waits for
// a worker: pods are many, and a node that is to be declared Unknown must not wait for them.
func (e *Evictor) markPods(ctx context.Context, rec *record, p *nodePlan) error {
	return e.eachPod(rec, &rec.marked, pods.Ready, func() { rec.markPods = false }, func(ref PodRef) (goOn bool, err error) {
		e.mu.Lock()
		about := e.about(rec)
		still := rec.markPods && about.Marks() && e.records[rec.name] == rec
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
		if rec.markPods {
			note(&rec.marked, ref.UID)
		}
		if err == nil {
			e.decide(Decision{Time: e.tick(), Kind: PodMarkedNotReady, Node: rec.name, Pod: ref})
		}
		p.Again = !p.Empty && e.pooled && e.nodeWaits()
		return !p.Again, nil
	})
}

// nodeWaits says whether a node write is due that no worker has taken.
func (e *Evictor) nodeWaits() bool {
	due, some := e.writes.Next()
	return some && !due.After(e.clock.Now())
}

// emptyNode deletes the pods of a failed node, where nothing is tainted. What the API server refuses to evict has had
// its turn all the same: it is tried again later, and takes no turn from other nodes.
func (e *Evictor) emptyNode(ctx context.Context, rec *record) error {
	return e.eachPod(rec, &rec.settled, func(pod *v1.Pod) bool {
		return !e.now.Before(rec.refused[pod.UID].until)
	}, func() { e.emptied(rec) }, func(ref PodRef) (goOn bool, err error) {
		if err := e.askHarm(); err != nil {
			return false, fmt.Errorf("%w: %w", errClosed, err)
		}
		if err := e.mayWrite(); err != nil {
			return false, err
		}
		why, still, there := e.lastCheckWithoutTaints(rec, ref)
		switch {
		case !still:
			return false, nil
		case there && why.Kind == EvictionDelayed: // a taint evicts it at this moment
			e.refuse(rec, ref.UID, 0, e.cfg.RetryInitial)
			return true, nil
		case there && why.Kind == PodEvicted:
			err := e.evict(ctx, ref, why)
			if apierrors.IsTooManyRequests(err) {
				times := e.refusals(rec, ref.UID) + 1
				e.refuse(rec, ref.UID, times, e.refusedBy(why, err, times))
				return true, nil
			}
			if err != nil && !apierrors.IsNotFound(err) {
				return true, err
			}
			there = err == nil
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(rec.refused, ref.UID)
		note(&rec.settled, ref.UID)
		if there {
			e.decide(why)
		}
		return true, nil
	})
}

// emptied notes that of the node's pods none is left but those that the API server refuses to evict; e.mu is held.
func (e *Evictor) emptied(rec *record) {
	if e.records[rec.name] != rec || !e.standing(rec).Wanted() {
		return // it recovered meanwhile, say
	}
	if !rec.emptied {
		d := Decision{Time: e.tick(), Kind: NodeEmptied, Node: rec.name, NodeUID: rec.uid}
		if len(rec.settled) == 0 && len(rec.refused) == 0 {
			d.Reason = reasonNoPods
		}
		e.decide(d)
	}
	rec.emptied, rec.budgets = true, time.Time{}
	for _, r := range rec.refused {
		if rec.budgets.IsZero() || r.until.Before(rec.budgets) {
			rec.budgets = r.until
		}
	}
}

// refusals is how often in a row the API server has refused to evict the pod of a node that is being emptied.
func (e *Evictor) refusals(rec *record, uid types.UID) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return rec.refused[uid].times
}

// refuse notes that the pod is not to be evicted for that long.
func (e *Evictor) refuse(rec *record, uid types.UID, times int, wait time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if rec.refused == nil {
		rec.refused = make(map[types.UID]refusal)
	}
	rec.refused[uid] = refusal{times, e.tick().Add(wait)}
}

// refusedBy tells that a disruption budget holds an eviction back, or an API server that has too much to do, and says for how
// long: as it asks or, where it does not say, for longer each time, up to Config.RetryMax.
func (e *Evictor) refusedBy(why Decision, err error, times int) time.Duration {
	why.Kind, why.Reason, why.Err = EvictionDelayed, "TooManyRequests", err
	if apierrors.HasStatusCause(err, "DisruptionBudget") { // policyv1.DisruptionBudgetCause
		why.Reason = "DisruptionBudget"
	}
	e.decide(why)
	if wait := retryAfter(err); wait > 0 {
		return wait
	}
	return max(e.refusal.Delay(times, nil), e.cfg.RetryInitial)
}

func note(set *map[types.UID]struct{}, uid types.UID) {
	if *set == nil {
		*set = make(map[types.UID]struct{})
	}
	(*set)[uid] = struct{}{}
}

// eachPod acts on those of the node's pods that are wanted, neither being deleted nor noted already, and on those
// that came meanwhile. When there is none any more it calls none, before an event of another can be read. An error
// of one pod does not hold the others up. wanted and none are called with e.mu held, which guards noted too.
func (e *Evictor) eachPod(rec *record, noted *map[types.UID]struct{}, wanted func(*v1.Pod) bool, none func(), act func(PodRef) (goOn bool, err error)) error {
	for again := false; ; again = true {
		refs := e.podsOf(rec, again, noted, wanted, none)
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
func (e *Evictor) podsOf(rec *record, again bool, noted *map[types.UID]struct{}, wanted func(*v1.Pod) bool, none func()) (refs []PodRef) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if again && !rec.podsChanged {
		none()
		return nil
	}
	rec.podsChanged = false
	e.clients.Pods.PodsOnNode(rec.name, func(pod *v1.Pod) bool {
		if _, done := (*noted)[pod.UID]; !done && pod.Spec.NodeName == rec.name && pod.DeletionTimestamp == nil && wanted(pod) {
			refs = append(refs, refOf(pods.RefOf(pod)))
		}
		return true
	})
	switch {
	case len(refs) == 0:
		none()
	case *noted == nil:
		*noted = make(map[types.UID]struct{}, len(refs))
	}
	return refs
}

// lastCheckWithoutTaints reads node and pod again: whether the node is still to be emptied, whether the pod
// is there, and what becomes of it.
func (e *Evictor) lastCheckWithoutTaints(rec *record, ref PodRef) (why Decision, still, there bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.current(rec) == nil || !e.standing(rec).MayBeHarmed() {
		return why, false, false
	}
	pod := e.readPod(ref.PodKey)
	if !ref.ref().Shows(pod) || e.pods.WasEvicted(pod) {
		return why, true, false
	}
	why = Decision{Time: e.tick(), Kind: PodEvicted, Node: rec.name, Pod: ref, Toleration: -1, Reason: reasonTimeout}
	if spared := pods.SparedWithoutTaints(pod); spared != "" {
		why.Kind, why.Reason = PodSpared, spared
	} else if !e.pods.Begin(ref.ref()) {
		why.Kind = EvictionDelayed
	}
	return why, true, true
}

const (
	reasonTimeout = "PodEvictionTimeout"
	reasonNoPods  = "NoPods"
)
