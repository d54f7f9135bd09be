package evictor_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/zone"
)

// happens applies an event to the world as it is by then; one that means nothing there does nothing.
func (w *livesWorld) happens(e livesEvent) {
	node, pod := livesPick(w.nodes.now, e.a), livesPick(w.pods.now, e.a)
	if e.amid && w.nodes.now[w.about] != nil { // about what is being written
		node = w.about
		here := maps.Clone(w.pods.now)
		maps.DeleteFunc(here, func(_ string, pod *v1.Pod) bool { return pod.Spec.NodeName != node })
		pod = livesPick(here, e.a)
	}
	switch e.kind {
	case "kill", "revive", "notready":
		if machine := w.machines[node]; machine != nil {
			if w.turns(machine, e); e.amid && machine.state == "alive" {
				w.report(node, v1.ConditionTrue)
			}
		}
	case "renew": // though it may be dead: the last breath of a kubelet
		if machine := w.machines[node]; machine != nil {
			w.renew(node, machine)
		}
	case "killzone", "revivezone", "killall", "reviveall":
		domain := fmt.Sprintf("z%d", e.a%w.plan.Zones)
		for _, name := range livesKeys(w.nodes.now) {
			if e.kind == "killall" || e.kind == "reviveall" || w.nodes.now[name].Labels[livesZone] == domain {
				w.turns(w.machines[name], e)
			}
		}
	case "taint", "untaint", "retaint", "forge", "strip":
		if node != "" {
			w.taints(node, e)
		}
	case "replacenode", "deletenode", "createnode", "movezone", "exclude", "loseready", "cordon", "relabel", "holdlabel":
		w.nodeEvent(node, e)
	case "replaceall": // as a StatefulSet does
		for _, name := range livesKeys(w.pods.now) {
			if on := w.pods.now[name].Spec.NodeName; on == node {
				w.setPod(name, nil)
				w.createPod(name, on, e.b)
			}
		}
	case "addpod", "deletepod", "replacepod", "tolerate", "complete", "terminate", "budget":
		w.podEvent(pod, e)
	case "hold", "release", "pause", "resume", "fence", "policy", "turns", "lead", "blind", "kick":
		w.permission(node, e)
	case "deafen", "mute":
		w.readEvent(node, e)
	case "fault":
		w.faults = append(w.faults, &livesFault{until: w.now.Add(time.Duration(1+e.b%200) * time.Second), scope: livesScopes[e.c%len(livesScopes)],
			kind: livesFaults[e.a%len(livesFaults)], ratio: []int{100, 50, 20}[e.c/len(livesScopes)%3], salt: uint64(e.b)<<16 + uint64(e.c)})
	default:
		w.processEvent(e)
	}
}

func livesPick[T any](table map[string]*T, number int) string {
	names := livesKeys(table)
	if len(names) == 0 {
		return ""
	}
	return names[number%len(names)]
}

// stamp is a TimeAdded as somebody may write it: now, none, past, future, or before the node was made.
func (w *livesWorld) stamp(number int, node *v1.Node) *metav1.Time {
	at := w.now
	switch number % 6 {
	case 0:
		return nil
	case 1:
		at = at.Add(-time.Duration(10+number/6%300) * time.Second)
	case 2:
		at = at.Add(time.Duration(1+number/6%600) * time.Second)
	case 3:
		at = node.CreationTimestamp.Add(-time.Minute)
	}
	stamp := metav1.NewTime(at.Truncate(time.Second))
	return &stamp
}

func (w *livesWorld) taints(name string, e livesEvent) {
	node := w.nodes.now[name].DeepCopy()
	add := func(taint v1.Taint) {
		taint.Effect, taint.TimeAdded = v1.TaintEffectNoExecute, w.stamp(e.c, node)
		node.Spec.Taints = append(slices.DeleteFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.MatchTaint(&taint) }), taint)
	}
	drop := func(drops func(t v1.Taint) bool) {
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Effect == v1.TaintEffectNoExecute && drops(t) })
	}
	switch e.kind {
	case "taint":
		add(v1.Taint{Key: []string{"maintenance", "maintenance", "repair"}[e.b%3], Value: []string{"", "a", "b"}[e.b/3%3]})
	case "untaint":
		drop(func(t v1.Taint) bool { return !livesIsOwn(t.Key) })
	case "retaint": // it goes and comes back; a store that lags never shows it gone
		for _, taint := range slices.Clone(node.Spec.Taints) {
			if taint.Effect == v1.TaintEffectNoExecute && (e.b%2 == 0 || !livesIsOwn(taint.Key)) {
				without := w.nodes.now[name].DeepCopy()
				without.Spec.Taints = slices.DeleteFunc(without.Spec.Taints, func(t v1.Taint) bool { return t.MatchTaint(&taint) })
				w.setNode(name, without)
				node = without.DeepCopy()
				add(taint)
				break
			}
		}
	case "forge":
		add(v1.Taint{Key: livesOwn[e.b%2]})
	case "strip":
		drop(func(t v1.Taint) bool { return livesIsOwn(t.Key) })
	}
	w.setNode(name, node)
}

func (w *livesWorld) nodeEvent(name string, e livesEvent) {
	if e.kind == "createnode" {
		if name = fmt.Sprintf("n%d", e.a%(w.plan.Nodes+2)); w.nodes.now[name] == nil {
			w.createNode(name, e.a%(w.plan.Nodes+2))
			if e.b%3 == 0 {
				w.machines[name].state = "dead"
			}
		}
		return
	}
	if name == "" {
		return
	}
	node := w.nodes.now[name].DeepCopy()
	switch e.kind {
	case "replacenode":
		w.setNode(name, nil)
		w.createNode(name, e.b)
		if e.c%3 == 0 { // it carries taints from its first version on
			w.taints(name, livesEvent{kind: "taint", b: e.b, c: e.c / 3})
		}
		return
	case "deletenode":
		w.setNode(name, nil)
		delete(w.machines, name)
		return
	case "movezone":
		for of, pod := range w.pods.now { // what is to be written of them waits for the pass that reads the node's zone again
			if pod.Spec.NodeName == name {
				w.touched[of] = w.now
			}
		}
		node.Labels[[]string{livesZone, livesRack}[e.c%2]] = fmt.Sprintf("z%d", e.b%w.plan.Zones)
	case "exclude":
		label := []string{livesExclude, livesSpare}[e.c%2]
		if _, excluded := node.Labels[label]; excluded {
			delete(node.Labels, label)
		} else {
			node.Labels[label] = ""
		}
	case "cordon":
		node.Spec.Unschedulable = e.b%2 == 0
	case "relabel":
		node.Labels[v1.LabelOSStable] = []string{"linux", "windows"}[e.b%2]
	case "holdlabel":
		node.Annotations = map[string]string{livesHold: []string{"", "by hand"}[e.b%2]}
		w.shaken = w.now
	case "loseready":
		node.Status.Conditions = slices.DeleteFunc(node.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == v1.NodeReady })
	}
	w.setNode(name, node)
}

func (w *livesWorld) podEvent(name string, e livesEvent) {
	target := livesPick(w.nodes.now, e.b)
	if e.kind == "addpod" {
		if name = fmt.Sprintf("q%d", e.c%8); w.pods.now[name] == nil && target != "" {
			w.createPod(name, target, e.c)
		}
		return
	}
	if name == "" {
		return
	}
	pod := w.pods.now[name].DeepCopy()
	switch e.kind {
	case "deletepod":
		w.setPod(name, nil)
		return
	case "replacepod":
		if target != "" {
			w.setPod(name, nil)
			w.createPod(name, target, e.c)
		}
		return
	case "budget":
		w.budgets[name], w.retry = w.now.Add(time.Duration(1+e.b%400)*time.Second), []int{0, 10}[e.c%2]
		return
	case "tolerate":
		pod.Spec.Tolerations = livesTolerations(e.b)
	case "terminate":
		stamp := metav1.NewTime(w.now)
		pod.DeletionTimestamp, w.gone[name] = &stamp, w.now.Add(time.Duration(e.b%90)*time.Second)
	case "complete":
		pod.Status.Phase = v1.PodSucceeded
	}
	w.setPod(name, pod)
}

func (w *livesWorld) permission(name string, e livesEvent) {
	domain, reason := livesAll, fmt.Sprint("pause ", e.b%2)
	if e.c%2 == 0 {
		domain = fmt.Sprintf("z%d", e.a%w.plan.Zones)
	}
	w.shaken = w.now
	switch e.kind {
	case "hold":
		w.hold(name, true)
	case "release":
		w.hold(name, false)
	case "pause":
		w.pause(domain, reason, true)
	case "resume":
		w.pause(domain, reason, false)
	case "fence":
		w.shut(domain, "fence", !w.shutBy[domain]["fence"])
	case "turns":
		w.turnsShut = w.now.Add(time.Duration(e.b%200) * time.Second)
	case "policy":
		w.ruling = zone.Ruling{Rate: float64(e.b / 3 % 2)}
	}
	for i, p := range w.processes {
		p.fed = true
		p.mind.disturbed(e.kind)
		switch mine := i == e.a%len(w.processes); {
		case e.kind == "lead" && mine:
			p.lead(!p.leads)
		case e.kind == "blind" && mine:
			p.see(p.blind != nil)
		case e.kind == "kick":
			p.mind.kick()
			w.call(p.evictor.Kick)
		}
	}
}

// hold has a node held, or released.
func (w *livesWorld) hold(name string, held bool) {
	if delete(w.holds, name); held {
		w.holds[name] = w.now
	} else {
		w.freed[name] = w.now
	}
	for _, p := range w.processes {
		w.call(func() { p.hold(name, held) })
	}
}

// hold has a process hold a node, or release it, if its half can.
func (p *livesProcess) hold(name string, held bool) {
	switch nodes := p.evictor.nodes(); {
	case nodes == nil:
	case held:
		nodes.Hold(name, "held")
	default:
		nodes.Release(name)
	}
}

// pause pauses all domains for a reason, or closes one, or ends that.
func (w *livesWorld) pause(domain, reason string, paused bool) {
	w.shut(domain, reason, paused)
	for _, p := range w.processes {
		p.mind.kick() // a pause kicks when it changes
		w.call(func() { p.pause(domain, reason, paused) })
	}
}

func (p *livesProcess) pause(domain, reason string, paused bool) {
	switch {
	case domain != livesAll:
		p.evictor.Kick() // the breaker has another answer now
	case paused:
		p.paused.Pause(reason)
	default:
		p.paused.Resume(reason)
	}
}

// kick: whatever was refused is asked anew.
func (m *livesMind) kick() {
	m.kicked = m.world.now
	for name, known := range m.pods {
		known.later = time.Time{}
		m.pods[name] = known
	}
}

// shut notes why a domain is closed to harm, or open again.
func (w *livesWorld) shut(domain, reason string, shut bool) {
	reasons := w.shutBy[domain]
	if reasons == nil {
		reasons = map[string]bool{}
		w.shutBy[domain] = reasons
	}
	if delete(reasons, reason); shut {
		reasons[reason] = true
	}
	was := w.closed[domain]
	if delete(w.closed, domain); len(reasons) > 0 {
		w.closed[domain] = fmt.Errorf("%s is closed: %v", domain, livesKeys(reasons))
	}
	if was == nil {
		w.shutSince[domain] = w.now
	}
}

// lead has a process lead, or not.
func (p *livesProcess) lead(leads bool) {
	if leads && !p.leads {
		p.world.judge.starts = append(p.world.judge.starts, p.world.now)
		p.mind.closed["lead"] = [2]time.Time{p.ledAt, p.world.now}
	}
	if leads != p.leads {
		p.leads, p.ledAt = leads, p.world.now
	}
}

// see tells a process whether it sees well.
func (p *livesProcess) see(well bool) {
	if p.blind = nil; !well {
		p.blind, p.blindSince = errors.New("blind"), p.world.now
	}
	err := p.blind
	p.mind.observes(well)
	p.world.shaken = p.world.now
	p.world.call(func() { p.evictor.SetObserverHealth(err) })
}

func (w *livesWorld) processEvent(e livesEvent) {
	p := w.processes[e.a%len(w.processes)]
	kind := []string{"nodes", "pods", "leases"}[e.c%3]
	switch e.kind {
	case "lag":
		p.lag[kind] = w.now.Add(time.Duration(1+e.b%90) * time.Second)
	case "relist":
		p.showNodes()
		p.showPods()
	case "back":
		if kind == "leases" {
			kind = "nodes"
		}
		p.goBack(kind, max(1, w.version-int64(1+e.b%60)))
		p.lag[kind] = w.now.Add(time.Duration(1+e.b/60%60) * time.Second)
	case "backlease":
		for _, name := range livesKeys(p.mind.nodes) { // older than what it has seen, which lags
			if known := p.mind.nodes[name]; known.leaseVersion > 0 {
				if !p.mind.slot.IsZero() {
					p.mind.listens()
				}
				p.evictor.LeaseObserved(name, known.lease.Add(-10*time.Second), fmt.Sprint(max(1, known.leaseVersion-int64(1+e.b%200))))
			}
		}
		p.fed = true
	case "twice":
		p.showNodes()
		p.showPods()
		p.showNodes()
	case "freeze":
		if w.plan.Run {
			return
		}
		p.frozen = w.now.Add(time.Duration(1+e.b%180) * time.Second)
		for _, known := range p.mind.nodes {
			known.lost += p.mind.unheard()
		}
		p.mind.disturbed("freeze")
		p.mind.unsettled = p.frozen
	case "clockback":
		back := time.Duration(1+e.b%120) * time.Second
		p.skew -= back
		p.mind.moved = true
		for _, known := range p.mind.nodes { // what it has not read of its clock since the last pass
			known.lost += min(back, livesLater(w.now, p.frozen).Sub(p.mind.slot))
		}
		p.set.Store(int64(p.skew))
		p.mind.disturbed("clock")
		p.fed = true
	case "storepanic":
		if w.plan.Run { // it would be the end of the program
			return
		}
		p.panics = 1 + e.b%3
		p.mind.disturbed("own panic")
	case "restart":
		w.restart(p)
	case "setting":
		w.switches()
	case "restore": // the API server goes back to what it was, as from a backup of etcd, and every process restarts
		w.version = max(int64(w.plan.Nodes), w.version-int64(1+e.b%120))
		w.nodes.goBack(w.version)
		w.pods.goBack(w.version)
		for _, name := range livesKeys(w.nodes.now) {
			if w.machines[name] == nil {
				w.machines[name] = &livesMachine{state: "dead"}
			}
			if machine := w.machines[name]; machine.lease > w.version { // as it was about then
				machine.lease, machine.renew = w.version, machine.renew.Add(-w.config.Nodes.NodeMonitorPeriod)
			}
		}
		for _, p := range slices.Clone(w.processes) {
			w.restart(p)
		}
	case "takeover", "split":
		if len(w.processes) == 2 {
			both := e.kind == "split"
			first := both || !w.processes[0].leads
			for i, q := range w.processes {
				q.lead(both || first == (i == 0))
				q.mind.disturbed("takeover")
				q.mind.kick()
				w.call(q.evictor.Kick)
				q.fed = true
			}
		}
	}
}
