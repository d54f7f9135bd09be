package evictor_test

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/taints"
)

// What a process may do is judged when a write is about to be made. MayWrite stops every write and event (decision 4),
// a dry run every write, and TaintEviction those of nodes.
func (m *livesMind) mayWrite(ofNode bool) string {
	return livesRules{
		{"write without permission", !m.process.leads && !m.world.fresh(m.process.ledAt)},
		{"written while blind", m.process.blind != nil && !m.world.fresh(m.process.blindSince)},
		{"the other half writes", ofNode && m.world.plan.Half == livesTaintEviction},
	}.first()
}

// mayHarm is decision 4. A node that moves is in its new domain from the next pass on.
func (m *livesMind) mayHarm(known *livesNode) bool {
	w := m.world
	closed := w.closed[known.domain] != nil && w.closed[w.plan.domain(known.object)] != nil
	return w.fresh(w.shaken) || w.closed[livesAll] == nil && m.process.blind == nil && !closed
}

// failed says why the process must not take a node for failed, empty when it may.
func (m *livesMind) failed(known *livesNode) string {
	ready, _ := livesReady(known.object)
	return livesRules{
		{"it has no Ready condition", ready == "" && known.verdict != v1.ConditionFalse && known.verdict != v1.ConditionUnknown && !m.isSilent(known)},
		{"it is Ready and not silent", ready == v1.ConditionTrue && m.silence(known) < m.grace()},
		{"it is Ready and nobody confirms that it is silent", ready == v1.ConditionTrue && m.unconfirmed(known)},
	}.first()
}

// stays says why neither our own taints nor the timeout may evict from a node now, empty when they may. What failed says
// is row "our taints evict nothing from a node that has reported Ready".
func (m *livesMind) stays(known *livesNode) string {
	ready, _ := livesReady(known.object)
	return livesRules{
		{"it is held", m.held(known)},
		{m.failed(known), m.failed(known) != ""},
		{"row a failed node that loses its Ready condition leaves the queue, and its pods stay", ready == "" && !known.silent && !m.isSilent(known)},
		{"row an Unknown node that renews its lease keeps its pods", ready == v1.ConditionUnknown && m.silence(known) < m.grace()},
		{"it came failed, and was not watched for a grace (decision 1)", ready == v1.ConditionFalse && known.good.IsZero() && !known.turned && !m.confesses(known) && m.world.now.Sub(known.first) < m.grace()},
		{"row after every zone is down, nodes still failed wait one more grace", !m.confesses(known) && m.world.now.Sub(m.anew) < m.grace()},
	}.first()
}

func (m *livesMind) held(known *livesNode) bool {
	_, held := m.world.holds[known.object.Name]
	return held && !m.world.fresh(m.world.shaken) || m.world.plan.Hold && known.object.Annotations[livesHold] != ""
}

func (m *livesMind) due(end time.Time) bool { return !end.IsZero() && !end.After(m.world.now) }

// writes judges any write of a node: identity is the UID (decision 7).
func (m *livesMind) writes(node *v1.Node) string {
	known := m.nodes[node.Name]
	gone := m.process.seenNodes[node.Name] == nil || known == nil || known.object.UID != node.UID
	return livesRules{{m.mayWrite(true), m.mayWrite(true) != ""}, {"unknown node written", gone}}.first()
}

// stale: row "an object older than one seen before is ignored", for a grace.
func (m *livesMind) stale(known *livesNode, shown *v1.Node) bool {
	return livesVersion(shown) < known.newest && (known.older.IsZero() || m.world.now.Sub(known.older) < m.grace())
}

// revived: an older version is believed, perhaps since just after the last pass.
func (m *livesMind) revived(known *livesNode) bool {
	return livesVersion(known.object) < known.newest && m.world.now.Sub(known.changed) < m.world.config.Nodes.NodeMonitorPeriod
}

func (m *livesMind) updatesConditions(node *v1.Node, conditions []v1.NodeCondition) string {
	known := m.nodes[node.Name]
	crossed := m.world.plan.Run && known.beat.Equal(m.world.now) // a sign of life: that came after what was written was read
	return livesRules{
		{"verdict too soon", !known.silent && !crossed},
		{"verdict without an answer", m.unconfirmed(known) && !crossed},
		{"wrong condition", slices.ContainsFunc(conditions, func(c v1.NodeCondition) bool {
			return c.Status != v1.ConditionUnknown || c.Type == v1.NodeNetworkUnavailable
		})},
	}.first()
}

func (m *livesMind) updatesTaints(node *v1.Node, change taints.Change) string {
	added, foreign := livesNoExecute(change.Add)
	removed, alien := livesNoExecute(change.Remove)
	has, _ := livesNoExecute(node.Spec.Taints)
	known := m.nodes[node.Name]
	ready, _ := livesReady(known.object)
	unready := func(t v1.Taint) bool { return livesIsOwn(t.Key) && t.Effect == v1.TaintEffectNoSchedule }
	halved := m.world.plan.Taints && len(has) > len(removed) && slices.ContainsFunc(change.Remove, unready) && !slices.ContainsFunc(change.Add, unready)
	anew := func(t v1.Taint) bool {
		swaps := t.Effect == v1.TaintEffectNoExecute && slices.Contains(added, t.Key) && len(has) > 0
		return swaps && !t.TimeAdded.Time.Equal(known.taints[has[0]].added) && m.elapsed(t.TimeAdded.Time).After(known.taints[has[0]].late.Add(m.grace()))
	}
	harms := len(added) > 0
	fresh := harms && len(has) == 0 // a swap is no new harm
	return livesRules{
		{"stale", m.stale(known, node) && !m.world.fresh(known.changed)},
		{"foreign taint written", len(foreign)+len(alien) > 0},
		{"row NoSchedule and NoExecute are lifted in one write", halved},
		{m.unprotects(node, change), m.unprotects(node, change) != ""},
		{"row a swap of our two taints keeps its start and TimeAdded", slices.ContainsFunc(change.Apply(node.Spec.Taints, m.process.wall()), anew)},
		{"tainted without taints", harms && !m.world.plan.Taints},
		{"healthy node tainted: " + m.failed(known), harms && m.failed(known) != ""},
		{"held node tainted", harms && m.held(known)},
		{"wrong taint (decision 3: from the next pass or answer on)", harms && ready == v1.ConditionFalse && added[0] == v1.TaintNodeUnreachable && known.verdict != v1.ConditionUnknown && !known.fell && !(known.silent && !m.unconfirmed(known)) && !m.revived(known)},
		{"tainted without a turn", fresh && m.unasked(node.Name)},
		{"tainted without permission", fresh && !m.mayHarm(known)},
		{"tainted without an answer", fresh && ready == v1.ConditionUnknown && m.unconfirmed(known)},
		{"tainted while all are down", fresh && !m.downSince.IsZero()},
		{"row after every zone is down, nodes still failed wait one more grace", fresh && !m.confesses(known) && known.good.Before(known.again) && m.world.now.Sub(known.again) < m.grace()},
		{"row an evictor that begins to watch waits for one grace before it taints", fresh && m.early(known)},
		{"tainted in a zone that stands", fresh && m.stood(known.domain) && m.turn[node.Name].Equal(m.world.now)},
	}.first()
}

func (m *livesMind) evicts(ref evictor.PodRef, why taints.Deadline) string {
	known, pod, half := m.nodes[ref.Node], m.pods[ref.Name], m.world.plan.Half
	shown := m.process.seenPods[ref.Name]
	switch {
	case shown != nil && shown.UID == ref.UID && why.Taint == nil && livesVersion(shown) < livesVersion(pod):
		pod = livesPod{Pod: shown, changed: pod.changed, seen: pod.seen, latest: pod.latest} // who empties nodes remembers no pod but its own
	case pod.Pod == nil || pod.UID != ref.UID || shown == nil || shown.UID != ref.UID:
		return "evicted what the store does not show (decision 7)"
	case known == nil || m.process.seenNodes[ref.Node] == nil || pod.Spec.NodeName != ref.Node:
		return "evicted from another node (decision 7)"
	}
	foreign := m.due(m.deadline(known, pod, false, false)) && half != livesLifecycle
	own := m.world.plan.Taints && m.due(m.deadline(known, pod, true, false))
	return livesRules{
		{m.mayWrite(false), m.mayWrite(false) != ""},
		{"row an object older than one seen before is ignored", livesVersion(shown) < livesVersion(pod) || m.stale(known, m.process.seenNodes[ref.Node])},
		{"row a pod is evicted once for all reasons", pod.evicted},
		{"row terminating pods are left alone", pod.DeletionTimestamp != nil},
		{"row completed and mirror pods stay", livesSpared(pod.Pod)},
		{"evicted without permission", !m.mayHarm(known)},
		{"the other half evicts", half == livesLifecycle && why.Taint != nil},
		{"row a disruption budget delays an eviction, for longer each time", m.world.now.Before(pod.later) && pod.laterDirect == (why.Taint == nil)},
		{"emptied without a turn", why.Taint == nil && known.object != nil && m.unasked(ref.Node) && !m.comesLate(known, pod)},
		{"unjustified eviction", !foreign && !own && !m.timedOut(known, pod)},
		{"unjustified eviction: " + m.stays(known), !foreign && m.stays(known) != ""},
		{"emptied in a zone that stands", !foreign && !own && m.stood(known.domain) && !known.emptied && !known.unsure && !m.comesLate(known, pod)},
	}.first()
}

// timedOut: without taints, PodEvictionTimeout is over.
func (m *livesMind) timedOut(known *livesNode, pod livesPod) bool {
	return !m.world.plan.Taints && m.world.plan.Half != livesTaintEviction && !livesDaemon(pod.Pod) && m.failed(known) == "" && !known.due.IsZero()
}

// comesLate: what is bound to a node after it has had its turn goes at once, as upstream does.
func (m *livesMind) comesLate(known *livesNode, pod livesPod) bool {
	return !known.due.IsZero() && pod.latest.After(known.due)
}

// marks: row "pods are marked once in an outage, and only by our own verdict".
func (m *livesMind) marks(ref evictor.PodRef) string {
	known, pod := m.nodes[ref.Node], m.pods[ref.Name] // by now another pod may have its name
	if known == nil || m.process.seenNodes[ref.Node] == nil {
		return "marked on a node that the store does not show"
	}
	ready, _ := livesReady(known.object)
	return livesRules{
		{m.mayWrite(true), m.mayWrite(true) != ""},
		{"marked without a verdict", !known.silent && ready != v1.ConditionUnknown},
		{"row pods are not marked not Ready while every zone is down", !m.downSince.IsZero()},
		{"row an evictor that begins to watch waits for one grace before it marks", m.early(known)},
		{"marked twice", pod.Pod != nil && pod.UID == ref.UID && pod.marked.After(known.spoke) && !pod.marked.Before(known.first) && // row "a recreated node starts afresh"
			(ready == v1.ConditionUnknown && m.behind.Before(pod.marked) || pod.marked.After(known.beat))}, // else the store does not show the outage before
	}.first()
}
