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
	return !e.lost(node, from, to) && e.calmSilence(from, to)
}

// calmSilence is calm for a node that is silent, which renews nothing that could be lost.
func (e *explainer) calmSilence(from, to time.Duration) bool {
	unheard := slices.ContainsFunc(e.unheardOf, func(s span) bool {
		reaches := after(s.to, e.settings.Interval+e.settings.NodeMonitorPeriod)
		if e.findsSilence(s) {
			reaches = after(s.to, e.settings.NodeMonitorGracePeriod)
		}
		return s.from <= to && reaches >= from
	})
	restarted := slices.ContainsFunc(e.restarts, func(at time.Duration) bool { return at >= from && at <= to })
	return !unheard && !restarted && !e.blackout(from-2*e.settings.NodeMonitorPeriod, to)
}

// findsSilence says whether nodes may be found silent because kubelets do not reach the API for so long.
func (e *explainer) findsSilence(s span) bool {
	return s.to == forever || s.to-s.from >= e.settings.NodeMonitorGracePeriod-e.settings.Interval-2*e.settings.NodeMonitorPeriod
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
		since := m.at - e.settings.NodeMonitorGracePeriod
		if !m.silent || m.at < time.Second || e.mayBeUnknown(m.at) {
			continue
		}
		due, latest := e.silentAt(node, m.at)
		if e.lost(node, m.at, m.at) { // its lease may have been read, or shown, when it was silent already
			latest += e.settings.NodeMonitorGracePeriod + e.settings.NodeMonitorPeriod + e.shownAfter(node, m.at)
		}
		latest = e.written(latest)
		back := i+1 < len(e.health[node]) && e.health[node][i+1].at <= latest
		anew := slices.ContainsFunc(e.allDown, func(s span) bool { return s.to >= since && s.to <= latest }) // then clocks are
		if anew || back || e.isGone(node, latest) || latest >= e.settings.Until || !e.calmSilence(since, latest+period) {
			continue
		}
		if e.ours.wrote(of, m.at, due-1, isUnknown) || !e.ours.wrote(of, due, latest, isUnknown) {
			lines = append(lines, timeline.Line{T: due, Kind: timeline.KindCondition, Node: node, Type: string(v1.NodeReady)})
		}
	}
	return append(lines, e.unknownWell(node)...)
}

// mayBeUnknown says whether a node may be Unknown then although it lives: kubelets did not reach the API, and it has not reported
// since.
func (e *explainer) mayBeUnknown(at time.Duration) bool {
	return slices.ContainsFunc(e.unheardOf, func(s span) bool {
		back := e.settings.Interval
		if e.findsSilence(s) {
			back += e.settings.StatusInterval + 2*e.settings.NodeMonitorPeriod
		}
		return s.from <= at && after(s.to, back) >= at
	})
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
	for i, m := range e.health[node] {
		by := e.written(m.at + e.settings.NodeMonitorPeriod)
		next := i+1 < len(e.health[node]) && e.health[node][i+1].at <= by
		if m.at == 0 || m.failing || m.renewed || next || by >= e.settings.Until || e.isGone(node, by) || !e.calm(node, m.at, by) {
			continue
		}
		type taint struct{ key, effect string }
		stays := map[taint]bool{}
		for _, l := range e.ours[about{kind: timeline.KindTaint, node: node}] {
			switch own := other[l.Key] != ""; {
			case own && l.Op == timeline.OpRemove && l.T <= by:
				delete(stays, taint{l.Key, l.Effect})
			case own && l.Op == timeline.OpAdd && l.T < m.at:
				stays[taint{l.Key, l.Effect}] = true
			}
		}
		if len(stays) > 0 {
			lines = append(lines, timeline.Line{T: by, Kind: timeline.KindTaint, Node: node, Op: timeline.OpRemove})
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
		if l.Type != string(v1.NodeReady) || moved || !e.watched(node, l.T) || e.saidNotReady(node, l.T) || !e.calmSilence(l.T-2*e.settings.NodeMonitorGracePeriod, by+e.settings.NodeMonitorPeriod) {
			continue
		}
		for _, p := range e.tolerants() { // those of the beginning are ready
			if p.node != node || p.from > 0 || p.to <= by || e.ours.wrote(about{kind: timeline.KindEvict, node: node, pod: p.name}, 0, by, anyLine) {
				continue
			}
			if !e.ours.wrote(about{kind: timeline.KindPodNotReady, node: node, pod: p.name}, l.T, by, anyLine) {
				lines = append(lines, timeline.Line{T: l.T, Kind: timeline.KindPodNotReady, Node: node, Pod: p.name})
			}
		}
	}
	return lines
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
