package evictor_test

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/zone"
)

// What must have happened. livesLate is how late an eviction may be: RetryMax, and what a store that lags keeps back of a pod's binding.
const livesLate = 2 * time.Minute

// livesSoon is how late it may be where little keeps it: a try waits for another, or an overdue pod for its node's turn.
const livesSoon = 45 * time.Second

// stepped: what has to be lifted is gone within a pass, and what the taints of others evict has left.
func (m *livesMind) stepped() {
	w := m.world
	if !w.now.Before(m.process.frozen) {
		clear(m.prior)
	}
	for domain := range w.closed {
		m.closed[domain] = [2]time.Time{w.shutSince[domain], w.now}
	}
	for _, fault := range w.faults {
		if w.now.Before(fault.until) {
			m.disturbedIn(fault.scope, fault.String())
		}
	}
	m.turnsLoosen()
	for _, known := range m.nodes {
		m.knowSilence(known)
	}
	switch {
	case !m.process.leads || m.process.blind != nil || len(m.process.lag) > 0:
		m.disturbed("kept away")
	default:
		wait := 6*time.Second + w.slack // a pass, or what a conflict costs
		for name := range m.nodes {
			m.lifted(name, wait)
			m.protected(name, wait)
		}
		for name := range w.pods.now {
			m.left(name, wait+m.late(name), false)
			m.leftSoon(name)
		}
	}
}

// late is how much later than a pass a pod may leave by the taints of others. In a small world only a try that failed, or a
// Gate that refused, makes it late: it is tried again.
func (m *livesMind) late(name string) time.Duration {
	pod := m.pods[name]
	switch {
	case m.world.plan.Choices == nil:
		return livesLate
	case pod.Pod != nil && (pod.failed || !m.askedBy[pod.UID].IsZero()):
		return livesSoon
	}
	return 0
}

// leftSoon: in a small world, where one thing or two keep a pod, it leaves soon by our own taints, too.
func (m *livesMind) leftSoon(name string) {
	w, known := m.world, m.nodes[m.world.pods.now[name].Spec.NodeName]
	if w.plan.Choices == nil || !w.plan.Taints || known == nil || m.stays(known) != "" {
		return
	}
	ready, _ := livesReady(known.object)
	if ready == "" && m.silence(known) < w.config.Nodes.NodeStartupGracePeriod+livesSoon { // the grace of a node that says nothing of itself
		return
	}
	settled := livesLater(livesLater(m.unsettled, m.anew), livesLater(m.up, known.first)).Add(m.grace() + w.config.Nodes.NodeMonitorPeriod)
	if w.now.Sub(livesLater(settled, w.freed[known.object.Name])) > livesSoon {
		m.left(name, livesSoon, true)
	}
}

// lifted: recovery is never blocked.
func (m *livesMind) lifted(name string, wait time.Duration) {
	w, known, node := m.world, m.nodes[name], m.world.nodes.now[name]
	if node == nil || m.process.seenNodes[name] != node || known.object != node || w.plan.Half == livesTaintEviction || m.absent[name] == node.ResourceVersion {
		return
	}
	ready, _ := livesReady(node)
	own, _ := w.noExecute(node.Spec.Taints)
	since, why := known.changed, ""
	switch hold, held := w.holds[name]; {
	case ready == v1.ConditionTrue && m.silence(known) < m.grace()-w.config.Nodes.NodeMonitorPeriod:
		why = "Ready"
	case !w.plan.Taints: // what is left of them orders nothing
	case held || m.held(known):
		since, why = livesLater(since, hold), "held"
	case !m.downSince.IsZero():
		since, why = livesLater(since, m.downSince), "down with all zones"
	}
	until := livesLater(since.Add(wait), m.hinder(false).Add(wait+w.config.Nodes.RetryMax)) // a lift that failed waits for its backoff, whatever else changes meanwhile
	if why != "" && len(own) > 0 && w.now.After(until) {
		m.wrong("not lifted", "%s is %s and carries %v for %v (last trouble: %s)", name, why, own, w.now.Sub(since), m.troubles)
	}
}

// left: foreign taints never wait for a zone (decision 4); a refusing budget is asked again after RetryMax at most. What our
// own taints evict must have left in the end, but for what waits in a zone that stands: what fell due before it was
// permitted, and row "a failed taint costs its token".
func (m *livesMind) left(name string, wait time.Duration, inTheEnd bool) {
	w, pod := m.world, m.world.pods.now[name]
	known := m.nodes[pod.Spec.NodeName]
	if m.process.seenPods[name] != pod || m.pods[name].Pod != pod || known == nil || known.object != w.nodes.now[pod.Spec.NodeName] || pod.DeletionTimestamp != nil || livesSpared(pod) || m.absent[string(pod.UID)] != "" {
		return
	}
	ready, _ := livesReady(known.object)
	opened := livesLater(m.closed[livesAll][1], m.closed[known.domain][1])
	settled := m.unsettled.Add(m.grace() + w.config.Nodes.NodeMonitorPeriod) // what was overdue is decided on anew then
	released := livesLater(livesLater(opened, settled), m.closed["lead"][1])
	own := inTheEnd && ready != v1.ConditionTrue && m.downSince.IsZero() && w.plan.Half != livesTaintEviction
	flows := own && (!m.stands(known.domain) || m.deadline(known, m.pods[name], true, false).After(released))
	end := m.deadline(known, m.pods[name], flows, true)
	since := livesLater(livesLater(livesLater(end, known.changed), w.touched[name]), livesLater(livesLater(m.trouble, m.askedBy[pod.UID]), opened))
	late := w.plan.Half != livesLifecycle && !end.IsZero() && w.now.Sub(since) > wait
	turn := !m.stands(known.domain) || known.emptied && m.pods[name].latest.After(released) && !m.pods[name].failed && w.freed[known.object.Name].IsZero() // a hold ends a turn
	if late || own && !w.plan.Taints && turn && !livesDaemon(pod) {
		m.wrong("eviction late", "%s on %s should have left at %s (last trouble: %s)", name, pod.Spec.NodeName, livesSince(end), m.troubles)
	}
}

// ended judges the cluster after a long time in which nothing happened and all was well.
func (m *livesMind) ended() {
	m.zones() // exact mode may have had no pass for long
	for _, name := range livesKeys(m.world.nodes.now) {
		if m.world.plan.Half != livesTaintEviction {
			m.endedNode(name)
		}
	}
	for _, name := range livesKeys(m.world.pods.now) {
		m.left(name, livesLate, true)
	}
	m.endedZones()
	m.endedArmed()
}

// endedZones: what the evictor says of nodes and zones is what they are.
func (m *livesMind) endedZones() {
	w, says := m.world, m.process.evictor.nodes()
	if says == nil {
		return
	}
	counts := map[zone.Key]zone.Counts{}
	for _, name := range livesKeys(w.nodes.now) {
		node, bad, domain := w.nodes.now[name], w.machines[name].state != "alive", zone.Key{Zone: w.plan.domain(w.nodes.now[name])}
		own, _ := w.noExecute(node.Spec.Taints)
		st, known := says.Node(name)
		m.wrong(livesRules{
			{"not known in the end", !known},
			{"in another domain in the end", st.Zone != domain},
			{"held in the end", st.Held != ""},
			{"waits in the end", !st.Queued.IsZero() && (!bad || w.plan.Taints && len(own) > 0 || !m.downSince.IsZero())},
		}.first(), "%s in %s: %+v", name, domain, st)
		if n := counts[domain]; !w.plan.excluded(node) {
			if n.Total++; bad {
				n.Bad++
			}
			counts[domain] = n
		}
	}
	for _, z := range says.Zones() {
		if z.Counts != counts[z.Zone] {
			m.wrong("miscounted in the end", "%+v, and not %+v", z, counts[z.Zone])
		}
		delete(counts, z.Zone)
	}
	if len(counts) > 0 {
		m.wrong("miscounted in the end", "nothing is said of %v", counts)
	}
}

// endedArmed: nothing is to leave but what is there, and nothing a node that is well for our sake.
func (m *livesMind) endedArmed() {
	w, says := m.world, m.process.evictor.pods()
	if says == nil {
		return
	}
	for _, armed := range says.Evictions() {
		pod := w.pods.now[armed.Pod.Name]
		gone := pod == nil || pod.UID != armed.Pod.UID
		var foreign []string
		if node := w.nodes.now[armed.Pod.Node]; node != nil {
			_, foreign = w.noExecute(node.Spec.Taints)
		}
		machine := w.machines[armed.Pod.Node]
		m.wrong(livesRules{
			{"a pod that is gone is armed in the end", gone},
			{"armed on a node that is well", machine != nil && machine.state == "alive" && len(foreign) == 0},
		}.first(), "%+v", armed)
	}
}

// endedNode: conditions, taints, deprecated labels and pods not Ready say what its machine is like.
func (m *livesMind) endedNode(name string) {
	w, node := m.world, m.world.nodes.now[name]
	state := w.machines[name].state
	ready, _ := livesReady(node)
	want := map[string]v1.ConditionStatus{"dead": v1.ConditionUnknown, "notready": v1.ConditionFalse, "alive": v1.ConditionTrue}[state]
	wanted := map[string][]string{"dead": {v1.TaintNodeUnreachable}, "notready": {v1.TaintNodeNotReady}}[state]
	own, _ := w.noExecute(node.Spec.Taints)
	waits := !w.plan.Taints || !m.downSince.IsZero() || m.stands(w.plan.domain(node))
	tainted := slices.Equal(own, wanted) || len(own) == 0 && waits || !w.plan.Taints && state != "alive"
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
	unmarked := false
	for _, pod := range w.pods.now {
		unmarked = unmarked || pod.Spec.NodeName == name && pod.DeletionTimestamp == nil && pod.Status.Phase == v1.PodRunning && !livesMarked(pod) && m.absent[string(pod.UID)] == ""
	}
	m.wrong(livesRules{
		{"taint in the end", !tainted},
		{"verdict lost", ready != want},
		{"NoSchedule in the end", !slices.Equal(noSchedule, wanted)},
		{"label lost", node.Labels[v1.LabelOSStable] != node.Labels["beta.kubernetes.io/os"]},
		{"marks lost", unmarked && state == "dead" && m.downSince.IsZero()},
	}.first(), "%s is %s: Ready %q, taints %v and %v, labels %v", name, state, ready, own, noSchedule, node.Labels)
}
