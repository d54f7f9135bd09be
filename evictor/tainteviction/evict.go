package tainteviction

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/internal/environment"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/timedworker"
)

// evict is the work of armed, called when an eviction is due: check, ask the Gate, check once more, evict.
func (c *Controller) evict(ctx context.Context, w timedworker.Work[cluster.PodRef, *pod]) timedworker.Result {
	return c.around.Evict(ctx, w.Value.ref, &eviction{c, w.Value, Decision{}}, c.clients.Evicter, c.cfg.RetryInitial)
}

// eviction is one try to evict a pod.
type eviction struct {
	*Controller
	p    *pod
	done Decision // to be reported if it succeeds
}

// Check is the last word. What is reported afterwards is what it found.
func (e *eviction) Check() (act gate.Act, wait time.Duration, due bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	object, domain, wait := e.check(e.p)
	if object == nil {
		return act, wait, false
	}
	e.done = e.decision(e.p, PodEvicted, "", nil)
	why := e.p.why
	why.At, why.Taint = e.done.Deadline, e.done.Taint
	return gate.Act{Do: gate.Evict, Node: e.p.ref.Node, Domain: domain, Pod: object, Why: why}, 0, true
}

// Refused has it wait until the time that the refusal names or, without one, for longer each time. It is reported once, and
// again when its text changes. If no pod may leave the domain now, or the pod has to leave at the zone's rate, it waits for
// a turn of its node, so that not all who wait leave at one instant.
func (e *eviction) Refused(no environment.Refusal) timedworker.Result {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.p
	if p.no == nil || p.no.Error() != no.Error() || no.ByWriter {
		e.decide(e.decision(p, EvictionDelayed, no.Reason, no.Refused))
	}
	p.delayed, p.no = no.Reason, no.Refused
	p.refused++
	if p.closed = no.Closed || no.Pace && taints.OwnNoExecute(p.why.Taint) && e.clients.Verdicts != nil; p.closed {
		p.refused = 1
		e.overdue(p)
		e.tellOverdue(p.node)
	}
	wait := no.Wait(p.refused, timedworker.Backoff{Initial: e.cfg.GateInterval, Max: e.cfg.RetryMax, Factor: 2, Jitter: e.opts.Jitter})
	if p.again = e.mu.Now.Add(wait); no.Closed || p.closed && no.Again.IsZero() {
		p.again = time.Time{}
	}
	return timedworker.Blocked(wait)
}

// Tried records the result of the call and says when to try again, if at all.
func (e *eviction) Tried(err error) timedworker.Result {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err == nil || apierrors.IsNotFound(err) {
		if e.p.armed = false; err == nil {
			e.decide(e.done)
		}
		return timedworker.Forget()
	}
	e.decide(Decision{Kind: WriteFailed, Pod: e.p.ref, Toleration: -1, Reason: "eviction", Err: fmt.Errorf("evicting pod %s: %w", e.p.ref.PodKey, err)})
	return timedworker.Retry(err)
}
