package differential

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// misplaced returns the lines that our pages promise, and that did not come, and those that came too soon, whatever upstream does.
func (e *explainer) misplaced() (lines []timeline.Line) {
	for node := range e.zoneOf {
		lines = append(lines, e.liftedLate(node)...)
		lines = append(lines, e.kept(node)...)
		lines = append(lines, e.found(node)...)
		lines = append(lines, e.unmarked(node)...)
	}
	lines = append(append(lines, e.neverReported()...), e.uncordoned()...)
	if e.settings.TaintBasedEviction {
		lines = append(lines, e.misjudged()...)
	} else {
		lines = append(lines, e.stayed()...)
	}
	for _, zone := range e.allZones() {
		lines = append(lines, e.unpaced(zone)...)
	}
	slices.SortFunc(lines, func(a, b timeline.Line) int { return cmp.Or(cmp.Compare(a.T, b.T), cmp.Compare(a.Node, b.Node)) })
	return lines
}

// calm says whether nothing happened within that span that moves what the evictor makes of the node: no outage of the API, no
// restart, no lost renewals.
func (e *explainer) calm(node string, from, to time.Duration) bool {
	unheard := slices.ContainsFunc(e.unheardOf, func(s span) bool { return s.from <= to && s.to >= from-e.settings.NodeMonitorGracePeriod })
	restarted := slices.ContainsFunc(e.restarts, func(at time.Duration) bool { return at >= from && at <= to })
	lost := slices.ContainsFunc(e.stale, func(s stale) bool { return s.node == node && s.from <= to && s.to >= from })
	return !unheard && !restarted && !lost && !e.blackout(from-2*e.settings.NodeMonitorPeriod, to)
}

// watched says whether what fails then may be acted on: it was seen well since the start or was watched for a grace.
func (e *explainer) watched(node string, t time.Duration) bool {
	start, up := e.started(t), e.allUp(t)
	well := !e.failing(node, start+slack) && (start == 0 || e.verdict(node, start) == v1.ConditionTrue)
	return t >= e.heldUntil(t) || well && (up == 0 || up < start)
}

// found: a node is Unknown in the first pass after a grace of silence, which counts from the pass that saw the last sign of life.
func (e *explainer) found(node string) (lines []timeline.Line) {
	period, of := e.settings.NodeMonitorPeriod, about{kind: timeline.KindCondition, node: node}
	for i, m := range e.health[node] {
		if !m.silent || m.at < time.Second || len(e.unheardOf) > 0 { // it may be Unknown already
			continue
		}
		due, latest := e.silentAt(node, m.at)
		latest = e.written(latest)
		back := i+1 < len(e.health[node]) && e.health[node][i+1].at <= latest
		anew := slices.ContainsFunc(e.allDown, func(s span) bool { return s.to >= m.at-e.settings.NodeMonitorGracePeriod && s.to <= latest }) // then clocks are
		if anew || back || e.isGone(node, latest) || latest >= e.settings.Until || !e.calm(node, m.at-e.settings.NodeMonitorGracePeriod, latest+period) {
			continue
		}
		if e.ours.wrote(of, m.at, due-1, isUnknown) || !e.ours.wrote(of, due, latest, isUnknown) {
			lines = append(lines, timeline.Line{T: due, Kind: timeline.KindCondition, Node: node, Type: string(v1.NodeReady)})
		}
	}
	return append(lines, e.unknownWell(node)...)
}

// unknownWell: a node is Unknown only while it is silent, and has the NoSchedule taint then.
func (e *explainer) unknownWell(node string) (lines []timeline.Line) {
	grace := e.settings.NodeMonitorGracePeriod
	for _, l := range e.ours[about{kind: timeline.KindCondition, node: node}] {
		m := e.state(node, l.T)
		unheard := slices.ContainsFunc(e.unheardOf, func(s span) bool { return s.from <= l.T && s.to >= l.T-2*grace })
		if !isUnknown(l) || m.at <= time.Second || unheard || e.blackout(l.T-2*grace, l.T) {
			continue
		}
		by := e.written(l.T)
		also := e.ours.wrote(about{kind: timeline.KindTaint, node: node}, 0, by, isClosed) || e.state(node, by) != m || by >= e.settings.Until
		if !m.silent || !also {
			lines = append(lines, *l)
		}
	}
	return lines
}

// isGone says whether the node is deleted by then.
func (e *explainer) isGone(node string, by time.Duration) bool {
	at, gone := e.removed[node]
	return gone && at <= by
}

func isUnknown(l *timeline.Line) bool {
	return l.Type == string(v1.NodeReady) && l.Status == string(v1.ConditionUnknown)
}

func isClosed(l *timeline.Line) bool {
	return l.Key == v1.TaintNodeUnreachable && l.Effect == string(v1.TaintEffectNoSchedule)
}

// silentAt is when a node that falls silent then is Unknown, at the earliest and at the latest.
func (e *explainer) silentAt(node string, at time.Duration) (earliest, latest time.Duration) {
	period, began := e.settings.NodeMonitorPeriod, e.started(at)
	beat := max(e.lastBeat(node, at), began)
	seen := e.passFrom(beat)
	earliest = began + (seen - began + e.settings.NodeMonitorGracePeriod).Truncate(period) + period
	if beat == seen { // the pass of that instant may have come first
		return earliest, earliest + period
	}
	return earliest, earliest
}

// liftedLate: our taints leave a node in the pass after it is back.
func (e *explainer) liftedLate(node string) (lines []timeline.Line) {
	for _, s := range e.worn(node) {
		for i, m := range e.health[node] {
			by := e.written(m.at + e.settings.NodeMonitorPeriod)
			next := i+1 < len(e.health[node]) && e.health[node][i+1].at <= by
			if !m.failing && !m.renewed && m.at > s.from && s.to > by && by < e.settings.Until && !next && !e.isGone(node, by) && e.calm(node, m.at, by) {
				lines = append(lines, timeline.Line{T: by, Kind: timeline.KindTaint, Node: node, Op: timeline.OpRemove})
			}
		}
	}
	return lines
}

// kept: our taints leave a node at once when every zone is down, and of two, one stays.
func (e *explainer) kept(node string) (lines []timeline.Line) {
	for _, h := range e.carriedBy(node) {
		own := slices.DeleteFunc(slices.Clone(h.taints), func(t carried) bool { return other[t.key] == "" })
		if len(own) > 1 && h.to > h.from+slack {
			lines = append(lines, timeline.Line{T: h.from, Kind: timeline.KindTaint, Node: node, Op: timeline.OpRemove})
		}
	}
	for _, s := range e.worn(node) {
		for _, down := range e.allDown {
			by := e.written(down.from)
			stays := s.from < down.from-slack && s.to > by && down.to > by
			if stays && !e.isGone(node, by) && e.calm(node, down.from, by) {
				lines = append(lines, timeline.Line{T: down.from, Kind: timeline.KindTaint, Node: node, Op: timeline.OpRemove})
			}
		}
	}
	return lines
}

// unmarked: when a node is found silent, its pods are marked.
func (e *explainer) unmarked(node string) (lines []timeline.Line) {
	for _, l := range e.ours[about{kind: timeline.KindCondition, node: node}] {
		by := e.retried(l.T, false) + slack
		moved := e.state(node, by) != e.state(node, l.T) || slices.ContainsFunc(e.allDown, func(s span) bool { return s.from <= by && l.T < s.to })
		if l.Type != string(v1.NodeReady) || moved || !e.watched(node, l.T) || e.saidNotReady(node, l.T) || !e.calm(node, l.T-2*e.settings.NodeMonitorGracePeriod, by+e.settings.NodeMonitorPeriod) {
			continue
		}
		for _, pod := range e.readyPods(node) {
			at, deleted := e.deleted[pod]
			if deleted && at <= by || e.ours.wrote(about{kind: timeline.KindEvict, node: node, pod: pod}, 0, by, anyLine) {
				continue
			}
			if !e.ours.wrote(about{kind: timeline.KindPodNotReady, node: node, pod: pod}, l.T, by, anyLine) {
				lines = append(lines, timeline.Line{T: l.T, Kind: timeline.KindPodNotReady, Node: node, Pod: pod})
			}
		}
	}
	return lines
}

// readyPods are those that the node has from the beginning, and that are ready then.
func (e *explainer) readyPods(node string) (pods []string) {
	for i := range e.Case.Scenario.Cluster.Zones {
		z := &e.Case.Scenario.Cluster.Zones[i]
		for k := range z.Nodes {
			if z.NodeName(k) != node {
				continue
			}
			for j := range z.PodsPerNode {
				pods = append(pods, fmt.Sprintf("%s-p%d", node, j))
			}
			for j := range z.DaemonSetPodsPerNode {
				pods = append(pods, fmt.Sprintf("%s-ds%d", node, j))
			}
		}
	}
	return pods
}

// neverReported: a node that has never reported is found silent in the first pass after a grace of its own.
func (e *explainer) neverReported() (lines []timeline.Line) {
	for _, n := range e.Case.Nodes {
		if !mute(n) {
			continue
		}
		period := e.settings.NodeMonitorPeriod
		due := e.settings.NodeStartupGracePeriod.Truncate(period) + period
		by := e.written(due)
		down := slices.ContainsFunc(e.allDown, func(s span) bool { return s.to <= by })
		back := slices.ContainsFunc(e.health[n.Name], func(m moment) bool { return !m.failing && m.at <= by })
		if e.isGone(n.Name, by) || down || back || by >= e.settings.Until || !e.calm(n.Name, 0, by+period) {
			continue
		}
		if of := (about{kind: timeline.KindCondition, node: n.Name}); !e.ours.wrote(of, due, by, isUnknown) || e.ours.wrote(of, 0, due-1, anyLine) {
			lines = append(lines, timeline.Line{T: due, Kind: timeline.KindCondition, Node: n.Name, Type: string(v1.NodeReady)})
		}
		if !e.ours.wrote(about{kind: timeline.KindTaint, node: n.Name}, due, by, isClosed) {
			lines = append(lines, timeline.Line{T: due, Kind: timeline.KindTaint, Node: n.Name, Key: v1.TaintNodeUnreachable})
		}
	}
	return lines
}

// tokens are those of a zone: one at most. It grows at the zone's rate, of which a change keeps a whole one and no part of one.
type tokens struct {
	held  float64
	at    time.Duration
	rate  float64
	whole time.Duration // since when there is one
}

func (b *tokens) grow(t time.Duration) {
	if missing := 1 - b.held; missing > 0 && b.rate > 0 {
		b.whole = b.at + time.Duration(missing/b.rate*float64(time.Second))
	}
	b.held, b.at = min(1, b.held+b.rate*(t-b.at).Seconds()), t
}

func (b *tokens) change(rate float64) {
	if rate != b.rate {
		b.held = math.Floor(b.held + 1e-6)
	}
	if b.rate = rate; rate == 0 {
		b.held = 0
	}
}

// take says whether there was one.
func (b *tokens) take() bool {
	had := b.held >= 1-max(1e-6, b.rate*1e-3)
	b.held = max(0, b.held-1)
	return had
}

// unpaced: a node is tainted, or emptied, when its zone has a token for it, and while one waits, no token is left.
func (e *explainer) unpaced(zone string) (lines []timeline.Line) {
	b, since := tokens{held: 1, rate: e.settings.NodeEvictionRate}, forever // since when a node waits
	turns, rates, restarts := e.turnsIn(zone), e.rates[zone], e.restarts
	wrong := func(t time.Duration) {
		lines = append(lines, timeline.Line{T: t, Kind: timeline.KindTaint, Zone: zone, Rate: b.rate})
	}
	for t := time.Duration(0); t < e.settings.Until; {
		t = min(t+time.Second, first(turns), first(restarts))
		if len(rates) > 0 {
			t = min(t, rates[0].at)
		}
		b.grow(t)
		switch {
		case first(restarts) == t:
			b.held, b.rate, since, restarts = 1, e.settings.NodeEvictionRate, forever, restarts[1:]
		case len(rates) > 0 && rates[0].at == t:
			if b.rate != rates[0].rate {
				since = forever
			}
			b.change(rates[0].rate)
			rates = rates[1:]
		case first(turns) == t:
			if !b.take() {
				wrong(t)
			}
			since, turns = forever, turns[1:]
		case !e.waits(zone, t):
			since = forever
		case since == forever:
			since = t
		case b.rate > 0 && b.held >= 1 && t >= max(b.whole, since)+time.Second && !e.unsure(zone, t, b.rate):
			wrong(t)
			since = forever
		}
	}
	return lines
}

func first(times []time.Duration) time.Duration {
	if len(times) == 0 {
		return forever
	}
	return times[0]
}

// unsure says whether tokens may have been spent of which there is no line: on taints that failed, or on pods that were overdue
// when the process began.
func (e *explainer) unsure(zone string, t time.Duration, r float64) bool {
	token := time.Duration(float64(time.Second)/r) + 2*e.settings.NodeMonitorPeriod
	nodes, tainted, start := 0, 0, e.started(t)
	for node, of := range e.zoneOf {
		if of != zone {
			continue
		}
		nodes++
		if _, had := during(e.inTurn(node), start); had {
			tainted++
		}
	}
	for _, s := range e.outages {
		if t >= s.to && t < s.to+e.settings.NodeMonitorGracePeriod+time.Duration(nodes+1)*token && e.blinds(s) {
			return true
		}
	}
	if !e.settings.TaintBasedEviction && e.unserved(zone, t) {
		return true
	}
	return e.written(t-token) > t-token+slack || e.outage(t-token, t) || start > 0 && tainted > 0 && t < start+e.settings.NodeMonitorGracePeriod+time.Duration(tainted+1)*token
}

// turnsIn is when the nodes of a zone were tainted, or emptied.
func (e *explainer) turnsIn(zone string) (turns []time.Duration) {
	for node, of := range e.zoneOf {
		if of == zone {
			for _, s := range e.inTurn(node) {
				turns = append(turns, s.from)
			}
		}
	}
	slices.Sort(turns)
	return turns
}

// failedFor is when a node has failed for long enough to be served: at once with taints, else after the timeout, which begins
// anew at a start, and when not every zone is down any more.
func (e *explainer) failedFor(m moment, t time.Duration) time.Duration {
	if e.settings.TaintBasedEviction {
		return m.at
	}
	return max(m.at, e.started(t), e.allUp(t)) + e.settings.PodEvictionTimeout + 2*e.settings.NodeMonitorPeriod + slack
}

// waits says whether a node of the zone has failed and waits for its turn.
func (e *explainer) waits(zone string, t time.Duration) bool {
	if slices.ContainsFunc(e.allDown, func(s span) bool { return s.holds(t) }) {
		return false
	}
	for node, of := range e.zoneOf {
		if of == zone && e.awaitsTurn(node, t) {
			return true
		}
	}
	return false
}

func (e *explainer) awaitsTurn(node string, t time.Duration) bool {
	period, grace := e.settings.NodeMonitorPeriod, e.settings.NodeMonitorGracePeriod
	at, gone := e.removed[node]
	m := e.state(node, t)
	late := slices.ContainsFunc(e.added, func(a moment) bool { return a.name == node && t < a.at+grace+2*period+slack })
	watched := e.watched(node, t)
	if !m.silent { // who says so settles at its first sign of life after the verdict
		verdict := e.passFrom(max(m.at, e.allUp(t), e.started(t)))
		watched = t >= e.renewal(node, verdict+1)+period+slack
	}
	if m.renewed { // it is Unknown until it reports
		watched = watched && t >= m.at+e.settings.StatusInterval+period+slack
	}
	if gone && at <= t+period || late || !watched || !m.failing || !e.calm(node, t-grace-3*period, t) {
		return false
	}
	if _, served := during(e.inTurn(node), t); served || !e.servable(node, t) || t < e.failedFor(m, t) {
		return false
	}
	pass := t
	if !e.settings.TaintBasedEviction { // the pass after that serves it
		pass -= period + slack
	}
	found := e.ours.wrote(about{kind: timeline.KindCondition, node: node}, m.at, pass, anyLine) || t-m.at > 2*max(grace, e.settings.NodeStartupGracePeriod)+3*period && len(e.unheardOf) == 0
	return !m.silent || found
}
