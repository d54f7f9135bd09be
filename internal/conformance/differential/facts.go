package differential

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// served says whether the line waits for the zone's rate.
func (e *explainer) served(l timeline.Line) bool { return served(l, !e.settings.TaintBasedEviction) }

// onPass says whether t is the instant of a pass.
func (e *explainer) onPass(t time.Duration) bool {
	return (t-e.started(t))%e.settings.NodeMonitorPeriod == 0
}

// verdict returns our verdict on the node right after that instant.
func (e *explainer) verdict(node string, at time.Duration) (ready v1.ConditionStatus) {
	for _, d := range e.decided[decidedAbout{kind: nodelifecycle.NodeVerdict, node: node}] {
		if d.Time.Sub(epoch) > at+slack {
			break
		}
		ready = d.To
	}
	return ready
}

// carries says whether the node has one of our NoExecute taints at that instant.
func carries(lines index, node string, at time.Duration) bool {
	n := 0
	for _, l := range lines[about{kind: timeline.KindTaint, node: node}] {
		if l.T <= at && ownNoExecute(*l) {
			if l.Op == timeline.OpAdd {
				n++
			} else {
				n--
			}
		}
	}
	return n > 0
}

// outage says whether the API was down for the evictor at any time within that span.
func (e *explainer) outage(from, to time.Duration) bool {
	return slices.ContainsFunc(e.outages, func(s outage) bool { return s.from <= to && s.to >= from })
}

// blackout says whether, at any time within that span, it also read nothing.
func (e *explainer) blackout(from, to time.Duration) bool {
	return slices.ContainsFunc(e.outages, func(s outage) bool { return !s.reads && s.from <= to && s.to >= from })
}

var opposed = map[string]string{timeline.OpAdd: timeline.OpRemove, timeline.OpRemove: timeline.OpAdd}

// undone explains two of upstream's lines that undo each other within a pass.
func (e *explainer) undone(i int, period time.Duration) {
	l := e.left[i]
	opposite := identity(l.Line)
	opposite.Op = opposed[l.Op]
	for _, k := range e.byIdentity[Left{UpstreamSide, opposite}] {
		if k > i && e.left[k].T <= l.T+period+slack && e.rule[k] == (Rule{}) {
			e.explain(i, OneWrite)
			e.explain(k, OneWrite)
			return
		}
	}
}

// reportedReady says whether the node's kubelet, which was silent, has reported since the last pass: the next verdict decides.
func (e *explainer) reportedReady(node string, at time.Duration) bool {
	return slices.ContainsFunc(e.health[node], func(m moment) bool {
		return m.at > 0 && !m.failing && m.at <= at && m.at >= at-e.settings.NodeMonitorPeriod-slack
	})
}

// renews says whether the node is Unknown, but its kubelet has renewed its lease since the API was down for kubelets. The
// kubelet lives, or no pass has found its silence yet.
func (e *explainer) renews(node string, at time.Duration) bool {
	m := e.state(node, at)
	if m.silent && at-m.at <= e.settings.NodeMonitorGracePeriod+e.settings.NodeMonitorPeriod {
		m = e.state(node, m.at-1)
	}
	return m.renewed && !m.failing && e.verdict(node, at) == v1.ConditionUnknown
}

// within says whether something happened, soon after that.
func within(happened, after, soon time.Duration) bool {
	return happened > after && happened <= after+soon
}

// startedLate says whether the pod was bound while its kubelet did not reach the API, which has just ended.
func (e *explainer) startedLate(pod string, at time.Duration) bool {
	return slices.ContainsFunc(e.unheardOf, func(s span) bool {
		return s.holds(e.bound[pod]) && at >= s.to-slack && at <= s.to+e.settings.NodeMonitorPeriod
	})
}

// saidNotReady says whether the last report of the node's kubelet, before it fell silent, was not Ready.
func (e *explainer) saidNotReady(node string, at time.Duration) bool {
	said := false
	for _, m := range e.health[node] {
		if m.at <= at && !m.silent {
			said = m.failing
		}
	}
	return said && e.state(node, at).silent
}

// movedByTaint says whether a taint moved the pod's eviction that is tolerated for a shorter time: a foreign one beside another
// taint, or ours beside a foreign one. Upstream counts from when it began to wait, finds that the time has passed, and leaves the
// eviction where it was.
func (e *explainer) movedByTaint(l Left) bool {
	own := append(e.borne(e.theirs, l.Node), e.worn(l.Node)...)
	for _, s := range e.foreign[l.Node] {
		before := func(t span) bool { return t.from < s.from && t.holds(s.from-slack) }
		beside := slices.ContainsFunc(own, before) || slices.ContainsFunc(e.foreign[l.Node], func(t foreign) bool { return before(t.span) })
		if s.from <= l.T+slack+e.late+tick && beside || slices.ContainsFunc(own, func(t span) bool { return t.from <= l.T && s.from < t.from && s.holds(t.from) }) {
			return true
		}
	}
	return false
}

// armed says whether a pod has a deadline right after that line.
func (e *explainer) armed(l *timeline.Line) bool {
	p, known := e.tolerantOf(l)
	return known && slices.ContainsFunc(e.carriedBy(l.Node), func(h held) bool {
		ours, _ := p.due(h.taints, true)
		others, _ := p.due(h.taints, false)
		return h.from <= l.T+slack && h.to > l.T+slack && min(ours, others) < forever
	})
}

// cameBack says whether the node was given a taint that it had, while upstream was waiting to evict at that instant.
func (e *explainer) cameBack(node string, at time.Duration) bool {
	return slices.ContainsFunc(e.again, func(m moment) bool { return m.name == node && m.at < at })
}

// toleratesTheRest says whether the node had a foreign taint when ours cancelled the pod's eviction, by then or at that instant.
func (e *explainer) toleratesTheRest(l Left) bool {
	if e.Against != V118 && e.Against != V118Direct {
		return false
	}
	return e.ours.wrote(about{kind: timeline.KindCancel, node: l.Node, pod: l.Pod}, 0, l.T, func(o *timeline.Line) bool {
		return e.hasForeign(l.Node, o.T)
	})
}
