package evictor

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/internal/turns"
	"github.com/evictkit/evictkit/health"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/timedworker"
	"github.com/evictkit/evictkit/zone"
)

// syncNode reads the node again and notes what it says; e.mu is held. It writes nothing.
func (e *Evictor) syncNode(name string, now time.Time) {
	node, s := e.look(name)
	if s == another && e.monitor.ObserveNode(node).Stale { // what was there before
		s = older
	}
	rec := e.records[name]
	if rec != nil && (s == missing || s == another) {
		e.forgetNode(rec, now)
		rec = nil
	}
	if s == missing || s == older {
		return
	}
	if rec == nil {
		rec = e.register(node, now)
	}
	if e.failing(rec) {
		e.attention[name] = rec
		switch {
		case e.saysReady(rec):
			e.dequeue(rec, "NodeReady", now)
		case e.carries(rec) && e.turns.Of(rec.name) == nil:
			e.dequeue(rec, "Tainted", now) // by another replica, say
		}
	}
	e.recount(rec)
	e.arm(rec, now)
	e.scheduleWrites(rec, node, now)
}

// register begins to watch a node; e.mu is held.
func (e *Evictor) register(node *v1.Node, now time.Time) *record {
	rec := &record{name: node.Name, uid: node.UID, zone: zone.KeyOf(node.Labels)}
	e.records[rec.name] = rec
	e.attention[rec.name] = rec
	e.decide(Decision{Time: now, Kind: NodeRegistered, Node: rec.name, NodeUID: rec.uid})
	e.note(rec, node, e.monitor.ObserveNode(node).Heartbeat)
	return rec
}

// forgetNode drops everything about a node that is gone, or whose name another one has now. The pods
// of a deleted node are not ours to evict.
func (e *Evictor) forgetNode(rec *record, now time.Time) {
	e.decide(Decision{Time: now, Kind: NodeRemoved, Node: rec.name, NodeUID: rec.uid, Reason: "deleted"})
	for _, key := range sortedPods(rec.pods) {
		e.cancelPod(key, rec.pods[key], "NodeDeleted", now)
		e.untrack(key, rec)
	}
	e.monitor.Forget(rec.name, rec.uid)
	e.zones.RemoveIdentity(rec.name, string(rec.uid))
	if e.turns.Of(rec.name) != nil {
		e.inbox.kick() // Run looks for the next one
	}
	e.turns.Forget(rec.name)
	delete(e.gates.waiting, rec.name)
	e.evicted.Forget(rec.name)
	delete(e.bad, rec.name)
	delete(e.attention, rec.name)
	delete(e.records, rec.name)
	e.left = true
	e.writes.Cancel(rec.name)
	e.lifts.Cancel(rec.name)
	e.outage.Ended(task{node: rec.name}, now)
	e.outage.Ended(task{node: rec.name, lift: true}, now)
}

// nodePlan is what is to be written to a node now.
type nodePlan struct {
	conditions []v1.NodeCondition
	change     taints.Change
	labels     map[string]string
	mark       bool
	empty      bool        // delete its pods, without taints
	lift       bool        // the change takes NoExecute taints away, or adds none
	turn       *turns.Turn // what the plan counts on

	// What became of it, as the write goes on.
	tainted  bool // the node has its NoExecute taint
	heldBack bool // taints were left out, because they are not permitted or wanted any more
	again    bool // there is more to do, when those that wait have had their turn
}

func (p *nodePlan) nothing() bool {
	return len(p.conditions) == 0 && p.change.Empty() && len(p.labels) == 0 && !p.mark && !p.empty
}

// planNode compares the node with what it should be; e.mu is held. It is pure but for reading the
// record, and cheap when nothing differs.
func (e *Evictor) planNode(rec *record, node *v1.Node, now time.Time) nodePlan {
	p := nodePlan{turn: e.turns.Of(rec.name)}
	conditions := node.Status.Conditions
	if rec.verdict.Expired && rec.writeConditions && !rec.beatSince {
		p.conditions = health.UnknownConditions(node, now)
		conditions = overlay(conditions, p.conditions)
	}
	want := taints.ForConditions(conditions, node.Spec.Unschedulable)
	if e.held(rec) != "" {
		want = cordoned(node)
	}
	managed := taints.OwnNoSchedule
	if e.cfg.TaintBasedEviction {
		managed = managedByUs
		has := hasOwnNoExecute(node)
		switch execute, keep := e.wantNoExecute(rec, has); {
		case keep && has:
			want = append(want, ownOf(node.Spec.Taints)...)
			want = keepWithNoExecute(want, node.Spec.Taints)
		case execute.Key != "":
			execute.TimeAdded = rec.taints.Outage(node.Spec.Taints, e.own)
			want = append(want, execute)
			want = keepWithNoExecute(want, node.Spec.Taints)
		case has:
			p.lift = true
		}
	}
	p.change = taints.Diff(node.Spec.Taints, want, managed)
	if e.gates.harm.err != nil {
		p.change = withoutHarm(p.change)
	}
	p.lift = p.lift || len(p.change.Add) == 0 && len(p.change.Remove) > 0
	p.labels = staleLabels(node.Labels)
	p.mark = rec.markPods && rec.verdict.Ready == v1.ConditionUnknown && !rec.beatSince && !rec.waitSettle && !e.zones.AllDown()
	p.empty = !e.cfg.TaintBasedEviction && e.gates.harm.err == nil && (rec.emptied && e.failing(rec) && (rec.podsChanged || !now.Before(rec.budgets)) || !rec.emptied && p.turn != nil) && e.held(rec) == "" && !rec.waitSettle
	return p
}

// wantNoExecute is the taint that the verdict asks for, if it may be there: it is there in some form
// already, or the zone's rate has just allowed it. keep leaves what there is.
func (e *Evictor) wantNoExecute(rec *record, has bool) (taint v1.Taint, keep bool) {
	switch {
	case !rec.known:
		return v1.Taint{}, true
	case e.held(rec) != "" || e.zones.AllDown() || rec.verdict.Ready == v1.ConditionTrue:
		return v1.Taint{}, false
	case rec.verdict.Ready == "":
		return v1.Taint{}, true
	case has || e.turns.Of(rec.name) != nil && !rec.waitSettle:
		taint, _ = taints.ForReady(rec.verdict.Ready)
		return taint, false
	}
	return v1.Taint{}, false
}

func managedByUs(t *v1.Taint) bool { return taints.OwnNoSchedule(t) || taints.OwnNoExecute(t) }

func ownOf(have []v1.Taint) (own []v1.Taint) {
	for i := range have {
		if taints.OwnNoExecute(&have[i]) {
			own = append(own, have[i])
		}
	}
	return own
}

// cordoned keeps the taint of a cordoned node, which its operator asked for and not we, where it is.
func cordoned(node *v1.Node) (kept []v1.Taint) {
	for _, t := range node.Spec.Taints {
		if node.Spec.Unschedulable && t.Key == v1.TaintNodeUnschedulable && t.Effect == v1.TaintEffectNoSchedule {
			kept = append(kept, t)
		}
	}
	return kept
}

// keepWithNoExecute keeps the NoSchedule taint of an unready node for as long as its NoExecute one
// stays, so that both are lifted in one write and no pod is scheduled only to be evicted.
func keepWithNoExecute(want, have []v1.Taint) []v1.Taint {
	for i := range want {
		if ofReady(&want[i]) {
			return want
		}
	}
	for i := range have {
		if ofReady(&have[i]) {
			want = append(want, have[i])
		}
	}
	return want
}

func ofReady(t *v1.Taint) bool {
	return t.Effect == v1.TaintEffectNoSchedule && (t.Key == v1.TaintNodeNotReady || t.Key == v1.TaintNodeUnreachable)
}

// withoutHarm leaves of a change what needs no permission: lifting. What replaces one of our taints by
// another is left for later as a whole.
func withoutHarm(c taints.Change) taints.Change {
	swaps := map[v1.TaintEffect]bool{}
	for i := range c.Add {
		swaps[c.Add[i].Effect] = swaps[c.Add[i].Effect] || c.Add[i].Key == v1.TaintNodeNotReady || c.Add[i].Key == v1.TaintNodeUnreachable
	}
	var lift taints.Change
	for _, t := range c.Remove {
		if !(swaps[t.Effect] && (t.Key == v1.TaintNodeNotReady || t.Key == v1.TaintNodeUnreachable)) {
			lift.Remove = append(lift.Remove, t)
		}
	}
	return lift
}

// overlay returns the conditions with those of changed in place of their namesakes.
func overlay(conditions, changed []v1.NodeCondition) []v1.NodeCondition {
	if len(changed) == 0 {
		return conditions
	}
	merged := append(make([]v1.NodeCondition, 0, len(conditions)+len(changed)), conditions...)
next:
	for _, c := range changed {
		for i := range merged {
			if merged[i].Type == c.Type {
				merged[i] = c
				continue next
			}
		}
		merged = append(merged, c)
	}
	return merged
}

// staleLabels are the deprecated labels that differ from the stable ones, which are the truth.
func staleLabels(labels map[string]string) (stale map[string]string) {
	for _, pair := range [...][2]string{{v1.LabelOSStable, "beta.kubernetes.io/os"}, {v1.LabelArchStable, "beta.kubernetes.io/arch"}} {
		value, ok := labels[pair[0]]
		if !ok {
			continue
		}
		if old, same := labels[pair[1]]; !same || old != value {
			if stale == nil {
				stale = make(map[string]string, 2)
			}
			stale[pair[1]] = value
		}
	}
	return stale
}

// scheduleWrites lets a worker write what differs; e.mu is held.
func (e *Evictor) scheduleWrites(rec *record, node *v1.Node, now time.Time) {
	p := e.planNode(rec, node, now)
	if p.nothing() {
		return
	}
	if p.lift {
		wake(e.lifts, rec, now)
	}
	if !p.lift || len(p.conditions) > 0 || len(p.labels) > 0 || p.mark || p.empty {
		wake(e.writes, rec, now)
	}
}

// wake lets a worker look at the node now; e.mu is held. What failed waits for its backoff all the same, or
// events that a try causes would make it try for ever: it reads the truth when it runs. What is under way
// may not know of it, and runs once more.
func wake(set *timedworker.Set[string, struct{}], rec *record, now time.Time) {
	set.ScheduleEntry(timedworker.Entry[string, struct{}]{Key: rec.name, Due: now, OnDuplicate: timedworker.KeepEarliest})
}
