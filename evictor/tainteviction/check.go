package tainteviction

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/internal/seen"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/zone"
)

// check reads the pod and its node again and returns the pod, and where it counts, if it is to be evicted now. If not, it
// returns nil and when to check again, 0 for never. It is the last word.
func (e *engine) check(p *pod) (due *v1.Pod, domain zone.Key, wait time.Duration) {
	if e.pods[p.ref.PodKey] != p {
		return nil, domain, 0
	}
	n, object := p.node, e.readPod(p.ref.PodKey)
	own, shown := e.look(n)
	switch {
	case !shown || p.newer(object):
		p.delayed, n.stale = "NotShown", true // so that the node's next event begins a round
		return nil, domain, e.cfg.GateInterval
	case !p.ref.Shows(object) || object.DeletionTimestamp != nil || e.around.Evicted.Was(object):
		p.armed = false
		e.around.Inbox.Pod(p.ref.PodKey)
		return nil, domain, 0
	}
	if n.stale = n.stale || own.Wanted != n.ours; n.stale {
		e.around.Inbox.Node(n.name)
	}
	why := e.deadline(p, object, own.Wanted)
	reason := seen.Spared(object)
	if reason == "" && why.Forever {
		reason = p.reason(own)
	}
	if reason != "" || why.Forever {
		e.cancelled(p, reason)
		return nil, domain, 0
	}
	why, wait, because := e.earliest(p, object, why, own)
	p.why = why
	if because == "" {
		return object, own.Domain, 0
	}
	if because != "NotDue" && e.around.Permits.Closed(own.Domain) != nil {
		e.overdue(p)
		e.tellOverdue(p.node)
	}
	if because == notSettled && p.delayed != because {
		p.no = nil
		e.decide(e.decision(p, EvictionDelayed, because, nil))
	}
	if because != "NotDue" {
		p.delayed = because
	}
	return nil, domain, wait
}

// earliest says by which taint the pod leaves first: what holds back evictions by our own does not hold back others'.
func (e *engine) earliest(p *pod, object *v1.Pod, why taints.Deadline, own cluster.Own) (by taints.Deadline, wait time.Duration, because string) {
	wait, because = e.holdsBack(p, why, own)
	if because == "" || !taints.OwnNoExecute(why.Taint) {
		return why, wait, because
	}
	if others := e.deadline(p, object, false); !others.Forever {
		w, b := e.holdsBack(p, others, own)
		if b == "" {
			return others, w, b
		}
		wait = min(wait, w)
	}
	return why, wait, because
}

// holdsBack says what an eviction waits for, if anything, and for how long. For our own taints the verdict counts, not the
// taint.
func (e *engine) holdsBack(p *pod, why taints.Deadline, own cluster.Own) (wait time.Duration, because string) {
	ours := taints.OwnNoExecute(why.Taint)
	switch {
	case why.At.After(e.mu.Now):
		return why.At.Sub(e.mu.Now), "NotDue"
	case ours && own.Wait > 0:
		return own.Wait, notSettled
	case ours && p.overdue && own.Overdue:
		return e.cfg.RetryMax, "Overdue"
	case p.again.After(e.mu.Now):
		return p.again.Sub(e.mu.Now), "NotDue"
	}
	return 0, ""
}
