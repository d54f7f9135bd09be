package clientgo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// refusedObjects is how many different objects' writes must have been refused to blame this replica and not them.
const refusedObjects = 3

// writes is how writing goes: since when every write has failed.
type writes struct {
	clock   clock.PassiveClock
	silence func() time.Duration // how long they may

	mu      sync.Mutex
	since   time.Time           // guarded by mu: when the first of them began; zero after one that succeeded
	last    time.Time           // guarded by mu: when the last one failed
	err     error               // guarded by mu: of what
	api     bool                // guarded by mu: the API server fails, not only the objects' writes
	refused map[string]struct{} // guarded by mu: at most refusedObjects of those whose writes were refused
}

// note takes a write that has ended into account. An answer about the object alone (it has changed, is gone, is protected by a
// budget) shows that writes arrive.
func (w *writes) note(began time.Time, object string, err error) {
	now := w.clock.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil, apierrors.IsConflict(err), apierrors.IsNotFound(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err), budget(err):
		w.since, w.err, w.api, w.refused = time.Time{}, nil, false, nil
		return
	case errors.Is(err, context.Canceled):
		return // we ended it
	case w.since.IsZero():
		w.since = began
	}
	w.last, w.err = now, err
	if !apierrors.IsForbidden(err) {
		w.api = true
	} else if len(w.refused) < refusedObjects {
		if w.refused == nil {
			w.refused = make(map[string]struct{})
		}
		w.refused[object] = struct{}{}
	}
}

// budget says whether a disruption budget has answered, not an API server that has too much to do.
func budget(err error) bool {
	return apierrors.IsTooManyRequests(err) && apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause)
}

func (w *writes) ill() error {
	silence := w.silence()
	w.mu.Lock()
	defer w.mu.Unlock()
	if failing := w.last.Sub(w.since); !w.since.IsZero() && silence > 0 && failing >= silence && (w.api || len(w.refused) >= refusedObjects) {
		return fmt.Errorf("every write has failed for %s: %w", failing.Round(time.Second), w.err)
	}
	return nil
}

// try writes something without effect, to know when writes succeed again: who does not lead has nothing else to write.
func (w *writes) try(ctx context.Context, object string, uid types.UID, patch func(ctx context.Context, body []byte) error) {
	ctx, cancel := context.WithTimeout(ctx, w.silence()/2)
	defer cancel()
	began := w.clock.Now()
	body, err := json.Marshal(map[string]patchMeta{"metadata": {UID: uid}})
	if err == nil {
		err = patch(ctx, body)
	}
	w.note(began, object, err)
}

// tryWriting tries the first node that there is or, where nodes are not written, the first pod. Without one there is
// nothing to write.
func (c *Cluster) tryWriting(ctx context.Context) {
	nothing := metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}
	c.nodes.Nodes(func(node *v1.Node) bool {
		if c.opts.lifecycle() {
			c.writes.try(ctx, node.Name, node.UID, func(ctx context.Context, body []byte) error {
				_, err := c.client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, body, nothing)
				return err
			})
			return false
		}
		found := false
		c.pods.PodsOnNode(node.Name, func(p *v1.Pod) bool {
			found = true
			c.writes.try(ctx, p.Namespace+"/"+p.Name, p.UID, func(ctx context.Context, body []byte) error {
				_, err := c.opts.EvictionClient.CoreV1().Pods(p.Namespace).Patch(ctx, p.Name, types.MergePatchType, body, nothing, "status")
				return err
			})
			return false
		})
		return !found
	})
}
