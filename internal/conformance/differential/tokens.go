package differential

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// rateOfPass: in the pass that lowers a rate, upstream may still serve one node at the old rate.
func (e *explainer) rateOfPass(zone string, at time.Duration) {
	for _, l := range e.left[e.since(at-slack):e.since(at+tick+1)] {
		if l.Side == UpstreamSide && e.zoneOf[l.Node] == zone &&
			(l.Kind == timeline.KindTaint && ownNoExecute(l.Line) && l.Op == timeline.OpAdd || l.Kind == timeline.KindEvict) {
			e.open(zone, at, RateOfPass)
			return
		}
	}
}

// idleTokens: with us, a node that recovers or disappears while it waits takes no token. Upstream takes a token before
// it notices.
func (e *explainer) idleTokens() {
	waits := map[string]bool{}
	for _, d := range e.Nodes {
		at := d.Time.Sub(epoch)
		switch d.Kind {
		case nodelifecycle.NodeQueued:
			waits[d.Node] = true
		case nodelifecycle.TaintsWritten:
			for _, t := range d.Added {
				if t.Effect == v1.TaintEffectNoExecute {
					delete(waits, d.Node)
				}
			}
		case nodelifecycle.NodeDequeued, nodelifecycle.NodeRemoved:
			if waits[d.Node] && (d.Kind == nodelifecycle.NodeRemoved || d.Reason == "NodeReady" || d.Reason == "NotFailed") {
				zone := e.zoneOf[d.Node]
				e.open(zone, at-max(e.late, e.lag(zone, at))-2*tick, IdleToken) // ours had that token that much earlier
			}
			delete(waits, d.Node)
		}
	}
}

// exactToken: a token that becomes available at the very instant at which the rate falls, or the node recovers, is used
// by ours. Upstream looks up to a tick later for each token, when it is too late.
func (e *explainer) exactToken() {
	late, rule := time.Second, ExactToken
	if e.late > 0 {
		late, rule = late+e.late, SamePass
	}
	for _, d := range e.Nodes { // with nothing to delete there is no line
		if at, zone := d.Time.Sub(epoch), e.zoneOf[d.Node]; d.Kind == nodelifecycle.NodeEmptied && e.rateChanges(zone, at-slack, at+late) {
			e.open(zone, at, rule)
		}
	}
	for i, l := range e.left {
		if l.Side != OursSide || e.rule[i] != (Rule{}) || !e.served(l.Line) {
			continue
		}
		zone := e.zoneOf[l.Node]
		soon := e.lag(zone, l.T) + 2*tick
		late := late + soon
		if e.rateChanges(zone, l.T-slack, l.T+late) || e.outage(l.T, l.T+soon) || e.restarted(l.T) <= l.T+soon {
			e.open(zone, l.T, rule)
		}
		for _, m := range e.health[l.Node] {
			if m.at >= l.T && m.at <= l.T+late {
				e.open(zone, l.T, rule)
			}
		}
		another := func(o *timeline.Line) bool { return o.Node != l.Node }
		if gone := e.removed[l.Node]; gone >= l.T && gone <= l.T+late {
			e.open(zone, l.T, rule)
		}
		if e.late > 0 && (e.outage(l.T, l.T+late) || e.restarted(l.T) <= l.T+late || e.theirs.wrote(about{kind: timeline.KindCondition, zone: zone}, l.T+slack, l.T+late, another)) {
			e.open(zone, l.T, rule)
		}
	}
}

// savedToken: a token that was whole just before the rate fell is there for a later node. Upstream is late and did not
// have it yet.
func (e *explainer) savedToken(zone string, at time.Duration, before float64) {
	last := -forever
	for _, kind := range []timeline.Kind{timeline.KindTaint, timeline.KindEvict} { // served needs one of them
		for _, l := range e.ours[about{kind: kind, zone: zone}] {
			if l.T < at && e.served(*l) {
				last = l.T
			}
		}
	}
	for _, d := range e.decided[decidedAbout{kind: nodelifecycle.NodeEmptied, zone: zone}] { // with nothing to delete there is no line
		if t := d.Time.Sub(epoch); t < at {
			last = max(last, t)
		}
	}
	whole := last + time.Duration(float64(time.Second)/before)
	if last < 0 || whole > at+slack || whole < at-e.lag(zone, at)-2*tick {
		return
	}
	for i := e.since(at); i < len(e.left); i++ {
		if l := e.left[i]; l.Side == OursSide && e.rule[i] == (Rule{}) && e.zoneOf[l.Node] == zone && e.served(l.Line) {
			e.open(zone, at, ExactToken)
			return
		}
	}
}

func (e *explainer) rateChanges(zone string, from, to time.Duration) bool {
	return slices.ContainsFunc(e.rates[zone], func(r rateAt) bool { return r.at >= from && r.at <= to })
}

// sameSecond: timestamps are whole seconds, so upstream mistakes a report for an earlier one in the same second, and a
// new Ready status for an old one.
func (e *explainer) sameSecond() {
	for _, l := range e.left {
		ends := l.T+e.settings.StatusInterval+tick >= e.settings.Until // upstream's comes after the end
		if l.Side != UpstreamSide && !ends || l.Kind != timeline.KindEvict || e.settings.TaintBasedEviction {
			continue
		}
		for _, m := range e.health[l.Node] {
			if second := m.at.Truncate(time.Second); m.failing && !m.silent && m.at.Truncate(e.settings.StatusInterval) >= second && m.at <= l.T {
				e.open(e.zoneOf[l.Node], m.at, SameSecond)
			}
		}
	}
}

// requeued: at every pass, upstream queues waiting nodes again, together with those that the pass finds. So a node that
// ours serves just before a pass comes after these in upstream, if upstream, which is a little later, has not served it
// by then.
func (e *explainer) requeued() {
	period := e.settings.NodeMonitorPeriod
	for i, l := range e.left {
		if l.Side != OursSide || e.rule[i] != (Rule{}) || !e.served(l.Line) {
			continue
		}
		zone, began := e.zoneOf[l.Node], e.started(l.T)
		pass := l.T - (l.T-began)%period + period
		k, later := e.other(i, pass-slack, forever)
		if !later || pass > l.T+max(e.late, e.lag(zone, l.T))+2*tick {
			continue
		}
		for _, d := range e.queued(zone, pass-slack, pass+slack) {
			if e.theirs.wrote(about{kind: l.Kind, node: d.Node}, pass-slack, e.left[k].T, func(o *timeline.Line) bool { return e.served(*o) }) {
				e.open(zone, l.T, Requeued)
				break
			}
		}
	}
}
