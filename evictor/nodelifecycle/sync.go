package nodelifecycle

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/timedworker"
	"github.com/evictkit/evictkit/zone"
)

// syncNode reads the node again, notes what it says, and schedules what follows.
func (e *engine) syncNode(name string) {
	object, gone := e.look(name)
	n := e.nodes[name]
	if n != nil && gone {
		e.forget(n)
		n = nil
	}
	if object == nil || n != nil && n.uid != object.UID {
		return
	}
	if n == nil {
		n = &node{name: name, uid: object.UID, seen: e.mu.Now, belongs: zone.KeyOf(object.Labels)} // while Domain panics
		n.domain, n.excluded, n.hold = e.facts(n, object)
		n.belongs = n.domain
		e.nodes[name], e.attention[name] = n, n
		e.decide(Decision{Kind: NodeRegistered, Node: name, NodeUID: n.uid, Zone: n.domain})
		e.note(n, object, e.monitor.ObserveNode(object).Heartbeat)
		if v, judged := e.monitor.Verdict(name); judged && v.UID == n.uid { // by a pass that knew the earlier node of its name
			e.judge(n, v)
		}
	}
	if n.failed() {
		e.attention[name] = n
	}
	if s := e.standing(n); s == reported || s == served { // by another replica, say
		e.dequeue(n, standings[s])
	}
	e.follows(n, object)
}

// syncPod reads the pod again: it may have to be marked not Ready, or be deleted.
func (e *engine) syncPod(key cluster.PodKey) {
	pod, ok := e.clients.Pods.Pod(key)
	if !ok || pod == nil {
		e.around.Evicted.Gone(key)
		return
	}
	e.around.Evicted.Was(pod)
	n := e.nodes[pod.Spec.NodeName]
	if n == nil {
		return
	}
	if n.failed() {
		n.sees(pod)
	}
	if e.marksNow(n) {
		e.markPod(n, pod)
	}
	switch s := e.standing(n); {
	case e.cfg.TaintBasedEviction:
	case pod.DeletionTimestamp != nil:
		e.resolve(n, "")
	case n.turn != nil && s == harmable, n.emptied && s == served:
		e.emptyPod(n, pod, false)
	case n.held != nil && s == harmable:
		e.askTurn(n, false) // it need not wait for the others
	default:
		n.lapsed = true
	}
}

func (e *engine) forget(n *node) {
	e.decide(Decision{Kind: NodeRemoved, Node: n.name, NodeUID: n.uid, Reason: "deleted"})
	e.monitor.Forget(n.name, n.uid)
	e.zones.Remove(n.name, string(n.uid))
	e.turns.Remove(n.turnKey(false))
	e.turns.Remove(n.turnKey(true))
	e.endTurn(n, dropped, over)
	delete(e.attention, n.name)
	delete(e.nodes, n.name)
	delete(e.unread, n.name)
	e.left = true
	e.writes.Cancel(n.name)
	e.lifts.Cancel(n.name)
}

// follows does what follows from what is known of a node. object is nil if the store does not show it as it is.
func (e *engine) follows(n *node, object *v1.Node) {
	if n.unshown != nil && n.unshown.until > 0 {
		e.attention[n.name] = n // until it is known whether it was done
	}
	if s := e.standing(n); s != n.told {
		n.told = s
		e.changed = append(e.changed, n.name)
	}
	if n.overdue && len(n.taints) == 0 {
		e.notOverdue(n)
	}
	e.markPods(n)
	if object == nil {
		return
	}
	p := e.planWrites(n, object, nil, false)
	if p.lift {
		schedule(e.lifts, n, e.mu.Now)
	}
	if !p.nothing() || p.held {
		schedule(e.writes, n, e.mu.Now)
	}
}

// schedule makes a worker look at the node at that time. Work that failed still waits for its backoff.
func schedule(set *timedworker.Set[string, struct{}], n *node, at time.Time) {
	set.ScheduleEntry(timedworker.Entry[string, struct{}]{Key: n.name, Due: at, OnDuplicate: timedworker.KeepEarliest})
}
