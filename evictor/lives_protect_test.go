package evictor_test

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/taints"
)

// What protects others: Ready=Unknown, NoSchedule taints by conditions and cordon, marks. It needs the permission to write,
// and nothing else keeps it away: no brake on harm, no hold, no zone that stands and, but for marks, no lost cluster.

// livesNoSchedule are the keys of the NoSchedule taints that a node should carry as its object is.
func livesNoSchedule(node *v1.Node) (keys []string) {
	switch ready, _ := livesReady(node); ready {
	case v1.ConditionFalse:
		keys = append(keys, v1.TaintNodeNotReady)
	case v1.ConditionUnknown:
		keys = append(keys, v1.TaintNodeUnreachable)
	}
	if node.Spec.Unschedulable {
		keys = append(keys, v1.TaintNodeUnschedulable)
	}
	return keys
}

var livesNoScheduleKeys = []string{v1.TaintNodeNotReady, v1.TaintNodeUnreachable, v1.TaintNodeUnschedulable}

// livesHasNoSchedule are those that it carries, in the same order.
func livesHasNoSchedule(list []v1.Taint) (keys []string) {
	for _, key := range livesNoScheduleKeys {
		if slices.ContainsFunc(list, func(t v1.Taint) bool { return t.Key == key && t.Effect == v1.TaintEffectNoSchedule }) {
			keys = append(keys, key)
		}
	}
	return keys
}

// unprotects judges what a write does to the NoSchedule taints of a node: they follow its conditions, or its verdict.
func (m *livesMind) unprotects(node *v1.Node, change taints.Change) string {
	wanted, before, after := livesNoSchedule(node), livesHasNoSchedule(node.Spec.Taints), livesHasNoSchedule(change.Apply(node.Spec.Taints, m.process.wall()))
	silent := m.nodes[node.Name].silent
	lost := slices.ContainsFunc(before, func(key string) bool {
		swapped := silent && key == v1.TaintNodeNotReady && slices.Contains(after, v1.TaintNodeUnreachable)
		return slices.Contains(wanted, key) && !slices.Contains(after, key) && !swapped
	})
	gained := slices.ContainsFunc(after, func(key string) bool {
		return !slices.Contains(before, key) && !slices.Contains(wanted, key) && !(silent && key == v1.TaintNodeUnreachable)
	})
	return livesRules{
		{"NoSchedule lifted though the node's conditions call for it", lost},
		{"NoSchedule though no condition of the node calls for it", gained},
	}.first()
}

// hinder is until when something last kept the process from writes of nodes, or of pods.
func (m *livesMind) hinder(ofPods bool) (until time.Time) {
	for write, at := range m.hindered {
		if write == livesAll || ofPods == slices.Contains([]string{"pods", "mark", "eviction"}, write) {
			until = livesLater(until, at)
		}
	}
	return until
}

// knowSilence notes since when a node's verdict is Unknown for sure.
func (m *livesMind) knowSilence(known *livesNode) {
	// When some zone is not down any more, or it sees again, all clocks restart.
	anew := m.world.now.Sub(livesLater(m.up, m.unsettled)) < m.grace()+m.world.config.Nodes.NodeMonitorPeriod
	surely := !anew && m.isSilent(known) && !m.unconfirmed(known) && m.silence(known)-known.lost >= m.grace()+m.world.config.Nodes.NodeMonitorPeriod
	switch {
	case !surely || m.process.blind != nil:
		known.surely = time.Time{}
	case known.surely.IsZero():
		known.surely = m.world.now
	}
}

// protected: within a pass of a verdict the node says so, and its NoSchedule taints and its pods do, too.
func (m *livesMind) protected(name string, wait time.Duration) {
	w, known, node := m.world, m.nodes[name], m.world.nodes.now[name]
	if node == nil || m.process.seenNodes[name] != node || known.object != node || w.plan.Half == livesTaintEviction || m.absent[name] == node.ResourceVersion {
		return
	}
	ready, _ := livesReady(node)
	late := func(since time.Time, ofPods bool) bool {
		return w.now.After(livesLater(since.Add(wait), m.hinder(ofPods).Add(wait+w.config.Nodes.RetryMax)))
	}
	if !known.surely.IsZero() && ready != v1.ConditionUnknown && ready != "" && late(known.surely, false) {
		m.wrong("silent, and its conditions do not say so", "%s is silent since %s and Ready is %q (last trouble: %s)", name, livesSince(known.surely), ready, m.troubles)
	}
	since := known.said
	if ready != v1.ConditionTrue && known.good.IsZero() { // it came failed, and may be watched for a grace
		since = livesLater(since, livesLater(known.first, m.came).Add(m.grace()))
	}
	if wanted, has := livesNoSchedule(node), livesHasNoSchedule(node.Spec.Taints); ready != "" && !slices.Equal(wanted, has) && late(since, false) {
		m.wrong("NoSchedule does not follow the conditions", "%s has %v and should have %v since %s (last trouble: %s)", name, has, wanted, livesSince(since), m.troubles)
	}
	if known.surely.IsZero() || ready != v1.ConditionUnknown || !m.downSince.IsZero() {
		return
	}
	for of, pod := range w.pods.now {
		since := livesLater(livesLater(known.surely, known.said), livesLater(w.touched[of], livesLater(livesLater(m.anew, m.up), m.unsettled).Add(m.grace()))) // kubelets need time to report again
		if pod.Spec.NodeName == name && m.process.seenPods[of] == pod && pod.DeletionTimestamp == nil && pod.Status.Phase == v1.PodRunning && !livesMarked(pod) &&
			m.absent[string(pod.UID)] == "" && late(since, true) && late(since, false) {
			m.wrong("pod of a silent node is not marked", "%s on %s, since %s (last trouble: %s)", of, name, livesSince(since), m.troubles)
		}
	}
}

func livesMarked(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodReady && c.Status == v1.ConditionFalse })
}
