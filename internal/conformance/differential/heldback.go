package differential

import (
	"math"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// What failed is tried again after so long, and after twice as long each time; an eviction that was refused likewise.
const retryInitial, refusedInitial, retryMax = 100 * time.Millisecond, time.Second, time.Minute

// The guard looks so often at least, and a retry waits for it.
const looks = 5 * time.Second

// early says whether it is too early to harm the node or its pods by a taint of ours: it was silent when the process, or the time
// after every zone was down, began, and a grace has not passed since; or it has just reported Ready.
func (e *explainer) early(node string, at time.Duration) bool {
	m, since := e.state(node, at), max(e.started(at), e.allUp(at))
	if heard := slices.ContainsFunc(e.unheardOf, func(s span) bool { return s.holds(m.at) && at > s.to }); m.silent && !heard {
		return m.at <= max(since, time.Second) && at < since+e.graceOf(node)-slack
	}
	return m.at > 0 && !m.failing && !m.renewed && at > m.at+slack && e.calm(node, m.at, at)
}

// graceOf is the shortest grace of the node: one that never reported may have another.
func (e *explainer) graceOf(node string) time.Duration {
	if slices.ContainsFunc(e.Case.Nodes, func(n *v1.Node) bool { return n.Name == node && mute(n) }) {
		return min(e.settings.NodeStartupGracePeriod, e.settings.NodeMonitorGracePeriod)
	}
	return e.settings.NodeMonitorGracePeriod
}

// latest is when that has to be done at the latest which is due then: what may hold it back ends before. ours: by our taints,
// which evict nobody once the node is back.
func (e *explainer) latest(node string, due time.Duration, ours bool) time.Duration {
	by := e.heldBack(node, due, ours)
	back := func(m moment) bool {
		return m.at > 0 && !m.failing && m.at <= by && (m.at >= due || m == e.state(node, due))
	}
	if ours && slices.ContainsFunc(e.health[node], back) {
		return forever
	}
	return by
}

func (e *explainer) heldBack(node string, due time.Duration, ours bool) (by time.Duration) {
	if by = due; by == forever {
		return by
	}
	spans := make([]span, 0, 16)
	for _, s := range e.outages {
		if !s.reads { // a lease advances, and a look of the guard sees that
			spans = append(spans, span{s.from, after(s.to, e.settings.Interval+looks)})
		}
	}
	if ours {
		spans = append(append(spans, e.unsettled(node)...), e.unclear(node)...)
	}
	for was := by - 1; was != by; {
		was, by = by, max(e.retried(by, true), through(spans, by))
		if ours {
			by = max(by, e.overdue(node, due, by))
		}
	}
	return by
}

// overdue is when the last that was due before a start, or while ours could not see, and could not leave by then, has its turn.
func (e *explainer) overdue(node string, due, by time.Duration) (last time.Duration) {
	for _, s := range e.outages {
		if e.blinds(s) && by >= s.from && due <= after(s.to, e.settles()) {
			last = max(last, e.anew(node, s))
		}
	}
	for _, at := range e.restarts {
		if by >= at-slack && due <= at+time.Second {
			last = max(last, e.paced(node, at+e.settles()))
		}
	}
	return last
}

// retried is when what fails from then on is tried first after the outages that it meets: an eviction, or another write.
func (e *explainer) retried(at time.Duration, evicts bool) time.Duration {
	for failed, refused := retryInitial, refusedInitial; at < e.settings.Until; {
		wait := &failed
		i := slices.IndexFunc(e.outages, func(s outage) bool { return s.from <= at+slack && s.to >= at-slack })
		if i < 0 {
			break
		}
		if evicts && e.outages[i].busy {
			wait = &refused
		}
		at, *wait = at+*wait, min(2**wait, retryMax)
	}
	return at
}

// written is when that is written at the latest which is due then. What may have failed before waits for as long as it has failed.
func (e *explainer) written(due time.Duration) time.Duration {
	first, reach := time.Duration(0), -forever
	for _, s := range e.outages {
		if s.from > reach {
			first = s.from
		}
		if reach = after(s.to, min(s.to-first+retryInitial, retryMax)); due >= s.from-slack && due < reach {
			due = reach
		}
	}
	return after(due, slack)
}

// settles is how long a grace period holds back what is due, at most.
func (e *explainer) settles() time.Duration {
	return e.settings.NodeMonitorGracePeriod + 2*e.settings.NodeMonitorPeriod + slack
}

// through is the first instant from then on that no span holds.
func through(spans []span, at time.Duration) time.Duration {
	for again := true; again; {
		again = false
		for _, s := range spans {
			if at >= s.from-slack && at < s.to {
				at, again = s.to, true
			}
		}
	}
	return at
}

// unsettled is when a grace period holds back what our taints evict, at most.
func (e *explainer) unsettled(node string) (spans []span) {
	for _, at := range append([]time.Duration{0}, e.restarts...) {
		spans = append(spans, span{at, e.settledBy(node, at)})
	}
	for _, s := range e.allDown {
		spans = append(spans, span{s.from, e.settledBy(node, s.to)})
	}
	for _, m := range e.added {
		if m.name == node {
			spans = append(spans, span{m.at, e.settledBy(node, m.at)})
		}
	}
	for _, s := range e.outages { // who begins in one reads no lease before its end
		if begun := e.started(s.to); !s.reads && begun > 0 && begun+e.settles() > s.from {
			spans = append(spans, span{s.from, after(s.to, e.settles())})
		}
	}
	return spans
}

// settledBy is when a node that ours watches since then has settled at the latest: after a grace, or once it says that it is not
// ready.
func (e *explainer) settledBy(node string, since time.Duration) time.Duration {
	by := after(since, e.settles())
	if by == forever || e.blackout(since, by) || e.lost(node, since, by) {
		return by
	}
	for _, m := range append([]moment{e.state(node, since)}, e.health[node]...) {
		if says := e.says(node, m, since); m.failing && !m.silent && says < by && e.state(node, max(m.at, since)) == m && e.state(node, says) == m {
			by = says
		}
	}
	return by
}

// says is when ours has heard from a node that is not ready, and that it watches since then: at its first sign of life after the
// verdict.
func (e *explainer) says(node string, m moment, since time.Duration) time.Duration {
	verdict := e.passFrom(max(m.at, since))
	return e.renewal(node, verdict+1) + e.settings.NodeMonitorPeriod + slack
}

// unclear is when nobody knows whether the node is back.
func (e *explainer) unclear(node string) (spans []span) {
	period := e.settings.NodeMonitorPeriod
	for _, s := range e.outages {
		if !s.reads {
			spans = append(spans, span{s.from, after(s.to, period)})
		}
	}
	for i, m := range e.health[node] {
		switch {
		case m.renewed: // until it reports, or is silent again
			s := span{m.at, m.at + period + e.settings.StatusInterval}
			if i+1 < len(e.health[node]) {
				s.to = min(s.to, e.health[node][i+1].at+e.settles())
			}
			spans = append(spans, s)
		case !m.failing: // the next pass decides
			spans = append(spans, span{m.at, m.at + period})
		}
	}
	for _, s := range e.stale {
		if s.node == node {
			spans = append(spans, e.alive(node, s.span)...)
		}
	}
	return spans
}

// alive is when the node was alive within a span, and for a grace after that.
func (e *explainer) alive(node string, within span) (spans []span) {
	health := append([]moment{{at: 0}}, e.health[node]...)
	for i, m := range health {
		s := span{max(m.at, within.from), within.to}
		if i+1 < len(health) {
			s.to = min(s.to, health[i+1].at)
		}
		if !m.silent && s.from <= s.to {
			spans = append(spans, span{s.from, after(s.to, e.settings.NodeMonitorGracePeriod)})
		}
	}
	return spans
}

// blinds says whether, in an outage of the API, ours may cease to see the cluster: it is as long as the guard waits for a lease to
// advance. Then grace periods begin anew, and what was due leaves at the zone's pace.
func (e *explainer) blinds(s outage) bool {
	return !s.reads && (s.to == forever || s.to-s.from >= min(20*time.Second, 2*e.settings.NodeMonitorGracePeriod/5)-e.settings.Interval)
}

// anew is when what an outage made overdue has left at the latest, if ours ceased to see the cluster in it.
func (e *explainer) anew(node string, s outage) time.Duration {
	return e.paced(node, s.to+e.settles())
}

// delayed says whether an outage may be why our eviction from the node comes only then.
func (e *explainer) delayed(node string, at time.Duration) bool {
	return e.outage(at-retryMax, at) || slices.ContainsFunc(e.outages, func(s outage) bool {
		return e.blinds(s) && s.to <= at && at <= e.anew(node, s)
	})
}

// paced is when the last of the nodes of a node's zone has had its turn at the latest, from then on. A change of the rate keeps
// no part of a token.
func (e *explainer) paced(node string, from time.Duration) time.Duration {
	zone, turns := e.zoneOf[node], 1.0
	for other, of := range e.zoneOf {
		fails := func(m moment) bool { return m.failing && m.at > from }
		if of == zone && (e.failing(other, from) || slices.ContainsFunc(e.health[other], fails)) {
			turns++
		}
	}
	at, rate := from, e.settings.NodeEvictionRate
	for _, r := range append(slices.Clone(e.rates[zone]), rateAt{at: forever}) {
		if r.at > at && rate > 0 {
			if by := at + time.Duration(turns/rate*float64(time.Second)); by <= r.at {
				return by
			}
			turns -= math.Floor(rate * (r.at - at).Seconds())
		}
		at, rate = max(at, r.at), r.rate
	}
	return forever
}

// after is so much later, if it comes.
func after(at, by time.Duration) time.Duration {
	if at == forever {
		return at
	}
	return at + by
}
