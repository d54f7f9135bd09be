package tainteviction

import (
	"cmp"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/internal/seen"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/timedworker"
)

// decideOn says when, if at all, the pod is to be evicted. It is where deadlines are made.
func (e *engine) decideOn(p *pod, object *v1.Pod, own cluster.Own) {
	why := e.deadline(p, object, own.Wanted)
	switch {
	case e.around.Evicted.Was(object), object.DeletionTimestamp != nil: // it goes anyway: cancel without a report
		e.disarm(p, "")
	case seen.Spared(object) != "":
		e.disarm(p, seen.Spared(object))
	case why.Forever:
		e.disarm(p, p.reason(own))
	case !p.armed:
		e.arm(p, why, EvictionArmed)
	case !p.same(why, e.mu.Now):
		e.arm(p, why, EvictionMoved)
	case p.waits(e.mu.Now): // the node's new state may permit it now
		e.armed.Schedule(p.ref, p, e.mu.Now)
	}
}

// waits says whether the pod is due, and neither its own refusal nor its deadline holds it back.
func (p *pod) waits(now time.Time) bool {
	return p.armed && p.delayed != "" && !p.again.After(now)
}

func (e *engine) arm(p *pod, why taints.Deadline, kind Kind) {
	p.why, p.armed, p.delayed, p.no = why, true, "", nil
	if p.overdue = p.overdue && !why.At.After(e.mu.Now); !why.At.After(e.begun) {
		e.overdue(p)
	}
	due := why.At
	if p.again.After(due) {
		due = p.again
	}
	e.armed.Schedule(p.ref, p, due)
	e.decide(e.decision(p, kind, "", nil))
}

// overdue has the pod leave with its node, at the zone's rate, if it leaves by our own taint. tellOverdue follows, but not during a
// visit of the store, which may have locked what whoever is told waits for.
func (e *engine) overdue(p *pod) {
	if taints.OwnNoExecute(p.why.Taint) && e.clients.Verdicts != nil {
		p.overdue, p.node.untold = true, true
	}
}

// tellOverdue tells whoever judges the node of pods that are overdue.
func (e *engine) tellOverdue(n *node) {
	if n.untold {
		n.untold = false
		e.clients.Verdicts.Overdue(n.name)
	}
}

// disarm cancels the pod's eviction. An empty reason means not to report it. If it is being tried, what comes of that is seen
// afterwards.
func (e *engine) disarm(p *pod, reason string) {
	if e.armed.Cancel(p.ref) == timedworker.InFlight {
		e.armed.Schedule(p.ref, p, e.mu.Now)
	} else {
		e.cancelled(p, reason)
	}
}

// cancelled says once that an eviction does not come.
func (e *engine) cancelled(p *pod, reason string) {
	if p.armed && reason != "" {
		p.no, p.refused, p.again = nil, 0, time.Time{} // if it is armed again, that is another question
		e.decide(Decision{Kind: EvictionCancelled, Pod: p.ref, Toleration: -1, Reason: reason})
	}
	p.armed = false
}

func (e *engine) forget(p *pod, reason string) {
	if e.armed.Cancel(p.ref) != timedworker.InFlight {
		e.cancelled(p, reason)
	}
	delete(p.node.pods, p.ref.PodKey)
	delete(e.pods, p.ref.PodKey)
}

// notSettled is the Why of a node whose next verdict decides.
const notSettled = "NotSettled"

// reason returns why an eviction is no longer wanted: what became of its taint.
func (p *pod) reason(own cluster.Own) string {
	switch {
	case p.why.Taint == nil: // it never was
		return ""
	case taints.OwnNoExecute(p.why.Taint) && !own.Wanted && (own.Why != notSettled || len(p.node.taints) > 0):
		return cmp.Or(own.Why, "Unwanted")
	case p.node.taints.Has(p.why.Taint):
		return "Tolerated"
	}
	return "TaintRemoved"
}
