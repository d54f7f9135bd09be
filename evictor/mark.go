//go:build !thin

package evictor

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor/internal/pods"
)

// markPods sets the Ready condition of an unreachable node's pods to False, once for each pod and outage, including pods
// that appear while it runs. A pod that fails is tried again later and does not hold up the others. Under Run it returns
// early when another node waits for a worker: pods are many, and writing a node's Unknown conditions must not wait for
// them.
func (w *writing) markPods() error {
	for again := false; ; again = true {
		refs := w.unmarked(again)
		if len(refs) == 0 {
			return nil
		}
		var errs []error
		for _, ref := range refs {
			due, err := w.mark(ref)
			if err != nil {
				errs = append(errs, fmt.Errorf("pod %s: %w", ref.PodKey, err))
			}
			if !due || errors.Is(err, errClosed) {
				return err
			}
			if w.p.Again = w.nodeWaits(); w.p.Again {
				return errors.Join(errs...) // after a failure its backoff counts, or nodes that fail would spur each other on
			}
		}
		if len(errs) > 0 {
			return errors.Join(errs...)
		}
	}
}

// unmarked lists the pods still to be marked. With again, it lists them only if a pod has changed since the last list.
// When none is left it records that marking is done, under the same lock, so that a pod event read later makes it due
// again.
func (w *writing) unmarked(again bool) (refs []PodRef) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rec := w.rec
	if !again || rec.PodsChanged {
		rec.PodsChanged = false
		for pod := range w.podsOn(rec.name) {
			_, done := rec.Marks.Done[pod.UID]
			if pod.DeletionTimestamp == nil && !done && pods.Ready(pod) {
				refs = append(refs, refOf(pods.RefOf(pod)))
			}
		}
	}
	if len(refs) == 0 {
		rec.Marks.Due = false
	}
	return refs
}

// mark marks one pod. due is false if the node's pods need not be marked any more.
func (w *writing) mark(ref PodRef) (due bool, err error) {
	rec := w.rec
	if w.still(rec, func() bool {
		about := w.about(rec)
		return rec.Marks.Due && about.Marks() && !about.Unclear()
	}) != nil {
		return false, nil
	}
	if w.askWrite() != nil {
		return true, errClosed
	}
	err = w.answered(w.opts.guarded(ref.PodKey, func() error { return w.clients.PodWriter.MarkNotReady(w.ctx, ref) }))
	if err != nil && !apierrors.IsNotFound(err) {
		return true, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	rec.Marks.Marked(ref.UID)
	if err == nil {
		w.tick()
		w.decide(Decision{Kind: PodMarkedNotReady, Node: rec.name, Pod: ref})
	}
	return true, nil
}

// nodeWaits says whether, under Run, another node is due to be written.
func (e *Evictor) nodeWaits() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.pooled && due(e.writes.NextAt, e.opts.Clock.Now())
}
