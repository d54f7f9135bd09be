package differential

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/evictor/tainteviction"
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

// liftedAtOnce says whether upstream tainted the node within that span and lifted the taint before it had any effect.
func (e *explainer) liftedAtOnce(node string, from, to time.Duration) bool {
	added := -forever
	for _, l := range e.theirs[about{kind: timeline.KindTaint, node: node}] {
		if !ownNoExecute(*l) {
			continue
		}
		if l.Op == timeline.OpAdd {
			added = l.T
		} else if added >= from && added <= to && l.T <= added+slack {
			return true
		}
	}
	return false
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

// stillMarked says whether upstream marked the pod while every zone was down, or when an outage of the API had just ended,
// and the kubelet had no reason to make it Ready since: it has not come back, and the API was not down for it.
func (e *explainer) stillMarked(l Left) (r Rule) {
	since := forever
	for _, o := range e.theirs[about{kind: timeline.KindPodNotReady, node: l.Node, pod: l.Pod}] {
		if o.T < l.T-slack {
			since = o.T
		}
	}
	switch {
	case since == forever:
		return r
	case e.isAllDown(since):
		r = AllDownNotMarked
	case e.outage(since-e.settings.NodeMonitorPeriod, since):
		r = FailedWrites
	case e.bound[l.Pod] > 0 && since-e.bound[l.Pod] <= slack && e.verdict(l.Node, since) != v1.ConditionTrue:
		r = MarkedByVerdict // the node had come back, and no pass had seen that yet
	}
	if slices.ContainsFunc(e.unheardOf, func(s span) bool { return s.to > since && s.to <= l.T }) {
		return Rule{}
	}
	silent := false
	for _, m := range e.health[l.Node] {
		if m.at > since && m.at <= l.T && silent && !m.silent && !m.renewed {
			return Rule{}
		}
		silent = m.silent
	}
	return r
}

// startedLate says whether the pod was bound while its kubelet did not reach the API, which has just ended.
func (e *explainer) startedLate(pod string, at time.Duration) bool {
	return slices.ContainsFunc(e.unheardOf, func(s span) bool {
		return s.holds(e.bound[pod]) && at >= s.to-slack && at <= s.to+e.settings.NodeMonitorPeriod
	})
}

// markedBefore returns the rule by which ours marked the pod once more than upstream while its kubelet was back already: when
// it had watched for a grace after a start, or when the API was back and showed a lease that nobody could have renewed.
// Since then the pod is marked.
func (e *explainer) markedBefore(l Left) (r Rule) {
	e.ours.wrote(about{kind: timeline.KindPodNotReady, node: l.Node, pod: l.Pod}, 0, l.T-slack, func(o *timeline.Line) bool {
		if slices.ContainsFunc(e.health[l.Node], func(m moment) bool { return m.at > o.T && m.at < l.T && !m.silent && !m.renewed }) {
			return false
		}
		if at := e.started(o.T); at > 0 && o.T <= at+e.settles() {
			r = StartGrace
		} else if e.outage(o.T-2*e.settings.NodeMonitorPeriod, o.T) {
			r = StaleLease
		}
		return r != (Rule{})
	})
	return r
}

// markedForALease says whether upstream marked the pod while the watch had lost the node's renewals. It stays marked, because
// its kubelet was there all the time.
func (e *explainer) markedForALease(l Left) bool {
	return e.theirs.wrote(about{kind: timeline.KindPodNotReady, node: l.Node, pod: l.Pod}, 0, l.T-slack, func(o *timeline.Line) bool {
		return e.lost(l.Node, o.T-e.settings.NodeMonitorPeriod, o.T)
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

// armed says whether ours kept an eviction of the pod scheduled across that instant.
func (e *explainer) armed(pod string, at time.Duration) bool {
	armed := false
	for _, d := range e.ofPods[pod] {
		switch t := d.Time.Sub(epoch); {
		case t > at+slack:
			return armed
		case d.Kind == tainteviction.EvictionArmed || d.Kind == tainteviction.EvictionMoved:
			armed = true
		case d.Kind == tainteviction.EvictionCancelled || d.Kind == tainteviction.PodEvicted:
			armed = false
		}
	}
	return armed
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
