package evictor

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// markPods sets the Ready condition of the pods of an unreachable node to False, once for each pod and
// outage. What fails is tried again, the others are not held up. Under Run it ends after any pod when a node waits for
// a worker: pods are many, and a node that is to be declared Unknown must not wait for them.
func (e *Evictor) markPods(ctx context.Context, rec *record, p *nodePlan) error {
	return e.eachPod(rec, &rec.marked, func(pod *v1.Pod) bool { return podReady(pod) && !finished(pod) }, func() { rec.markPods = false }, func(ref PodRef) (goOn bool, err error) {
		e.mu.Lock()
		still := rec.markPods && !rec.beatSince && !e.zones.AllDown() && e.records[rec.name] == rec
		e.mu.Unlock()
		if !still {
			return false, nil
		}
		if err := e.mayWrite(); err != nil {
			return false, err
		}
		err = e.guarded(ref.PodKey, func() error { return e.clients.PodWriter.MarkNotReady(ctx, ref) })
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
		p.again = !p.empty && e.maxTurns > 0 && e.nodeWaits()
		return !p.again, nil
	})
}

// nodeWaits says whether a node write is due that no worker has taken.
func (e *Evictor) nodeWaits() bool {
	due, some := e.writes.Next()
	return some && !due.After(e.clock.Now())
}

// emptyNode deletes the pods of a failed node, where nothing is tainted. What a disruption budget holds back has had
// its turn all the same: it is tried again when the API said, and takes no turn from other nodes.
func (e *Evictor) emptyNode(ctx context.Context, rec *record) error {
	var (
		held map[podUID]struct{}
		wait time.Duration
	)
	return e.eachPod(rec, &rec.settled, func(pod *v1.Pod) bool {
		_, later := held[pod.UID]
		return !later
	}, func() {
		if e.records[rec.name] != rec || !e.wanted(rec) {
			return // it recovered meanwhile, say
		}
		if !rec.emptied {
			d := Decision{Time: e.tick(), Kind: NodeEmptied, Node: rec.name, NodeUID: rec.uid}
			if len(rec.settled) == 0 && len(held) == 0 {
				d.Reason = reasonNoPods
			}
			e.decide(d)
		}
		rec.emptied = true
		rec.budgets = e.tick().Add(wait)
	}, func(ref PodRef) (goOn bool, err error) {
		if err := e.askHarm(); err != nil {
			return false, fmt.Errorf("%w: %w", errClosed, err)
		}
		if err := e.mayWrite(); err != nil {
			return false, err
		}
		why, still, there := e.lastCheckWithoutTaints(rec, ref)
		if !still {
			return false, nil
		}
		if there && why.Kind == PodEvicted {
			err := e.guarded(ref.PodKey, func() error { return e.clients.PodWriter.Evict(ctx, ref, why) })
			switch {
			case apierrors.IsTooManyRequests(err):
				note(&held, ref.UID)
				if until := e.heldByBudget(why, err); wait == 0 || until < wait {
					wait = until
				}
				return true, nil
			case err != nil && !apierrors.IsNotFound(err):
				return true, err
			}
			there = err == nil
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		note(&rec.settled, ref.UID)
		if there {
			e.decide(why)
		}
		return true, nil
	})
}

// heldByBudget tells that a disruption budget holds an eviction back, or an API server that has too much to do, and for
// how long.
func (e *Evictor) heldByBudget(why Decision, err error) time.Duration {
	why.Kind, why.Reason, why.Err = EvictionDelayed, "TooManyRequests", err
	if apierrors.HasStatusCause(err, "DisruptionBudget") { // policyv1.DisruptionBudgetCause
		why.Reason = "DisruptionBudget"
	}
	e.decide(why)
	if wait := retryAfter(err); wait > 0 {
		return wait
	}
	return e.cfg.GateInterval
}

func note(set *map[podUID]struct{}, uid podUID) {
	if *set == nil {
		*set = make(map[podUID]struct{})
	}
	(*set)[uid] = struct{}{}
}

// eachPod acts on those of the node's pods that are wanted, neither being deleted nor noted already, and on those
// that came meanwhile. When there is none any more it calls none, before an event of another can be read. An error
// of one pod does not hold the others up. wanted and none are called with e.mu held, which guards noted too.
func (e *Evictor) eachPod(rec *record, noted *map[podUID]struct{}, wanted func(*v1.Pod) bool, none func(), act func(PodRef) (goOn bool, err error)) error {
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
func (e *Evictor) podsOf(rec *record, again bool, noted *map[podUID]struct{}, wanted func(*v1.Pod) bool, none func()) (refs []PodRef) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if again && !rec.podsChanged {
		none()
		return nil
	}
	rec.podsChanged = false
	e.clients.Pods.PodsOnNode(rec.name, func(pod *v1.Pod) bool {
		if _, done := (*noted)[pod.UID]; !done && pod.Spec.NodeName == rec.name && pod.DeletionTimestamp == nil && wanted(pod) {
			refs = append(refs, refOf(pod))
		}
		return true
	})
	switch {
	case len(refs) == 0:
		none()
	case *noted == nil:
		*noted = make(map[podUID]struct{}, len(refs))
	}
	return refs
}

// lastCheckWithoutTaints reads node and pod again: whether the node is still to be emptied, whether the pod
// is there, and what becomes of it.
func (e *Evictor) lastCheckWithoutTaints(rec *record, ref PodRef) (why Decision, still, there bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	node, ok := e.clients.Nodes.Node(rec.name)
	if !ok || node.UID != rec.uid || e.records[rec.name] != rec || !e.wanted(rec) || e.saysReady(rec, node) {
		return why, false, false
	}
	pod, there := e.clients.Pods.Pod(ref.PodKey)
	if !there || pod.UID != ref.UID || pod.Spec.NodeName != rec.name || pod.DeletionTimestamp != nil {
		return why, true, false
	}
	why = Decision{Time: e.tick(), Kind: PodEvicted, Node: rec.name, Pod: ref, Toleration: -1, Reason: reasonTimeout}
	if spared := sparedWithoutTaints(pod); spared != "" {
		why.Kind, why.Reason = PodSpared, spared
	}
	return why, true, true
}

const (
	reasonTimeout = "PodEvictionTimeout"
	reasonNoPods  = "NoPods"
)
