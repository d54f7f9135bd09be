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

// stepped judges whenever a process has done what it could: what has to be lifted is gone within a pass, and what the taints of others
// evict has left.
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
		wait := 6*time.Second + w.slack                                                           // a pass, or what a conflict costs
		if slices.Contains([]string{"forbidden", "refused", "panic", "done-panic"}, m.troubles) { // "what is forbidden … keeps its backoff" (doc.go)
			wait += w.config.RetryMax
		}
		for _, name := range livesKeys(m.nodes) {
			m.lifted(name, wait)
		}
		for _, name := range livesKeys(w.pods.now) {
			m.left(name, wait+livesLate)
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

// left: foreign taints never wait for a zone (decision 4); a budget that has refused is asked again after RetryMax at most.
func (m *livesMind) left(name string, wait time.Duration) {
	w, pod := m.world, m.world.pods.now[name]
	known := m.nodes[pod.Spec.NodeName]
	if m.process.seenPods[name] != pod || known == nil || known.object != w.nodes.now[pod.Spec.NodeName] || pod.DeletionTimestamp != nil || livesSpared(pod) ||
		w.plan.Half == evictor.Lifecycle {
		return
	}
	end := m.deadline(known, pod, false, true)
	since := livesLater(livesLater(end, known.changed), livesLater(w.touched[name], m.trouble))
	if since = livesLater(since, livesLater(m.closed[livesAll][1], m.closed[known.domain][1])); !end.IsZero() && w.now.Sub(since) > wait {
		m.wrong("eviction late", "%s on %s should have left at %s (last trouble: %s)", name, pod.Spec.NodeName, livesSince(end), m.troubles)
	}
}

// ended judges the cluster after a long time in which nothing happened and all was well.
func (m *livesMind) ended() {
	w, total, bad, full := m.world, map[string]int{}, map[string]int{}, true
	for _, node := range w.nodes.now {
		if !w.plan.excluded(node) {
			total[w.plan.domain(node)]++
			if ready, _ := livesReady(node); ready != v1.ConditionTrue {
				bad[w.plan.domain(node)]++
			}
		}
	}
	for domain, n := range total {
		full = full && bad[domain] == n
	}
	full = full && len(total) > 0
	stands := func(name string) bool {
		domain := w.plan.domain(w.nodes.now[name])
		return full || livesStands(w.config, bad[domain], total[domain])
	}
	for _, name := range livesKeys(w.nodes.now) {
		if w.plan.Half != evictor.TaintEviction && !w.plan.Dry {
			m.endedNode(name, full, stands(name))
		}
	}
	for _, name := range livesKeys(w.pods.now) {
		if node := w.pods.now[name].Spec.NodeName; w.nodes.now[node] != nil && !w.plan.Dry && w.judge.rule == "" {
			m.endedPod(name, stands(node), full)
		}
	}
}

// endedNode: the conditions say what its machine is like, the taints follow, and so do the deprecated labels.
func (m *livesMind) endedNode(name string, allDown, stands bool) {
	w, node, machine := m.world, m.world.nodes.now[name], m.world.machines[name]
	ready, _ := livesReady(node)
	own, _ := w.noExecute(node.Spec.Taints)
	want := map[string]v1.ConditionStatus{"dead": v1.ConditionUnknown, "notready": v1.ConditionFalse, "alive": v1.ConditionTrue}[machine.state]
	taint := map[v1.ConditionStatus]string{v1.ConditionUnknown: v1.TaintNodeUnreachable, v1.ConditionFalse: v1.TaintNodeNotReady}[want]
	noSchedule, wanted := []string{}, []string{}
	for _, t := range node.Spec.Taints {
		if t.Effect == v1.TaintEffectNoSchedule && strings.HasPrefix(t.Key, "node.kubernetes.io/") {
			noSchedule = append(noSchedule, t.Key)
		}
	}
	if taint != "" {
		wanted = append(wanted, taint)
	}
	if node.Spec.Unschedulable {
		wanted = append(wanted, v1.TaintNodeUnschedulable)
	}
	slices.Sort(noSchedule)
	slices.Sort(wanted)
	state := name + " is " + machine.state
	switch {
	case ready != want:
		m.wrong("verdict lost", "%s, and its Ready says %q in the end", state, ready)
	case want == v1.ConditionTrue && len(own) > 0, allDown && len(own) > 0:
		m.wrong("not lifted in the end", "%s and carries %v (all down: %v)", state, own, allDown)
	case len(own) > 1 || len(own) == 1 && own[0] != taint:
		m.wrong("wrong taint in the end", "%s and carries %v", state, own)
	case w.plan.Taints && taint != "" && len(own) == 0 && !stands && w.config.MaxFailedNodes == 0:
		m.wrong("taint lost", "%s and carries no taint of ours", state)
	case !slices.Equal(noSchedule, wanted):
		m.wrong("NoSchedule in the end", "%s and carries %v", state, noSchedule)
	case node.Labels[v1.LabelOSStable] != node.Labels["beta.kubernetes.io/os"]:
		m.wrong("label lost", "%s: %v", state, node.Labels)
	}
}

// endedPod: none whose deadline passed is there still and, without taints, none on a failed node.
func (m *livesMind) endedPod(name string, stands, allDown bool) {
	w, pod := m.world, m.world.pods.now[name]
	known := m.nodes[pod.Spec.NodeName]
	if known == nil || pod.DeletionTimestamp != nil || livesSpared(pod) {
		return
	}
	late := func(end time.Time) bool { return !end.IsZero() && w.now.Sub(end) > livesLate }
	own, ready := m.deadline(known, pod, true, true), ""
	if status, _ := livesReady(known.object); status == v1.ConditionTrue || allDown {
		ready = "it lives"
	}
	// What waits for the rate of its domain to let it go waits still where that is 0 (decision 4).
	waits := stands && !own.After(livesLater(m.closed[livesAll][1], m.closed[known.domain][1]))
	switch {
	case w.plan.Half != evictor.Lifecycle && late(m.deadline(known, pod, false, true)),
		w.plan.Half == evictor.Both && w.plan.Taints && ready == "" && late(own) && !waits,
		w.plan.Half != evictor.TaintEviction && !w.plan.Taints && ready == "" && (known.emptied || !stands) && w.config.MaxFailedNodes == 0 && !livesDaemon(pod):
		m.wrong("eviction lost", "%s on %s should have left at %s", name, pod.Spec.NodeName, livesSince(own))
	}
}
