package nodelifecycle

import (
	"context"
	"fmt"
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/internal/environment"
	"github.com/evictkit/evictkit/evictor/internal/seen"
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
	if n.sees(pod) && pod.DeletionTimestamp == nil && !n.pods[pod.UID].marked && isReady(pod) {
		e.marks.ScheduleEntry(timedworker.Entry[cluster.PodRef, struct{}]{Key: cluster.RefOf(pod), Due: e.mu.Now, OnDuplicate: timedworker.KeepFirst})
	}
}

func isReady(pod *v1.Pod) bool {
	is := func(c v1.PodCondition) bool { return c.Type == v1.PodReady && c.Status == v1.ConditionTrue }
	return seen.Spared(pod) != "Completed" && slices.ContainsFunc(pod.Status.Conditions, is)
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
