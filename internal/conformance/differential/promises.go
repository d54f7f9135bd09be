package differential

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/zone"
)

// broken returns the lines of ours that are not what our pages promise, whatever upstream does.
func (e *explainer) broken() (lines []timeline.Line) {
	for i := range e.Ours {
		if e.breaks(&e.Ours[i]) {
			lines = append(lines, e.Ours[i])
		}
	}
	return lines
}

func (e *explainer) breaks(l *timeline.Line) bool {
	switch l.Kind {
	case timeline.KindZone:
		return !e.ruledWell(l)
	case timeline.KindCondition:
		return e.condemned(l)
	case timeline.KindPodNotReady:
		return e.markedWrongly(l)
	case timeline.KindEvict, timeline.KindCancel:
		return e.spared[l.Pod] || !e.settings.TaintBasedEviction && (strings.HasSuffix(l.Pod, "-ds0") || e.emptiedEarly(l))
	case timeline.KindTaint:
		return e.liftedFirst(l) || e.wrongTaint(l) || e.taintedEarly(l)
	}
	return false
}

// markedWrongly: nobody is marked while every zone is down, before a grace has passed, while the kubelet speaks, and again.
func (e *explainer) markedWrongly(l *timeline.Line) bool {
	verdicts := e.decided[decidedAbout{kind: nodelifecycle.NodeVerdict, node: l.Node}]
	again := func(o *timeline.Line) bool { // in the same outage
		return e.started(o.T) == e.started(l.T) && !slices.ContainsFunc(verdicts, func(d *evictor.NodeDecision) bool {
			return d.To != v1.ConditionUnknown && d.Time.Sub(epoch) > o.T && d.Time.Sub(epoch) <= l.T
		})
	}
	return e.ours.wrote(about{kind: l.Kind, node: l.Node, pod: l.Pod}, 0, l.T-1, again) || e.isDown(l) || e.speaks(l) || e.state(l.Node, l.T).silent && e.early(l.Node, l.T)
}

// condemned says whether a node becomes Unknown whose kubelet renews, whether or not the watch shows that: its lease is read before.
func (e *explainer) condemned(l *timeline.Line) bool {
	s, m := e.settings, e.state(l.Node, l.T)
	often := s.Interval+2*s.NodeMonitorPeriod < s.NodeMonitorGracePeriod
	since := max(m.at, e.started(l.T)) + s.Interval + s.NodeMonitorPeriod + slack
	return l.Type == string(v1.NodeReady) && l.Status == string(v1.ConditionUnknown) && often && !m.silent && l.T >= since && e.calmSilence(l.T-s.NodeMonitorGracePeriod, l.T)
}

// speaks says whether the kubelet of the line's node is not silent, and was not, or a pass has seen that.
func (e *explainer) speaks(l *timeline.Line) bool {
	m := e.state(l.Node, l.T)
	seen := l.T >= m.at+e.settings.NodeMonitorPeriod+slack || !e.state(l.Node, m.at-1).silent
	return m.at > 0 && !m.silent && seen && e.calm(l.Node, m.at-e.settings.NodeMonitorGracePeriod, l.T)
}

// taintedEarly says whether a node gets our taint that has none, and it is too early to harm it.
func (e *explainer) taintedEarly(l *timeline.Line) bool {
	if l.Op != timeline.OpAdd || !ownNoExecute(*l) || !e.early(l.Node, l.T) {
		return false
	}
	_, tainted := during(e.worn(l.Node), l.T-2*slack)
	return !tainted
}

// emptiedEarly says whether, without taints, a pod is deleted before its node was silent, or not ready, for the timeout.
func (e *explainer) emptiedEarly(l *timeline.Line) bool {
	m, timeout := e.state(l.Node, l.T), e.settings.PodEvictionTimeout
	if m.at == 0 || len(e.unheardOf) > 0 || e.failing(l.Node, m.at-1) {
		return false
	}
	if !m.silent {
		return l.T < m.at+timeout-slack && (m.failing || l.T > m.at+slack)
	}
	return l.T < max(e.lastBeat(l.Node, m.at), e.started(l.T))+timeout-slack || e.early(l.Node, l.T)
}

// ruledWell says whether a zone's line has the state and the rate that follow from its counts, and counts whom it should.
func (e *explainer) ruledWell(l *timeline.Line) bool {
	s := e.settings
	state, rate, all := zone.Normal, s.NodeEvictionRate, l.Ready+l.NotReady
	switch {
	case all == 0:
		return e.counted(l) == 0 || e.blackout(l.T-slack, l.T)
	case l.NotReady == all:
		state = zone.FullDisruption
	case l.NotReady > 2 && float32(l.NotReady)/float32(all) >= float32(s.UnhealthyZoneThreshold):
		state, rate = zone.PartialDisruption, 0
		if all > s.LargeClusterSizeThreshold {
			rate = s.SecondaryNodeEvictionRate
		}
	}
	if e.isDown(l) {
		rate = 0
	}
	return l.State == string(state) && l.Rate == rate && (all == e.counted(l) || e.blackout(0, l.T))
}

// isDown says whether, after the line, every zone is down for ours.
func (e *explainer) isDown(l *timeline.Line) bool {
	return slices.ContainsFunc(e.allDown, func(s span) bool { return s.from <= l.T && l.T < s.to })
}

// counted is how many nodes the zone of the line has that count.
func (e *explainer) counted(l *timeline.Line) (n int) {
	excluded := map[string]bool{}
	for _, node := range e.Case.Nodes {
		_, excluded[node.Name] = node.Labels["node.kubernetes.io/exclude-disruption"]
	}
	for node, zone := range e.zoneOf {
		came := slices.ContainsFunc(e.added, func(m moment) bool { return m.name == node && m.at > l.T })
		at, gone := e.removed[node]
		if zone == l.Zone && !excluded[node] && !came && !(gone && at <= l.T) {
			n++
		}
	}
	return n
}

// liftedFirst says whether a node's NoSchedule taint goes while its NoExecute taint stays.
func (e *explainer) liftedFirst(l *timeline.Line) bool {
	ready := l.Key == v1.TaintNodeNotReady || l.Key == v1.TaintNodeUnreachable
	if l.Op != timeline.OpRemove || l.Effect != string(v1.TaintEffectNoSchedule) || !ready {
		return false
	}
	return slices.ContainsFunc(e.worn(l.Node), func(s span) bool { return s.from <= l.T && s.to > l.T }) && !e.ours.wrote(about{kind: timeline.KindTaint, node: l.Node}, l.T, l.T, func(o *timeline.Line) bool { return o.Op == timeline.OpAdd })
}

// wrongTaint says whether a node gets the taint of another verdict than its own.
func (e *explainer) wrongTaint(l *timeline.Line) bool {
	m := e.state(l.Node, l.T)
	if l.Op != timeline.OpAdd || !ownNoExecute(*l) || !m.failing || l.T-m.at < e.settings.NodeMonitorPeriod+slack || !e.calm(l.Node, m.at, l.T) {
		return false
	}
	if !m.silent {
		return l.Key != v1.TaintNodeNotReady
	}
	found := e.ours.wrote(about{kind: timeline.KindCondition, node: l.Node}, m.at, l.T, func(o *timeline.Line) bool { return o.Type == string(v1.NodeReady) })
	return found && l.Key != v1.TaintNodeUnreachable
}

// uncordoned: a node has the taint that says that it is cordoned as long as it is.
func (e *explainer) uncordoned() (lines []timeline.Line) {
	cordoned := map[string]bool{}
	for _, n := range e.Case.Nodes {
		cordoned[n.Name] = n.Spec.Unschedulable
	}
	for i := range e.Case.Scenario.Events {
		event := &e.Case.Scenario.Events[i]
		of, op := event.Cordon, timeline.OpAdd
		if of == nil {
			of, op = event.Uncordon, timeline.OpRemove
		}
		if of == nil {
			continue
		}
		for _, node := range e.selected(of) {
			was := cordoned[node]
			by := e.written(event.At)
			if cordoned[node] = op == timeline.OpAdd; cordoned[node] == was || e.isGone(node, by) || by >= e.settings.Until || e.blackout(event.At-retryMax, by) {
				continue
			}
			says := func(l *timeline.Line) bool { return l.Key == v1.TaintNodeUnschedulable && l.Op == op }
			if !e.ours.wrote(about{kind: timeline.KindTaint, node: node}, event.At, by, says) {
				lines = append(lines, timeline.Line{T: event.At, Kind: timeline.KindTaint, Node: node, Key: v1.TaintNodeUnschedulable, Op: op})
			}
		}
	}
	return lines
}
