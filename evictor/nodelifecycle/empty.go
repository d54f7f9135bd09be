package nodelifecycle

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/internal/environment"
	"github.com/evictkit/evictkit/evictor/internal/seen"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/timedworker"
	"github.com/evictkit/evictkit/zone"
)

// Without TaintBasedEviction a turn empties the node: its pods are deleted, whatever they tolerate.

// empty begins that.
func (e *engine) empty(n *node) {
	for pod := range e.podsOn(n.name) {
		e.emptyPod(n, pod, true)
	}
	reason := ""
	if len(n.leaving) == 0 {
		reason = "NoPods"
	}
	e.noteEmptied(n, reason)
}

// emptyPod has one pod deleted: when the node has its turn, which tries again what failed, or, if the pod comes later, at
// once.
func (e *engine) emptyPod(n *node, pod *v1.Pod, turn bool) {
	switch why := spared(pod); {
	case !n.sees(pod) || pod.DeletionTimestamp != nil || e.around.Evicted.Was(pod):
	case why != "" && !n.pods[pod.UID].spared:
		is := n.pods[pod.UID]
		is.spared = true
		n.keep(pod.UID, is)
		e.decide(Decision{Kind: PodSpared, Node: n.name, Pod: cluster.RefOf(pod), Reason: why})
	case why == "":
		if n.leaving == nil {
			n.leaving = make(map[cluster.PodKey]parted)
		}
		was, again := n.leaving[cluster.KeyOf(pod)], timedworker.KeepFirst
		if was.uid != pod.UID || turn && was.tried >= failed {
			was, again = parted{uid: pod.UID, why: was.why}, timedworker.Replace
		}
		n.leaving[cluster.KeyOf(pod)] = was
		e.deletes.ScheduleEntry(timedworker.Entry[cluster.PodKey, cluster.PodRef]{
			Key: cluster.KeyOf(pod), Identity: string(pod.UID), Value: cluster.RefOf(pod), Due: e.mu.Now, OnDuplicate: again,
		})
	}
}

// spared returns why a pod stays on a node that is emptied.
func spared(pod *v1.Pod) string {
	if owner := metav1.GetControllerOf(pod); owner != nil && owner.Kind == "DaemonSet" {
		return "DaemonSet"
	}
	return seen.Spared(pod)
}

// remove is the work of deletes. It checks everything once more, then calls the API without any lock held.
func (c *Controller) remove(ctx context.Context, w podWork) (result timedworker.Result) {
	ref := w.Value
	pod, domain, wait, due := c.removable(ref)
	if asked := c.around.Permits.Asked(); due && c.around.Permits.Asks() {
		no := c.around.Permits.MayEvict(ctx, gate.Act{Do: gate.Evict, Node: ref.Node, Domain: domain, Pod: pod, Why: c.because()})
		if no != nil {
			defer c.around.Out.Deliver()
			return c.delay(ref, no, asked)
		}
		_, _, wait, due = c.removable(ref) // that may have taken time
	}
	if !due {
		if wait > 0 {
			return timedworker.Blocked(wait)
		}
		return timedworker.Forget()
	}
	if !c.around.Evicted.Begin(ref.PodKey) {
		return timedworker.Blocked(c.cfg.RetryInitial)
	}
	defer c.around.Evicted.End(ref.PodKey)
	err := environment.ErrEnded // and stays so if the client ends the goroutine
	defer func() {
		result = c.removed(ref, err)
		c.around.Out.Deliver()
	}()
	err = c.guard(ref.PodKey, func() error { return c.clients.PodWriter.Evict(ctx, ref, c.because()) })
	return result
}

// because is why a pod leaves a node that is emptied.
func (c *Controller) because() taints.Deadline {
	return taints.Deadline{At: c.around.Shown(c.around.Now()), Toleration: -1}
}

// removable says whether the pod is to be deleted now or, if that may still become so, when to ask again.
func (c *Controller) removable(ref cluster.PodRef) (pod *v1.Pod, domain zone.Key, wait time.Duration, due bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.nodes[ref.Node]
	if n == nil {
		return nil, domain, 0, false
	}
	pod, _ = c.clients.Pods.Pod(ref.PodKey)
	object := c.current(n)
	switch s := c.standing(n); {
	case s.wanted() && n.turn == nil && !n.emptied: // refused in a turn that is over: its backoff goes on
		return nil, domain, c.cfg.GateInterval, false
	case !s.wanted():
		n.lapsed = n.emptied // what is left of its pods goes when it is wanted again
		c.noteLeft(n, ref, nil)
		return nil, domain, 0, false
	case !ref.Shows(pod) || pod.DeletionTimestamp != nil || spared(pod) != "" || c.around.Evicted.Was(pod):
		c.noteLeft(n, ref, nil)
		return nil, domain, 0, false
	case !n.sees(pod):
		return nil, domain, c.cfg.GateInterval, false
	case n.leaving[ref.PodKey].again.After(c.mu.Now):
		return nil, domain, n.leaving[ref.PodKey].again.Sub(c.mu.Now), false
	case object == nil || s == reported || c.unclear(n) || !c.settled(n):
		return nil, domain, c.untilPass(n), false
	}
	return pod, n.domain, 0, true
}

// noteLeft records how far the deletion of a pod is, nil for over, and ends the node's turn if it was the last.
func (c *Controller) noteLeft(n *node, ref cluster.PodRef, how *parted) {
	if was, ok := n.leaving[ref.PodKey]; ok && was.uid == ref.UID {
		if delete(n.leaving, ref.PodKey); how != nil {
			n.leaving[ref.PodKey] = *how
		}
	}
	c.noteEmptied(n, "")
}

// noteEmptied ends the node's turn once each of its pods was tried.
func (e *engine) noteEmptied(n *node, reason string) {
	how := done
	for _, pod := range n.leaving {
		switch pod.tried {
		case untried:
			return
		case lost:
			how = again
		case failed:
			if how == done {
				how = spent
			}
		}
	}
	switch {
	case n.turn == nil:
	case !e.standing(n).wanted():
		e.endTurn(n, dropped)
	case how != done:
		e.endTurn(n, how)
	default:
		n.emptied = true
		e.decide(Decision{Kind: NodeEmptied, Node: n.name, NodeUID: n.uid, Reason: reason})
		e.endTurn(n, done)
	}
}

// delay has the deletion of a pod wait. It is reported when the reason changes.
func (c *Controller) delay(ref cluster.PodRef, no *gate.Refused, asked int) timedworker.Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.nodes[ref.Node]
	if n == nil {
		return timedworker.Forget()
	}
	how := n.leaving[ref.PodKey]
	if how.why != no.Error() {
		c.decide(Decision{Kind: PodDelayed, Node: ref.Node, Pod: ref, Reason: no.Reason, Err: no})
	}
	how.times, how.why = how.times+1, no.Error()
	if n.turn != nil && c.around.Permits.Closed(n.domain) != nil {
		how.tried = failed // the node needs another turn, so that the pace holds
		c.noteLeft(n, ref, &how)
		return timedworker.Forget()
	}
	wait := c.around.AskAgain(no, how.times, asked, timedworker.Backoff{Initial: c.cfg.GateInterval, Max: c.cfg.RetryMax, Factor: 2, Jitter: c.opts.Jitter})
	how.tried, how.again = refused, c.mu.Now.Add(wait)
	c.noteLeft(n, ref, &how)
	return timedworker.Blocked(wait)
}

// removed records the result of a call and says when to try again, if at all.
func (c *Controller) removed(ref cluster.PodRef, err error) timedworker.Result {
	if no := c.around.Refused(err); no != nil {
		return c.delay(ref, no, c.around.Permits.Asked())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.nodes[ref.Node]
	switch {
	case err == nil || apierrors.IsNotFound(err):
		c.around.Evicted.Note(ref)
		if err == nil {
			c.decide(Decision{Kind: PodEvicted, Node: ref.Node, Pod: ref, Reason: "PodEvictionTimeout"})
		}
		if n != nil {
			c.noteLeft(n, ref, nil)
		}
		return timedworker.Forget()
	case n == nil:
		return timedworker.Forget()
	}
	c.decide(Decision{Kind: WriteFailed, Node: ref.Node, Pod: ref, Reason: "eviction", Err: fmt.Errorf("evicting pod %s: %w", ref.PodKey, err)})
	how := n.leaving[ref.PodKey]
	if how.tried = failed; environment.Unknown(err) {
		how.tried = lost
	}
	spends := n.turn != nil
	c.noteLeft(n, ref, &how)
	if spends {
		return timedworker.Forget() // the node's next turn tries it again
	}
	return timedworker.Retry(err)
}
