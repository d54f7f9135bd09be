package nodelifecycle

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
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

func (e *engine) podsOn(node string) iter.Seq[*v1.Pod] {
	return func(yield func(*v1.Pod) bool) {
		e.clients.Pods.PodsOnNode(node, func(object *v1.Pod) bool { return object.Spec.NodeName != node || yield(object) })
	}
}

// markPods schedules the marking of a silent node's pods as not Ready, once for each pod and outage.
func (e *engine) markPods(n *node) {
	if e.marksNow(n) {
		for pod := range e.podsOn(n.name) {
			e.markPod(n, pod)
		}
	}
}

// marksNow says whether the node's pods are to be marked. Marking is no harm, so a hold does not prevent it.
func (e *engine) marksNow(n *node) bool {
	return n.verdict.Ready == v1.ConditionUnknown && n.says == v1.ConditionUnknown && !n.heard && !n.early && e.settled(n) && n.unread == nil && !e.zones.AllDown() && !e.unclear(n)
}

func (e *engine) markPod(n *node, pod *v1.Pod) {
	ready := slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodReady && c.Status == v1.ConditionTrue })
	if n.sees(pod) && ready && pod.DeletionTimestamp == nil && !n.pods[pod.UID].marked && seen.Spared(pod) != "Completed" {
		e.marks.ScheduleEntry(timedworker.Entry[cluster.PodRef, struct{}]{Key: cluster.RefOf(pod), Due: e.mu.Now, OnDuplicate: timedworker.KeepFirst})
	}
}

type podWork = timedworker.Work[cluster.PodRef, struct{}]

// mark is the work of marks.
func (c *Controller) mark(ctx context.Context, w podWork) (result timedworker.Result) {
	n, ref := c.markable(w.Key), w.Key
	if n != nil {
		_ = c.around.Permits.May(ctx, gate.Act{Do: gate.Write})
		n = c.markable(ref) // the answer may have taken time
	}
	switch {
	case n == nil:
		return timedworker.Forget()
	case c.around.Permits.Last(gate.Write, zone.Key{}) != nil:
		return timedworker.Blocked(c.cfg.GateInterval)
	}
	err := environment.ErrEnded
	defer func() {
		c.mu.Lock()
		if err != nil && !apierrors.IsNotFound(err) {
			result = timedworker.Retry(err)
			c.decide(Decision{Kind: WriteFailed, Node: n.name, Reason: "marking pods not Ready", Err: fmt.Errorf("marking pods not Ready of node %s: pod %s: %w", n.name, ref.PodKey, err)})
		} else if n.verdict.Ready == v1.ConditionUnknown {
			is := n.pods[ref.UID]
			is.marked = true
			n.keep(ref.UID, is)
		}
		if err == nil {
			c.decide(Decision{Kind: PodMarkedNotReady, Node: n.name, Pod: ref})
		}
		c.mu.Unlock()
		c.around.Out.Deliver()
	}()
	err = c.around.Guard(ref.PodKey, func() error { return c.clients.PodWriter.MarkNotReady(ctx, ref) })
	return result
}

// markable looks at the node again and returns it if the pod is still to be marked.
func (c *Controller) markable(ref cluster.PodRef) *node {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.nodes[ref.Node]
	pod, _ := c.clients.Pods.Pod(ref.PodKey)
	if _, gone := c.look(ref.Node); gone || n == nil || !ref.Shows(pod) || !c.marksNow(n) || n.pods[ref.UID].marked {
		return nil
	}
	return n
}

// Without TaintBasedEviction a turn empties the node: its pods are deleted, whatever they tolerate.

// empty begins that.
func (e *engine) empty(n *node) {
	for pod := range e.podsOn(n.name) {
		e.emptyPod(n, pod, true)
	}
	n.lapsed = false
	e.podsLeft(n)
	for key, pod := range n.leaving {
		if pod.tried >= shut { // the store shows no more to do
			delete(n.leaving, key)
		}
	}
	e.noteEmptied(n)
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
			n.leaving = make(map[cluster.PodRef]parted)
		}
		ref, again := cluster.RefOf(pod), timedworker.KeepFirst
		was, known := n.leaving[ref]
		if !known || turn && was.tried != untried && !was.again.After(e.mu.Now) {
			was, again = parted{no: was.no, times: was.times, lost: was.lost}, timedworker.Replace
		}
		n.leaving[ref] = was
		e.deletes.ScheduleEntry(timedworker.Entry[cluster.PodRef, struct{}]{Key: ref, Due: e.mu.Now, OnDuplicate: again})
	}
}

// spared returns why a pod stays on a node that is emptied.
func spared(pod *v1.Pod) string {
	if owner := metav1.GetControllerOf(pod); owner != nil && owner.Kind == "DaemonSet" {
		return "DaemonSet"
	}
	return seen.Spared(pod)
}

// remove is the work of deletes.
func (c *Controller) remove(ctx context.Context, w podWork) timedworker.Result {
	return c.around.Evict(ctx, w.Key, &removal{c, w.Key, nil}, c.clients.PodWriter, c.cfg.RetryInitial)
}

// removal is one try to delete a pod of a node that is emptied.
type removal struct {
	*Controller
	ref cluster.PodRef
	of  *node // on which it was at the last Check; another of its name has nothing to do with it
}

// Check says whether the pod is to be deleted now or, if that may still become so, when to ask again.
func (r *removal) Check() (act gate.Act, wait time.Duration, due bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ref, n := r.ref, r.nodes[r.ref.Node]
	if r.of = n; n == nil {
		return act, 0, false
	}
	pod, _ := r.clients.Pods.Pod(ref.PodKey)
	object := r.current(n)
	switch s := r.standing(n); {
	case !s.wanted():
		n.lapsed = true
		r.noteLeft(n, ref, nil)
		return act, 0, false
	case !ref.Shows(pod) || pod.DeletionTimestamp != nil || spared(pod) != "" || r.around.Evicted.Was(pod):
		r.noteLeft(n, ref, nil)
		return act, 0, false
	case !n.sees(pod), n.status != upToDate, n.turn == nil && !n.emptied: // its conditions come first, or another turn
		return act, r.cfg.GateInterval, false
	case n.leaving[ref].again.After(r.mu.Now):
		return act, n.leaving[ref].again.Sub(r.mu.Now), false
	case object == nil || r.unclear(n) || !r.settled(n):
		return act, r.untilPass(n), false
	}
	why := taints.Deadline{At: r.mu.Shown(r.mu.Now), Toleration: -1}
	return gate.Act{Do: gate.Evict, Node: ref.Node, Domain: n.domain, Pod: pod, Why: why}, 0, true
}

// Refused has the deletion wait. It is reported when the reason changes.
func (r *removal) Refused(no environment.Refusal) timedworker.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	ref, n := r.ref, r.nodes[r.ref.Node]
	if n != r.of {
		return timedworker.Forget()
	}
	how := n.leaving[ref]
	if how.no == nil || how.no.Error() != no.Error() {
		r.decide(Decision{Kind: PodDelayed, Node: ref.Node, Pod: ref, Reason: no.Reason, Err: no.Refused})
	}
	how.times, how.no = how.times+1, no.Refused
	if n.turn != nil && no.Closed {
		how.tried = shut // the node needs another turn, so that the pace holds
		r.noteLeft(n, ref, &how)
		return timedworker.Forget()
	}
	wait := no.Wait(how.times, timedworker.Backoff{Initial: r.cfg.GateInterval, Max: r.cfg.RetryMax, Factor: 2, Jitter: r.opts.Jitter})
	how.tried, how.again = refused, r.mu.Now.Add(wait)
	r.noteLeft(n, ref, &how)
	return timedworker.Blocked(wait)
}

// Tried records the result of a call and says when to try again, if at all.
func (r *removal) Tried(err error) timedworker.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	ref, n := r.ref, r.nodes[r.ref.Node]
	if err == nil {
		r.decide(Decision{Kind: PodEvicted, Node: ref.Node, NodeUID: r.of.uid, Pod: ref, Reason: "PodEvictionTimeout"})
	}
	switch {
	case n != r.of:
		return timedworker.Forget()
	case err == nil || apierrors.IsNotFound(err):
		n.begun = n.begun || err == nil
		r.noteLeft(n, ref, nil)
		return timedworker.Forget()
	}
	r.decide(Decision{Kind: WriteFailed, Node: ref.Node, Pod: ref, Reason: "eviction", Err: fmt.Errorf("evicting pod %s: %w", ref.PodKey, err)})
	how, spends := n.leaving[ref], n.turn != nil
	how.tried = failed
	if environment.OutcomeOf(err) == environment.Unknown {
		if how.lost = true; spends {
			n.unshown = r.unshownSince(false, "")
		}
	}
	r.noteLeft(n, ref, &how)
	if spends {
		return timedworker.Forget() // the node's next turn tries it again
	}
	return timedworker.Retry(err)
}

// noteLeft records how far the deletion of a pod is, nil for over, and ends the node's turn if it was the last.
func (e *engine) noteLeft(n *node, ref cluster.PodRef, how *parted) {
	if _, ok := n.leaving[ref]; ok && how != nil {
		n.leaving[ref] = *how
	} else {
		delete(n.leaving, ref)
	}
	e.noteEmptied(n)
}

// noteEmptied ends the node's turn once each of its pods was tried. Its outcome is that of the deletions: done if one was,
// not known while one is not known, else nothing was done. Then the node waits for another turn; so does what is left of its
// pods. Only pods that were refused while others left go later, each on its own.
func (e *engine) noteEmptied(n *node) {
	if n.turn == nil || e.cfg.TaintBasedEviction {
		return
	}
	most, soonest := untried, time.Duration(math.MaxInt64)
	for _, pod := range n.leaving {
		if pod.tried == untried && n.status == failing {
			pod.tried = shut // it is not deleted in this turn
		}
		if pod.tried == untried {
			return
		}
		most, soonest = max(most, pod.tried), min(soonest, max(e.cfg.GateInterval, pod.again.Sub(e.mu.Now)))
		n.held = cmp.Or(n.held, pod.no)
	}
	how := spent
	if n.begun {
		how = done
	}
	switch wanted := e.standing(n).wanted(); {
	case !wanted && how == spent:
		e.endTurn(n, dropped, over)
	case !wanted:
		e.endTurn(n, done, over)
	case most == untried && how == spent:
		n.emptied = true
		e.decide(Decision{Kind: NodeEmptied, Node: n.name, NodeUID: n.uid, Reason: "NoPods"})
		e.endTurn(n, dropped, over)
	case most <= refused && how == done:
		n.emptied, n.held = true, nil
		e.decide(Decision{Kind: NodeEmptied, Node: n.name, NodeUID: n.uid})
		e.endTurn(n, done, over)
	case most <= shut && how == spent: // nothing was done, and no answer says that it may be: the token is for another node
		e.endTurnUnused(n, soonest)
	case most <= shut:
		e.endTurn(n, how, soonest)
	default:
		e.endTurn(n, how, 0)
	}
}
