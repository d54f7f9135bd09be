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

type podWork = timedworker.Work[cluster.PodKey, *pod]

// evict is the work of armed, called when an eviction is due: check, ask the Gate, check once more, evict.
func (c *Controller) evict(ctx context.Context, w podWork) (result timedworker.Result) {
	p := w.Value
	found := c.check(p)
	if asked := c.around.Permits.Asked(); found.due && c.around.Permits.Asks() {
		no := c.around.Permits.MayEvict(ctx, gate.Act{Do: gate.Evict, Node: p.ref.Node, Domain: found.domain, Pod: found.object, Why: c.because(p)})
		if no != nil {
			defer c.around.Out.Deliver()
			return c.refuse(p, no, asked, c.around.Permits.Closed(found.domain) != nil)
		}
		found = c.check(p) // that may have taken time
	}
	c.around.Out.Deliver()
	switch {
	case !found.due && found.wait > 0:
		return timedworker.Blocked(found.wait)
	case !found.due:
		return timedworker.Forget()
	}
	if !c.around.Evicted.Begin(p.ref.PodKey) {
		return timedworker.Blocked(c.cfg.RetryInitial)
	}
	defer c.around.Evicted.End(p.ref.PodKey)
	because, why := c.because(p), c.decided(p)
	err := environment.ErrEnded // and stays so if the client ends the goroutine
	defer func() {
		result = c.tried(p, why, err)
		c.around.Out.Deliver()
	}()
	err = c.around.Guard(p.ref.PodKey, func() error { return c.clients.Evicter.Evict(ctx, p.ref, because) })
	return result
}

// because is the reason for the eviction, by the clock below and for others to keep.
func (c *Controller) because(p *pod) taints.Deadline {
	c.mu.Lock()
	defer c.mu.Unlock()
	why, taint := p.why, *p.why.Taint
	taint.TimeAdded = nil
	why.At, why.Taint = c.around.Shown(why.At), &taint
	return why
}

// decided is the decision that is reported if the eviction succeeds.
func (c *Controller) decided(p *pod) Decision {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.decision(p, PodEvicted, "", nil)
}

// refuse has an eviction wait that is refused: until the time that the refusal names or, without one, for longer each time.
// It is reported once, and again when its text changes. closed says that no pod may leave there now: those that wait for
// that must not all leave at one instant afterwards.
func (c *Controller) refuse(p *pod, no *gate.Refused, asked int, closed bool) timedworker.Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.words != no.Error() {
		c.decide(c.decision(p, EvictionDelayed, no.Reason, no))
	}
	p.delayed, p.words = no.Reason, no.Error()
	p.refused++
	if p.closed = closed; closed {
		p.refused = 1
		if taints.OwnNoExecute(p.why.Taint) && c.clients.Verdicts != nil {
			p.overdue = true
			c.clients.Verdicts.Overdue(p.ref.Node)
		}
	}
	wait := c.around.AskAgain(no, p.refused, asked, timedworker.Backoff{Initial: c.cfg.GateInterval, Max: c.cfg.RetryMax, Factor: 2, Jitter: c.opts.Jitter})
	if p.again = c.mu.Now.Add(wait); closed {
		p.again = time.Time{}
	}
	return timedworker.Blocked(wait)
}

// tried records the result of a call and says when to try again, if at all.
func (c *Controller) tried(p *pod, why Decision, err error) timedworker.Result {
	if no := c.around.Refused(err); no != nil {
		c.mu.Lock()
		p.words = "" // so that each is reported
		c.mu.Unlock()
		return c.refuse(p, no, c.around.Permits.Asked(), false)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil || apierrors.IsNotFound(err) {
		c.around.Evicted.Note(p.ref)
		if p.armed = false; err == nil {
			c.decide(why)
		}
		return timedworker.Forget()
	}
	c.decide(Decision{Kind: WriteFailed, Pod: p.ref, Toleration: -1, Reason: "eviction", Err: fmt.Errorf("evicting pod %s: %w", p.ref.PodKey, err)})
	return timedworker.Retry(err)
}
