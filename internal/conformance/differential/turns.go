package differential

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// misplaced returns the lines that our pages promise, and that did not come, and those that came too soon, whatever upstream does.
func (e *explainer) misplaced() (lines []timeline.Line) {
	for node := range e.zoneOf {
		lines = append(lines, e.liftedLate(node)...)
		lines = append(lines, e.unmarked(node)...)
	}
	lines = append(lines, e.neverReported()...)
	if e.settings.TaintBasedEviction {
		for _, zone := range e.allZones() {
			lines = append(lines, e.unpaced(zone)...)
		}
	}
	slices.SortFunc(lines, func(a, b timeline.Line) int { return cmp.Or(cmp.Compare(a.T, b.T), cmp.Compare(a.Node, b.Node)) })
	return lines
}

// calm says whether nothing happened within that span that moves what the evictor does with the node: no outage of the API, no
// restart, no lost renewals.
func (e *explainer) calm(node string, from, to time.Duration) bool {
	unheard := slices.ContainsFunc(e.unheardOf, func(s span) bool { return s.from <= to && s.to >= from-e.settings.NodeMonitorGracePeriod })
	restarted := slices.ContainsFunc(e.restarts, func(at time.Duration) bool { return at >= from && at <= to })
	lost := slices.ContainsFunc(e.stale, func(s stale) bool { return s.node == node && s.from <= to && s.to >= from })
	return !unheard && !restarted && !lost && !e.outage(from-2*e.settings.NodeMonitorPeriod, to)
}

// watched says whether what fails then may be acted on: it was seen well since the start or was watched for a grace.
func (e *explainer) watched(node string, t time.Duration) bool {
	start, up := e.started(t), e.allUp(t)
	well := !e.failing(node, start+slack) && (start == 0 || e.verdict(node, start) == v1.ConditionTrue)
	return t >= e.heldUntil(t) || well && (up == 0 || up < start)
}

// liftedLate: our taints leave a node in the pass after it is back.
func (e *explainer) liftedLate(node string) (lines []timeline.Line) {
	for _, s := range e.borne(e.ours, node) {
		for i, m := range e.health[node] {
			by := m.at + e.settings.NodeMonitorPeriod + slack
			next := i+1 < len(e.health[node]) && e.health[node][i+1].at <= by
			at, gone := e.removed[node]
			if !m.failing && !m.renewed && m.at > s.from && s.to > by && by < e.settings.Until && !next && !(gone && at <= by) && e.calm(node, m.at, by) {
				lines = append(lines, timeline.Line{T: by, Kind: timeline.KindTaint, Node: node, Op: timeline.OpRemove})
			}
		}
	}
	return lines
}

// unmarked: when a node is found silent, its pods are marked.
func (e *explainer) unmarked(node string) (lines []timeline.Line) {
	for _, l := range e.ours[about{kind: timeline.KindCondition, node: node}] {
		if l.Type != string(v1.NodeReady) || e.isDown(l) || !e.watched(node, l.T) || e.saidNotReady(node, l.T) || !e.calm(node, l.T-2*e.settings.NodeMonitorGracePeriod, l.T+e.settings.NodeMonitorPeriod) {
			continue
		}
		for i := range e.Case.Scenario.Cluster.Zones {
			z := &e.Case.Scenario.Cluster.Zones[i]
			for k := range z.Nodes {
				pod := node + "-p0"
				at, deleted := e.deleted[pod]
				if z.NodeName(k) != node || z.PodsPerNode == 0 || deleted && at <= l.T || e.ours.wrote(about{kind: timeline.KindEvict, node: node, pod: pod}, 0, l.T+slack, anyLine) {
					continue
				}
				if !e.ours.wrote(about{kind: timeline.KindPodNotReady, node: node, pod: pod}, l.T, l.T+slack, anyLine) {
					lines = append(lines, timeline.Line{T: l.T, Kind: timeline.KindPodNotReady, Node: node, Pod: pod})
				}
			}
		}
	}
	return lines
}

// neverReported: a node that has never reported is found silent in the first pass after a grace of its own.
func (e *explainer) neverReported() (lines []timeline.Line) {
	for _, n := range e.Case.Nodes {
		mute := len(n.Status.Conditions) > 0 && !slices.ContainsFunc(n.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == v1.NodeReady })
		if !mute {
			continue
		}
		period := e.settings.NodeMonitorPeriod
		due := e.settings.NodeStartupGracePeriod.Truncate(period) + period
		at, gone := e.removed[n.Name]
		down := slices.ContainsFunc(e.allDown, func(s span) bool { return s.to <= due })
		back := slices.ContainsFunc(e.health[n.Name], func(m moment) bool { return !m.failing && m.at <= due })
		if gone && at <= due || down || back || due >= e.settings.Until || !e.calm(n.Name, 0, due+period) {
			continue
		}
		ready := func(l *timeline.Line) bool {
			return l.Type == string(v1.NodeReady) && l.Status == string(v1.ConditionUnknown)
		}
		if of := (about{kind: timeline.KindCondition, node: n.Name}); !e.ours.wrote(of, due, due+slack, ready) || e.ours.wrote(of, 0, due-1, anyLine) {
			lines = append(lines, timeline.Line{T: due, Kind: timeline.KindCondition, Node: n.Name, Type: string(v1.NodeReady)})
		}
		of, unreachable := about{kind: timeline.KindTaint, node: n.Name}, func(l *timeline.Line) bool {
			return l.Key == v1.TaintNodeUnreachable && l.Effect == string(v1.TaintEffectNoSchedule)
		}
		if !e.ours.wrote(of, due, due+slack, unreachable) {
			lines = append(lines, timeline.Line{T: due, Kind: timeline.KindTaint, Node: n.Name, Key: v1.TaintNodeUnreachable})
		}
	}
	return lines
}

// unpaced: two nodes of a zone are not tainted sooner after each other than its rate says, and while one waits, a turn comes
// as soon as it says.
func (e *explainer) unpaced(zone string) (lines []timeline.Line) {
	period := e.settings.NodeMonitorPeriod
	var turns []time.Duration
	for node, of := range e.zoneOf {
		for _, s := range e.borne(e.ours, node) {
			if of == zone {
				turns = append(turns, s.from)
			}
		}
	}
	slices.Sort(turns)
	lines = e.unprompt(zone, turns)
	same := func(from, to time.Duration) bool {
		changed := slices.ContainsFunc(e.rates[zone], func(r rateAt) bool { return r.at > from && r.at <= to })
		return !changed && e.started(from) == e.started(to+slack)
	}
	for i := 1; i < len(turns); i++ {
		a, b := turns[i-1], turns[i]
		if r := e.rate(zone, b); same(a-2*period, b) && (r == 0 || b-a < time.Duration(float64(time.Second)/r)-slack) {
			lines = append(lines, timeline.Line{T: b, Kind: timeline.KindTaint, Zone: zone, Rate: r})
		}
	}
	return append(lines, e.idle(zone, turns, same)...)
}

// idle: while a node waits, a turn comes as soon as the rate says. same says whether the rate stayed the same.
func (e *explainer) idle(zone string, turns []time.Duration, same func(from, to time.Duration) bool) (lines []timeline.Line) {
	since, was := -forever, 0.0
	for t := time.Duration(0); t < e.settings.Until; t += time.Second {
		r := e.rate(zone, t)
		served := slices.ContainsFunc(turns, func(at time.Duration) bool { return at > t-time.Second && at <= t })
		switch {
		case r == 0 || !e.waits(zone, t):
			since = -forever
		case since < 0 || served || r != was || !same(t-time.Second, t):
			since = t
		case t-since > time.Duration(float64(time.Second)/r)+2*e.settings.NodeMonitorPeriod+2*time.Second:
			lines = append(lines, timeline.Line{T: t, Kind: timeline.KindTaint, Zone: zone, Rate: r})
			since = t
		}
		was = r
	}
	return lines
}

// rate is that of a zone then.
func (e *explainer) rate(zone string, t time.Duration) (r float64) {
	for _, at := range e.rates[zone] {
		if at.at <= t {
			r = at.rate
		}
	}
	return r
}

// unprompt: when a node is found silent, one of its zone has its turn at once if none had for as long as a token takes.
func (e *explainer) unprompt(zone string, turns []time.Duration) (lines []timeline.Line) {
	for node, of := range e.zoneOf {
		if of != zone || slices.ContainsFunc(e.Case.Nodes, func(n *v1.Node) bool { return n.Name == node }) {
			continue
		}
		for _, l := range e.ours[about{kind: timeline.KindCondition, node: node}] {
			if l.Type == string(v1.NodeReady) && e.promptly(l, zone, turns) {
				lines = append(lines, timeline.Line{T: l.T, Kind: timeline.KindTaint, Node: node, Rate: e.rate(zone, l.T)})
			}
		}
	}
	return lines
}

// promptly says whether, when a node was found silent, a turn should have come, and did not.
func (e *explainer) promptly(l *timeline.Line, zone string, turns []time.Duration) bool {
	r, period, grace := e.rate(zone, l.T), e.settings.NodeMonitorPeriod, e.settings.NodeMonitorGracePeriod
	if r == 0 || e.isDown(l) || !e.watched(l.Node, l.T) || !e.calm(l.Node, l.T-2*grace, l.T+period) {
		return false
	}
	token := time.Duration(float64(time.Second)/r) + period
	changed := slices.ContainsFunc(e.rates[zone], func(r rateAt) bool { return r.at > l.T-token && r.at <= l.T })
	served := slices.ContainsFunc(turns, func(at time.Duration) bool { return at > l.T-token && at <= l.T+slack })
	added := slices.ContainsFunc(e.added, func(a moment) bool { return a.name == l.Node && l.T < a.at+grace+2*period })
	_, tainted := during(e.borne(e.ours, l.Node), l.T-2*slack)
	return !served && !tainted && !changed && !added
}

// waits says whether a node of the zone has failed and waits for its turn.
func (e *explainer) waits(zone string, t time.Duration) bool {
	period, grace := e.settings.NodeMonitorPeriod, e.settings.NodeMonitorGracePeriod
	if slices.ContainsFunc(e.allDown, func(s span) bool { return s.holds(t) }) {
		return false
	}
	for node, of := range e.zoneOf {
		at, gone := e.removed[node]
		m := e.state(node, t)
		late := slices.ContainsFunc(e.added, func(a moment) bool { return a.name == node && t < a.at+grace+2*period+slack })
		if of != zone || gone && at <= t+period || late || !e.watched(node, t) || !m.failing || t-m.at < 2*period || !e.calm(node, t-grace-3*period, t) {
			continue
		}
		if _, tainted := during(e.borne(e.ours, node), t); tainted || slices.ContainsFunc(e.Case.Nodes, func(n *v1.Node) bool { return n.Name == node }) {
			continue
		}
		found := e.ours.wrote(about{kind: timeline.KindCondition, node: node}, m.at, t, anyLine) || t-m.at > 2*grace+3*period && len(e.unheardOf) == 0
		if !m.silent || found {
			return true
		}
	}
	return false
}
