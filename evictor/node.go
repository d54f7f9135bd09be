//go:build !thin

package evictor

import (
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/internal/gate"
	"github.com/evictkit/evictkit/evictor/internal/node"
	"github.com/evictkit/evictkit/evictor/internal/pods"
)

// syncNode reads the node again, notes what it says, and schedules what follows.
func (e *engine) syncNode(name string) {
	object, s := e.look(name)
	if s == another && e.monitor.ObserveNodeAt(object, e.read).Stale { // the node that had the name before
		s = older
	}
	rec := e.records[name]
	if rec != nil && (s == missing || s == another) {
		e.forgetNode(rec, s == another)
		rec = nil
	}
	if s == missing || s == older {
		return
	}
	if rec == nil {
		rec = &record{name: name, uid: object.UID, seen: e.now, domain: e.opts.Domain(object), pods: pods.Node{Name: name}, allowance: e.allowance.Came(name, e.started, e.read)}
		e.records[name], e.attention[name] = rec, rec
		e.decide(Decision{Kind: NodeRegistered, Node: name, NodeUID: rec.uid})
		e.note(rec, object, e.monitor.ObserveNodeAt(object, e.read).Heartbeat)
	}
	about := e.about(rec)
	if about.Failing() {
		e.attention[name] = rec
	}
	if s := about.Standing(); s == node.Reported || s == node.Tainted { // by another replica, say
		e.dequeue(rec, about.Why())
	}
	e.follows(rec, about, object)
}

// follows does what follows from the facts about a node: whether it counts as failed, which of its pods leave when, and
// which writes it needs. object is nil if the store does not show the node as it is.
func (e *engine) follows(rec *record, about node.Facts, object *v1.Node) {
	e.recount(rec, about)
	e.arm(rec, about)
	if object != nil && e.cfg.Half != TaintEviction {
		e.scheduleWrites(rec, about, object)
	}
}

// forgetNode drops everything about a node that is gone or whose name another node has taken. The pods of a deleted node
// are not ours to evict.
func (e *engine) forgetNode(rec *record, replaced bool) {
	e.decide(Decision{Kind: NodeRemoved, Node: rec.name, NodeUID: rec.uid, Reason: "deleted"})
	e.pods.Remove(&rec.pods, replaced)
	e.carryOut()
	e.monitor.Forget(rec.name, rec.uid)
	e.zones.RemoveIdentity(rec.name, string(rec.uid))
	if e.turns.Of(rec.name) != nil {
		e.inbox.Kick() // its turn is free: Run hands out the next
	}
	e.turns.Forget(rec.name)
	e.gates.Unwait(rec.name)
	e.gates.Forget(rec.name)
	e.allowance.Forget(&rec.allowance, e.read)
	e.marks.Heard(rec.name)
	e.unsuspect(rec.name)
	delete(e.attention, rec.name)
	delete(e.records, rec.name)
	e.left = true
	e.writes.Cancel(rec.name)
	e.lifts.Cancel(rec.name)
	e.tried(task{node: rec.name}, 0)
	e.tried(task{node: rec.name, lift: true}, 0)
}

// scheduleWrites schedules the writes that the node needs.
func (e *engine) scheduleWrites(rec *record, about node.Facts, object *v1.Node) {
	p := e.planNode(rec, about, object)
	if p.Lift {
		schedule(e.lifts, rec, e.read)
	}
	if rest := p.Rest(); !rest.Nothing() {
		schedule(e.writes, rec, e.read)
	}
}

// planNode plans the writes that the node needs. If harm is left out for want of a permission, the node waits for that
// permission.
func (e *engine) planNode(rec *record, about node.Facts, object *v1.Node) node.Plan {
	about.NoHarm = e.may(gate.Harm, rec) != nil
	p := rec.Plan(about, object, e.pods.Outage(&rec.pods, object.Spec.Taints))
	if p.Waits {
		e.gates.Wait(gate.Harm, rec.domain, rec.name)
	}
	return p
}
