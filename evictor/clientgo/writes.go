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

// triedObjects is how many objects a trial writes.
const triedObjects = 3

// writes knows whether this replica can write. Failed writes of the evictor only raise the question, because all of them
// may be of a tenant's pods: the API server answers an eviction under two disruption budgets with 500, as it answers
// when etcd is ill, an admission refuses some objects, and a webhook hangs for others. Trials give the answer: dry-run
// writes of objects that the evictor did not choose.
type writes struct {
	clock   clock.PassiveClock
	silence time.Duration // for how long trials may fail; less than 0 for ever

	mu     sync.Mutex
	since  time.Time // guarded by mu: when the first write began of those that failed; zero after one that did not
	failed time.Time // guarded by mu: when the last trial failed
	err    error     // guarded by mu: its error
}

// note takes the result of a write.
func (w *writes) note(began time.Time, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case arrived(err):
		w.since = time.Time{}
	case !errors.Is(err, context.Canceled) && w.since.IsZero(): // one that is cancelled was cancelled by us
		w.since = began
	}
}

// arrived says whether the write reached the API server and was permitted: it succeeded, or the object has changed, is
// gone, or is protected by a disruption budget.
func arrived(err error) bool {
	return err == nil || apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || budget(err)
}

// budget says whether a disruption budget refused the write, and not an overloaded API server.
func budget(err error) bool {
	return apierrors.IsTooManyRequests(err) && apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause)
}

// doubtful says whether writes have failed for so long that a trial is due. One that hangs then ends as the silence does.
func (w *writes) doubtful() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.since.IsZero() && w.clock.Now().Sub(w.since) >= w.silence/2
}

func (w *writes) ill() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if failing := w.failed.Sub(w.since); !w.since.IsZero() && w.silence > 0 && failing >= w.silence {
		return fmt.Errorf("every write has failed for %s: %w", failing.Round(time.Second), w.err)
	}
	return nil
}

// tried takes the result of a trial.
func (w *writes) tried(began time.Time, err error) {
	w.note(began, err)
	if arrived(err) || errors.Is(err, context.Canceled) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed, w.err = w.clock.Now(), err
}

// trials makes a trial whenever one is due, until the context ends.
func (c *Cluster) trials(ctx context.Context) {
	if c.opts.LeaseSilence < 0 {
		return
	}
	ticker := c.opts.Clock.NewTicker(max(c.opts.LeaseSilence/8, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			if c.writes.doubtful() {
				c.try(ctx)
			}
		}
	}
}

// try makes one trial: dry-run writes, all at once. It fails if all of them do.
func (c *Cluster) try(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.LeaseSilence/2)
	defer cancel()
	began, attempts := c.opts.Clock.Now(), c.attempts()
	answers := make(chan error, len(attempts))
	for _, attempt := range attempts {
		go func() { answers <- attempt(ctx) }()
	}
	var failed error
	ended := false
	for range attempts {
		if err := <-answers; arrived(err) {
			ended = true
			cancel()
		} else {
			failed = err
		}
	}
	switch {
	case ended:
		c.writes.tried(began, nil)
	case failed != nil:
		c.writes.tried(began, failed)
	}
}

// attempts are dry-run writes of some nodes or, if nodes are not written, of some pods in different namespaces. The
// informer lists nodes in a random order, so each trial has others.
func (c *Cluster) attempts() (all []func(context.Context) error) {
	nothing := metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}
	namespaces := make(map[string]bool)
	c.nodes.Nodes(func(node *v1.Node) bool {
		if c.opts.lifecycle() {
			name, body := node.Name, sameUID(node.UID)
			all = append(all, func(ctx context.Context) error {
				_, err := c.client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, body, nothing)
				return err
			})
			return len(all) < triedObjects
		}
		c.pods.PodsOnNode(node.Name, func(p *v1.Pod) bool {
			if namespace, name, body := p.Namespace, p.Name, sameUID(p.UID); !namespaces[namespace] {
				namespaces[namespace] = true
				all = append(all, func(ctx context.Context) error {
					_, err := c.opts.EvictionClient.CoreV1().Pods(namespace).Patch(ctx, name, types.MergePatchType, body, nothing, "status")
					return err
				})
			}
			return len(all) < triedObjects
		})
		return len(all) < triedObjects
	})
	return all
}

// sameUID is a patch that changes nothing of the object with that UID.
func sameUID(uid types.UID) []byte {
	body, _ := json.Marshal(map[string]patchMeta{"metadata": {UID: uid}}) // texts always have a form in JSON
	return body
}
