package evictor_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/zone"
)

// What a process may do: each write is judged when it is about to be made.

// mayWrite: MayWrite stops every write and event (decision 4), a dry run every write, and TaintEviction those of nodes.
func (m *livesMind) mayWrite(what string, ofNode bool) (rule, why string) {
	switch {
	case m.world.plan.Dry:
		return "write in a dry run", what
	case !m.process.leads && !m.world.fresh(m.process.ledAt):
		return "write without permission", what
	case ofNode && m.world.plan.Half == evictor.TaintEviction:
		return "the other half writes", what
	}
	return "", ""
}

// harm is why a node must not be harmed: decision 4. A node that moves is in its new domain from the next pass on.
func (m *livesMind) harm(known *livesNode) error {
	w := m.world
	switch here, there := w.closed[known.domain], w.closed[w.plan.domain(known.object)]; {
	case w.fresh(w.shaken):
		return nil
	case w.closed[livesAll] != nil:
		return w.closed[livesAll]
	case m.process.blind != nil:
		return m.process.blind
	case here != nil && there != nil:
		return here
	}
	return nil
}

// neverReported: NodeStartupGracePeriod counts from the creation of a node that has never reported.
func (m *livesMind) neverReported(known *livesNode) bool {
	return !known.reported && m.process.wall().Sub(known.object.CreationTimestamp.Time) >= m.world.config.NodeStartupGracePeriod
}

// failed says why the process must not take a node for failed, empty when it may.
func (m *livesMind) failed(known *livesNode) string {
	switch ready, _ := livesReady(known.object); {
	case ready == "" && !known.failing && m.silence(known) < min(m.grace(), m.world.config.NodeStartupGracePeriod) && !m.neverReported(known):
		return "it has no Ready condition"
	case ready == v1.ConditionTrue && m.silence(known) < m.grace():
		return "it is Ready and not silent"
	}
	return "" // also of an Unknown one that may live: row "an Unknown node that renews its lease keeps its pods"
}

// failedSince is when it failed: upstream counts from the change to False, or from the last sign of life of Unknown.
func (m *livesMind) failedSince(known *livesNode) time.Time {
	if ready, _ := livesReady(known.object); ready == v1.ConditionFalse {
		return known.good
	}
	return known.beat
}

// ownCounts says why neither our own taints nor the timeout may evict from a node now, empty when they may.
func (m *livesMind) ownCounts(known *livesNode) string {
	ready, _ := livesReady(known.object)
	switch now := m.world.now; {
	case m.held(known):
		return "it is held"
	case m.world.plan.Policy && m.ruling.Pending != zone.GoOn && !m.allDown.Equal(m.lastPass):
		return "the policy says " + m.ruling.Pending.String()
	case ready == "" && m.failed(known) != "": // row "a failed node that loses its Ready condition waits and evicts no more"
		return "it has no Ready condition"
	case ready != "" && ready != v1.ConditionFalse && m.silence(known) < m.grace():
		// Rows "an Unknown node that renews its lease keeps its pods", "nothing is evicted from a node that has
		// reported Ready".
		return fmt.Sprintf("it is %s and has been silent for %v only", ready, m.silence(known))
	case ready == v1.ConditionFalse && !known.wasGood && now.Sub(known.first) < m.grace(): // decision 1
		return "it came failed, and has not been watched for a grace period"
	case !m.allDown.IsZero() && now.Sub(m.allDown) < m.grace(): // row "after every zone is down, nodes still failed wait one more grace"
		return "every zone was down less than a grace ago"
	}
	return ""
}

func (m *livesMind) held(known *livesNode) bool {
	_, held := m.world.holds[known.object.Name]
	return held && !m.world.fresh(m.world.shaken) || m.world.plan.Hold && known.object.Annotations[livesHold] != ""
}

// deadline is when the taints shown end the pod's stay, at the earliest or at the latest; zero for never. The first
// toleration that matches a taint counts (taints.Matcher), from the later of the taint's start and the pod's binding
// (decision 2).
func (m *livesMind) deadline(known *livesNode, pod *v1.Pod, own, late bool) (end time.Time) {
	bound, seen := time.Time{}, m.pods[pod.UID].first
	for _, condition := range pod.Status.Conditions {
		if condition.Type == v1.PodScheduled && !condition.LastTransitionTime.After(m.process.wall()) {
			bound = m.elapsed(condition.LastTransitionTime.Time)
		}
	}
	if late == bound.Before(seen) { // it was bound before our eyes, or may have been
		bound = seen
	}
	for _, taint := range known.object.Spec.Taints {
		if taint.Effect != v1.TaintEffectNoExecute || m.world.ours(taint.Key) && !own {
			continue
		}
		at := known.taints[taint.Key].start
		if late {
			at = known.taints[taint.Key].late
		}
		at = livesLater(at, bound)
		if use := slices.IndexFunc(pod.Spec.Tolerations, func(t v1.Toleration) bool { return livesTolerates(t, taint) }); use >= 0 {
			seconds := pod.Spec.Tolerations[use].TolerationSeconds
			if seconds == nil {
				continue
			}
			at = at.Add(max(0, time.Duration(*seconds)*time.Second))
		}
		if end.IsZero() || at.Before(end) {
			end = at
		}
	}
	return end
}

// due says whether a deadline has come.
func (m *livesMind) due(end time.Time) bool { return !end.IsZero() && !end.After(m.world.now) }

func livesTolerates(t v1.Toleration, taint v1.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
		return false
	}
	return t.Operator == v1.TolerationOpExists || t.Key != "" && t.Value == taint.Value
}

// target is what the process knows of a node that it writes: identity is the UID (decision 7).
func (m *livesMind) target(what string, node *v1.Node) (known *livesNode, rule, why string) {
	what += " of " + node.Name
	if rule, why = m.mayWrite(what, true); rule != "" {
		return nil, rule, why
	}
	switch known = m.sees(node.Name); {
	case known == nil:
		return nil, "unknown node written", what + ", which the store does not have"
	case known.object.UID != node.UID:
		return nil, "unknown node written", what + ", which is another one by now"
	}
	return known, "", ""
}

func (m *livesMind) updatesConditions(node *v1.Node, conditions []v1.NodeCondition) (rule, why string) {
	known, rule, why := m.target("conditions", node)
	if known != nil && !known.silent && !m.neverReported(known) && m.silence(known) < min(m.grace(), m.world.config.NodeStartupGracePeriod) {
		return "verdict too soon", fmt.Sprintf("%s is written Unknown after %v of silence", node.Name, m.silence(known))
	}
	for _, condition := range conditions {
		if condition.Status != v1.ConditionUnknown || condition.Type == v1.NodeNetworkUnavailable {
			return "condition", fmt.Sprintf("%s is written %s=%s", node.Name, condition.Type, condition.Status)
		}
	}
	return rule, why
}

func (m *livesMind) updatesTaints(node *v1.Node, change taints.Change) (rule, why string) {
	known, rule, why := m.target("taints", node)
	if known == nil {
		return rule, why
	}
	added, foreign := livesNoExecute(change.Add)
	removed, alien := livesNoExecute(change.Remove)
	has, _ := livesNoExecute(node.Spec.Taints)
	unfit := m.failed(known)
	tells := fmt.Sprintf("%s gets %v", node.Name, added)
	switch ready, _ := livesReady(known.object); {
	case livesVersion(node) < known.version:
		return "stale", fmt.Sprintf("taints of %s are computed from version %s, %d was seen", node.Name, node.ResourceVersion, known.version)
	case len(foreign)+len(alien) > 0:
		return "foreign taint written", fmt.Sprintf("%s: %v %v", node.Name, foreign, alien)
	case len(added) == 0:
		return "", ""
	case !m.world.plan.Taints:
		return "tainted without taints", tells
	case unfit != "":
		return "healthy node tainted", tells + ", but " + unfit
	case m.held(known):
		return "held node tainted", tells
	case ready == v1.ConditionFalse && added[0] == v1.TaintNodeUnreachable && !known.unknown: // decision 3: from the next pass on
		return "wrong taint", tells + " and says Ready=False"
	case len(has)+len(removed) == 0 && m.harm(known) != nil:
		return "tainted without permission", fmt.Sprintf("%s: %v", tells, m.harm(known))
	case len(has) > 0:
		return "", "" // a swap is no new harm
	case m.world.plan.Policy && m.ruling.Pending == zone.Cancel && !m.allDown.Equal(m.lastPass):
		return "tainted against the policy", tells
	case !m.allDown.IsZero() && (m.allDown.Equal(m.lastPass) || known.down && known.good.Before(m.allDown) && m.world.now.Sub(m.allDown) < m.grace()):
		return "tainted while all are down", tells // and row "after every zone is down, nodes still failed wait one more grace"
	case m.stands[known.domain] && m.turn[node.Name].at.IsZero():
		return "tainted in a zone that stands", tells + " in " + known.domain
	case m.over(node.Name):
		return "too many failed nodes", tells
	}
	return "", ""
}

// over: Config.MaxFailedNodes carried our taints already when the node had its turn.
func (m *livesMind) over(name string) bool {
	carry := 0
	for other, known := range m.nodes {
		if at := livesOr(m.turn[name].at, m.world.now); other != name && !known.carries.IsZero() && known.carries.Before(at) {
			carry++
		}
	}
	return m.world.config.MaxFailedNodes > 0 && carry >= m.world.config.MaxFailedNodes
}

// evicts judges an eviction.
func (m *livesMind) evicts(ref evictor.PodRef, why evictor.Decision) (rule, because string) {
	if rule, because = m.mayWrite("eviction of "+ref.Name, false); rule != "" {
		return rule, because
	}
	pod, known, shown := m.pods[ref.UID].Pod, m.sees(ref.Node), m.process.seenPods[ref.Name]
	rewound := m.process.rewound[ref.Name] && shown != nil
	if rewound || shown != nil && known != nil && m.timedOut(known, shown) {
		pod = shown // of pods that went, or that no taint evicts, no versions are remembered: the UID keeps a second eviction from doing harm
	}
	switch {
	case m.done[ref.UID] && !rewound: // row "a pod is evicted once for all reasons"
		return "evicted twice", ref.Name
	case pod == nil || shown == nil || shown.UID != ref.UID: // decision 7
		return "pod unknown", ref.Name + " is not what the store shows"
	case known == nil || pod.Spec.NodeName != ref.Node:
		return "evicted from another node", ref.Name + " from " + ref.Node
	case pod.DeletionTimestamp != nil: // row "terminating pods are left alone"
		return "terminating pod evicted", ref.Name
	case livesSpared(shown): // row "completed and mirror pods stay"
		return "pod evicted in vain", ref.Name
	case m.harm(known) != nil:
		return "evicted without permission", fmt.Sprintf("%s: %v", ref.Name, m.harm(known))
	case m.world.plan.Half == evictor.Lifecycle && why.Taint != nil:
		return "the other half evicts", ref.Name
	}
	foreign, all, unfit := m.deadline(known, pod, false, false), m.deadline(known, pod, true, false), m.ownCounts(known)
	switch {
	case m.due(foreign) && m.world.plan.Half != evictor.Lifecycle:
	case unfit == "" && m.world.plan.Taints && m.due(all):
	case unfit == "" && m.timedOut(known, pod):
		if m.stands[known.domain] && !known.emptied && !m.late(known, pod) {
			return "emptied in a zone that stands", ref.Name + " from " + ref.Node
		}
	default:
		return "unjustified eviction", fmt.Sprintf("%s from %s: foreign taints evict it at %s, all at %s; ours do not count because %q",
			ref.Name, ref.Node, livesSince(foreign), livesSince(all), unfit)
	}
	return "", ""
}

// timedOut: without taints, PodEvictionTimeout is over.
func (m *livesMind) timedOut(known *livesNode, pod *v1.Pod) bool {
	return !m.world.plan.Taints && m.world.plan.Half != evictor.TaintEviction && !livesDaemon(pod) && m.failed(known) == "" &&
		(!known.due.IsZero() || m.world.now.Sub(m.failedSince(known)) >= m.world.config.PodEvictionTimeout)
}

// late: what is bound to a node after it has had its turn goes at once, as upstream does.
func (m *livesMind) late(known *livesNode, pod *v1.Pod) bool {
	return !known.due.IsZero() && m.pods[pod.UID].changed.After(known.due)
}

// marks: row "pods are marked once in an outage, and only by our own verdict".
func (m *livesMind) marks(ref evictor.PodRef) (rule, why string) {
	if rule, why = m.mayWrite("mark of "+ref.Name, true); rule != "" {
		return rule, why
	}
	known, pod := m.sees(ref.Node), m.pods[ref.UID].Pod
	if known == nil || pod == nil || pod.Spec.NodeName != ref.Node {
		return "pod unknown", ref.Name + " is marked"
	}
	switch ready, _ := livesReady(known.object); {
	case !known.silent && ready != v1.ConditionUnknown && m.silence(known) < m.grace() && !m.neverReported(known):
		return "marked without a verdict", ref.Name + " on " + ref.Node
	case m.allDown.Equal(m.lastPass) && !m.allDown.IsZero(): // row "pods are not marked not Ready while every zone is down"
		return "marked while all are down", ref.Name + " on " + ref.Node
	case known.marked[ref.UID]:
		return "marked twice", ref.Name + " on " + ref.Node
	}
	return "", ""
}

// turns notes when a node's write of taints was first tried. A conflict is read again and keeps the turn; row "a failed
// taint costs its token", so that after any other failure the next try is another turn.
func (m *livesMind) turns(node *v1.Node, err error) {
	if _, tried := m.turn[node.Name]; !tried {
		domain := m.world.plan.domain(node)
		if known := m.nodes[node.Name]; known != nil {
			domain = known.domain
		}
		m.turn[node.Name] = livesTurn{m.world.now, domain}
	}
	if err == nil || !apierrors.IsConflict(err) {
		delete(m.turn, node.Name)
	}
}

// tainted is told when a write has given a node our NoExecute taint.
func (m *livesMind) tainted(name string, keys []string) {
	turn := m.turn[name]
	for _, key := range keys {
		if known := m.nodes[name]; known != nil {
			known.wrote[key] = m.world.now
		}
	}
	m.paced(name, turn.domain, turn.at, true)
}

// evicting is told of each eviction that the API server sees. The first one from a node has cost its turn where nothing
// is tainted. What our own taints made overdue while they were not permitted leaves node by node, at the zone's rate
// (decision 4).
func (m *livesMind) evicting(ref evictor.PodRef) {
	known, pod, now := m.sees(ref.Node), m.pods[ref.UID].Pod, m.world.now
	if known == nil || pod == nil || m.due(m.deadline(known, pod, false, false)) {
		return
	}
	if m.timedOut(known, pod) && !known.emptied && !m.late(known, pod) {
		known.emptied = true
		m.paced(ref.Node, known.domain, now, true)
	}
	end := m.deadline(known, pod, true, true)
	for _, key := range []string{livesAll, known.domain, "policy"} {
		closed := m.closed[key]
		from := livesLater(livesLater(closed[0], m.unsettled.Add(2*m.grace())), livesLater(m.pods[pod.UID].changed, known.changed)).Add(time.Second)
		if m.world.plan.Taints && end.After(from) && end.Before(closed[1].Add(-time.Second)) && m.released[ref.Node].Before(closed[1]) {
			m.released[ref.Node] = now
			m.paced(ref.Node, known.domain, now, false)
		}
	}
}

// paced: no more nodes of a domain than its rate grants, one of them at once (decision 10), nor of all than the cap.
// Each process that begins to lead brings a full bucket; two that lead at the same time each keep the pace.
func (m *livesMind) paced(name, domain string, at time.Time, capped bool) {
	rates := map[string]float64{"all of " + domain: m.world.config.NodeEvictionRate, fmt.Sprintf("p%d/%p of %s", m.process.slot, m, domain): m.world.config.NodeEvictionRate}
	if limit := m.world.config.MaxNodesPerSecond; limit > 0 && capped {
		rates["all"], rates[fmt.Sprintf("p%d/%p", m.process.slot, m)] = limit, limit
	}
	for pace, rate := range rates {
		if !m.world.judge.keeps(pace, rate, at, strings.HasPrefix(pace, "all")) {
			m.wrong("pace", "%s is one too many by %s at a rate of %v", name, pace, rate)
		}
	}
}
