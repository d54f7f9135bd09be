package evictor_test

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// What must have happened: the model's other half. lives_model_test.go says what may.

// stepped is called after each Step: what has to be lifted is gone within a pass, and what foreign taints evict has left.
func (m *livesMind) stepped() {
	w, config := m.world, m.world.plan.config()
	if m.harm() != nil {
		m.harmless = w.now
	}
	// "A clock that goes back stands still" (doc.go, Bad input), until it is again where it was.
	if !m.process.leads || m.process.blind != nil || len(m.process.lag) > 0 || w.wall().Before(w.latest) {
		m.disturbed("it may not, cannot see, or its clock stands still")
		return
	}
	for _, fault := range w.faults {
		if w.now.Before(fault.until) {
			m.disturbed(fault.kind)
			return
		}
	}
	if m.allDown.Equal(m.lastPass) && m.downSince.IsZero() {
		m.downSince = m.lastPass
	} else if !m.allDown.Equal(m.lastPass) {
		m.downSince = time.Time{}
	}
	wait := config.NodeMonitorPeriod + time.Second
	if slices.Contains([]string{"forbidden", "refused", "panic", "done-panic"}, m.troubles) { // "what is forbidden … keeps its backoff" (doc.go, When the API server fails)
		wait += config.RetryMax
	}
	for _, name := range livesKeys(m.nodes) {
		known, node := m.nodes[name], w.nodes.now[name]
		if node == nil || m.process.seenNodes[name] != node || known.object != node {
			continue
		}
		own, _ := w.noExecute(node.Spec.Taints)
		ready, _ := livesReady(node)
		since, why := known.changed, "Ready"
		good := ready == v1.ConditionTrue && m.silence(known) < config.NodeMonitorGracePeriod-config.NodeMonitorPeriod
		if held, is := w.holds[name]; is && !good {
			good, since, why = true, livesLater(since, held), "held"
		} else if !good && !m.downSince.IsZero() {
			good, since, why = true, livesLater(since, m.downSince), "down with all zones"
		}
		if since = livesLater(since, m.trouble); good && len(own) > 0 && w.now.Sub(since) > wait {
			m.wrong("not lifted", "%s is %s and carries %v for %v (last trouble: %s)", name, why, own, w.now.Sub(since), m.troubles)
		}
	}
	m.overdue(livesLate + wait)
}

// livesLate is how late an eviction may be: RetryMax, and what a store that lags keeps back of a pod's binding.
const livesLate = 2 * time.Minute

func livesLater(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// overdue: foreign taints never wait for a zone (decision 4); a budget that has refused is asked again after RetryMax at most.
func (m *livesMind) overdue(wait time.Duration) {
	w := m.world
	since := livesLater(m.trouble, m.harmless)
	if w.now.Sub(since) <= wait {
		return
	}
	for _, name := range livesKeys(w.pods.now) {
		pod := w.pods.now[name]
		known := m.nodes[pod.Spec.NodeName]
		if m.process.seenPods[name] != pod || known == nil || known.object != w.nodes.now[pod.Spec.NodeName] || pod.DeletionTimestamp != nil ||
			pod.Status.Phase == v1.PodSucceeded || pod.Annotations[v1.MirrorPodAnnotationKey] != "" {
			continue
		}
		end, ends := m.deadline(known, pod, false, true)
		if ends && w.now.Sub(livesLater(livesLater(end, known.changed), w.touched[name])) > wait {
			m.wrong("eviction late", "%s on %s should have left at %s", name, pod.Spec.NodeName, livesSince(end))
		}
	}
}

// ended judges the cluster after a long time in which nothing happened and all was well.
func (j *livesJudge) ended() {
	w := j.world
	type count struct{ total, bad int }
	zones, full, counted := map[string]*count{}, true, 0
	for _, node := range w.nodes.now {
		zone := node.Labels[livesZone]
		if zones[zone] == nil {
			zones[zone] = &count{}
		}
		if _, excluded := node.Labels[livesExclude]; excluded {
			continue
		}
		counted++
		zones[zone].total++
		if ready, _ := livesReady(node); ready != v1.ConditionTrue {
			zones[zone].bad++
		}
	}
	for _, zone := range zones {
		full = full && (zone.total == 0 || zone.bad == zone.total)
	}
	full = full && counted > 0
	stopped := func(zone string) bool { // partial, and of no more than LargeClusterSizeThreshold nodes: the rate is 0
		z := zones[zone]
		return z.bad > 2 && z.bad < z.total && float32(z.bad)/float32(z.total) >= float32(w.plan.config().UnhealthyZoneThreshold)
	}
	for _, name := range livesKeys(w.nodes.now) {
		j.endedNode(name, full, stopped)
	}
	if j.rule == "" {
		j.endedPods(full, stopped)
	}
}

func (j *livesJudge) endedNode(name string, allDown bool, stopped func(zone string) bool) {
	w := j.world
	node, machine := w.nodes.now[name], w.machines[name]
	ready, _ := livesReady(node)
	own, _ := w.noExecute(node.Spec.Taints)
	want := v1.ConditionTrue
	switch machine.state {
	case "dead":
		want = v1.ConditionUnknown
	case "notready":
		want = v1.ConditionFalse
	}
	taint := map[v1.ConditionStatus]string{v1.ConditionUnknown: v1.TaintNodeUnreachable, v1.ConditionFalse: v1.TaintNodeNotReady}[want]
	noSchedule := []string{}
	for _, t := range node.Spec.Taints {
		if t.Effect == v1.TaintEffectNoSchedule && strings.HasPrefix(t.Key, "node.kubernetes.io/") {
			noSchedule = append(noSchedule, t.Key)
		}
	}
	switch {
	case ready != want:
		j.wrong("verdict lost", "%s is %s, and its Ready says %q in the end", name, machine.state, ready)
	case want == v1.ConditionTrue && len(own) > 0, allDown && len(own) > 0:
		j.wrong("not lifted in the end", "%s is %s and carries %v (all down: %v)", name, machine.state, own, allDown)
	case len(own) > 1 || len(own) == 1 && own[0] != taint:
		j.wrong("wrong taint in the end", "%s is %s and carries %v", name, machine.state, own)
	case w.plan.Taints && taint != "" && len(own) == 0 && !allDown && !stopped(node.Labels[livesZone]):
		j.wrong("taint lost", "%s is %s and carries no taint of ours", name, machine.state)
	case taint != "" && !slices.Equal(noSchedule, []string{taint}), taint == "" && len(noSchedule) > 0:
		j.wrong("NoSchedule in the end", "%s is %s and carries %v", name, machine.state, noSchedule)
	}
}

// endedPods: no pod whose deadline passed is still there, and in the direct way none on a failed node.
func (j *livesJudge) endedPods(allDown bool, stopped func(zone string) bool) {
	w := j.world
	leader := w.processes[0].mind
	for _, name := range livesKeys(w.pods.now) {
		pod := w.pods.now[name]
		known, node := leader.nodes[pod.Spec.NodeName], w.nodes.now[pod.Spec.NodeName]
		if known == nil || node == nil || pod.DeletionTimestamp != nil ||
			pod.Status.Phase == v1.PodSucceeded || pod.Annotations[v1.MirrorPodAnnotationKey] != "" {
			continue
		}
		ready, _ := livesReady(known.object)
		failed := ready != v1.ConditionTrue && !allDown
		if end, ends := leader.deadline(known, pod, false, true); ends && w.now.Sub(end) > livesLate {
			j.wrong("eviction lost", "%s on %s should have left at %s", name, pod.Spec.NodeName, livesSince(end))
		}
		// Decision 4: what our own taints made overdue while no harm was permitted leaves at the zone's rate, here 0.
		end, ends := leader.deadline(known, pod, true, true)
		waits := stopped(node.Labels[livesZone])
		if ends && w.plan.Taints && failed && w.now.Sub(end) > livesLate && !(waits && !end.After(leader.harmless)) {
			j.wrong("eviction lost", "%s on %s should have left at %s by our own taints", name, pod.Spec.NodeName, livesSince(end))
		}
		if !w.plan.Taints && failed && (known.emptied || !waits) && !livesDaemon(pod) {
			j.wrong("eviction lost", "%s on %s, which has failed", name, pod.Spec.NodeName)
		}
	}
}
