package evictor_test

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/zone"
)

// What must have happened.

// livesLate is how late an eviction may be: RetryMax, and what a store that lags keeps back of a pod's binding.
const livesLate = 2 * time.Minute

// stepped judges whenever a process has done what it could: what has to be lifted is gone within a pass, and what the
// taints of others evict has left.
func (m *livesMind) stepped() {
	w := m.world
	for domain := range w.closed {
		m.closed[domain] = [2]time.Time{w.shutSince[domain], w.now}
	}
	if m.ruling.Pending != zone.GoOn {
		m.closed["policy"] = [2]time.Time{m.closed["policy"][0], w.now}
	}
	switch {
	case w.plan.Half == evictor.Lifecycle && w.plan.Taints && len(m.process.evictor.Evictions()) > 0, w.plan.Half == evictor.TaintEviction && len(m.process.evictor.Waiting())+len(m.process.evictor.Zones()) > 0:
		m.wrong("the other half counts", "p%d", m.process.slot)
	case !m.process.leads || m.process.blind != nil || len(m.process.lag) > 0 || w.ill() != "":
		m.disturbed(w.ill())
	case w.plan.Dry:
	default:
		wait := 6*time.Second + w.slack // a pass, or what a conflict costs
		for _, name := range livesKeys(m.nodes) {
			m.lifted(name, wait)
		}
		for _, name := range livesKeys(w.pods.now) {
			m.left(name, wait+livesLate, false)
		}
	}
}

// lifted: recovery is never blocked.
func (m *livesMind) lifted(name string, wait time.Duration) {
	w, known, node := m.world, m.nodes[name], m.world.nodes.now[name]
	if node == nil || m.process.seenNodes[name] != node || known.object != node || w.plan.Half == evictor.TaintEviction {
		return
	}
	ready, _ := livesReady(node)
	own, _ := w.noExecute(node.Spec.Taints)
	since, why := known.changed, ""
	switch hold, held := w.holds[name]; {
	case ready == v1.ConditionTrue && m.silence(known) < m.grace()-w.config.NodeMonitorPeriod:
		why = "Ready"
	case held || m.held(known):
		since, why = livesLater(since, hold), "held"
	case !m.downSince.IsZero():
		since, why = livesLater(since, m.downSince), "down with all zones"
	case w.plan.Policy && m.ruling.Pending == zone.Cancel:
		since, why = livesLater(since, w.shaken), "cancelled by the policy"
	}
	if since = livesLater(since, m.trouble); why != "" && len(own) > 0 && w.now.Sub(since) > wait {
		m.wrong("not lifted", "%s is %s and carries %v for %v (last trouble: %s)", name, why, own, w.now.Sub(since), m.troubles)
	}
}

// left: foreign taints never wait for a zone (decision 4); a budget that has refused is asked again after RetryMax at
// most. What our own taints evict waits for much; it must have left in the end.
func (m *livesMind) left(name string, wait time.Duration, inTheEnd bool) {
	w, pod := m.world, m.world.pods.now[name]
	known := m.nodes[pod.Spec.NodeName]
	if m.process.seenPods[name] != pod || known == nil || known.object != w.nodes.now[pod.Spec.NodeName] || pod.DeletionTimestamp != nil || livesSpared(pod) {
		return
	}
	ready, _ := livesReady(known.object)
	opened := livesLater(m.closed[livesAll][1], m.closed[known.domain][1])
	own := inTheEnd && ready != v1.ConditionTrue && m.downSince.IsZero() && w.plan.Half != evictor.TaintEviction
	released := livesLater(livesLater(opened, m.unsettled), m.closed["policy"][1]) // what fell due before waits for the rate of its domain
	end := m.deadline(known, pod, own && !(m.stands[known.domain] && !m.deadline(known, pod, true, false).After(released)), true)
	late := w.plan.Half != evictor.Lifecycle && !end.IsZero() &&
		w.now.Sub(livesLater(livesLater(livesLater(end, known.changed), w.touched[name]), livesLater(m.trouble, opened))) > wait
	served := (known.emptied || !m.stands[known.domain]) && w.config.MaxFailedNodes == 0
	if late || own && !w.plan.Taints && served && !livesDaemon(pod) {
		m.wrong("eviction late", "%s on %s should have left at %s (last trouble: %s)", name, pod.Spec.NodeName, livesSince(end), m.troubles)
	}
}

// ended judges the cluster after a long time in which nothing happened and all was well.
func (m *livesMind) ended() {
	if m.world.plan.Dry {
		return
	}
	m.zones() // exact mode may have had no pass for long
	for _, name := range livesKeys(m.world.nodes.now) {
		if m.world.plan.Half != evictor.TaintEviction {
			m.endedNode(name)
		}
	}
	for _, name := range livesKeys(m.world.pods.now) {
		m.left(name, livesLate, true)
	}
}

// endedNode: the conditions say what its machine is like, the taints follow, and so do the deprecated labels. That it
// was lifted is seen to before.
func (m *livesMind) endedNode(name string) {
	w, node := m.world, m.world.nodes.now[name]
	state := w.machines[name].state
	ready, _ := livesReady(node)
	want := map[string]v1.ConditionStatus{"dead": v1.ConditionUnknown, "notready": v1.ConditionFalse, "alive": v1.ConditionTrue}[state]
	wanted := map[string][]string{"dead": {v1.TaintNodeUnreachable}, "notready": {v1.TaintNodeNotReady}}[state]
	own, _ := w.noExecute(node.Spec.Taints)
	waits := !w.plan.Taints || !m.downSince.IsZero() || m.stands[w.plan.domain(node)] || w.config.MaxFailedNodes > 0
	if len(own) > 0 && !slices.Equal(own, wanted) || len(own) == 0 && len(wanted) > 0 && !waits {
		m.wrong("taint in the end", "%s is %s and carries %v", name, state, own)
	}
	if node.Spec.Unschedulable {
		wanted = append(wanted, v1.TaintNodeUnschedulable)
	}
	noSchedule := []string{}
	for _, t := range node.Spec.Taints {
		if t.Effect == v1.TaintEffectNoSchedule && strings.HasPrefix(t.Key, "node.kubernetes.io/") {
			noSchedule = append(noSchedule, t.Key)
		}
	}
	slices.Sort(noSchedule)
	slices.Sort(wanted)
	switch {
	case ready != want:
		m.wrong("verdict lost", "%s is %s, and its Ready says %q in the end", name, state, ready)
	case !slices.Equal(noSchedule, wanted):
		m.wrong("NoSchedule in the end", "%s is %s and carries %v", name, state, noSchedule)
	case node.Labels[v1.LabelOSStable] != node.Labels["beta.kubernetes.io/os"]:
		m.wrong("label lost", "%s: %v", name, node.Labels)
	}
}
