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

// refusedObjects is how many different objects' writes must be forbidden before the replica is blamed, not the objects.
const refusedObjects = 3

// writes tracks since when every write has failed.
type writes struct {
	clock   clock.PassiveClock
	silence time.Duration // for how long every write may fail; less than 0 for ever

	mu      sync.Mutex
	since   time.Time           // guarded by mu: when the first failed write began; zero after one that succeeded
	last    time.Time           // guarded by mu: when the last one failed
	err     error               // guarded by mu: its error
	api     bool                // guarded by mu: some failed for another reason than Forbidden
	refused map[string]struct{} // guarded by mu: objects whose writes were forbidden, at most refusedObjects
}

// note records the result of a write. An answer about the object alone (it has changed, is gone, is protected by a
// disruption budget) shows that writes reach the API server.
func (w *writes) note(began time.Time, object string, err error) {
	now := w.clock.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil, apierrors.IsConflict(err), apierrors.IsNotFound(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err), budget(err):
		w.since, w.err, w.api, w.refused = time.Time{}, nil, false, nil
		return
	case errors.Is(err, context.Canceled):
		return // cancelled by us
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

// budget says whether a disruption budget refused the write, and not an overloaded API server.
func budget(err error) bool {
	return apierrors.IsTooManyRequests(err) && apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause)
}

func (w *writes) ill() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if failing := w.last.Sub(w.since); !w.since.IsZero() && w.silence > 0 && failing >= w.silence && (w.api || len(w.refused) >= refusedObjects) {
		return fmt.Errorf("every write has failed for %s: %w", failing.Round(time.Second), w.err)
	}
	return nil
}

// try makes a write without effect, to find out when writes succeed again: a replica that does not lead makes no others.
func (w *writes) try(ctx context.Context, object string, uid types.UID, patch func(ctx context.Context, body []byte) error) {
	ctx, cancel := context.WithTimeout(ctx, w.silence/2)
	defer cancel()
	began := w.clock.Now()
	body, err := json.Marshal(map[string]patchMeta{"metadata": {UID: uid}})
	if err == nil {
		err = patch(ctx, body)
	}
	w.note(began, object, err)
}

// tryWriting tries a dry-run write of some node or, if nodes are not written, of some pod; it does nothing if there is
// none.
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
