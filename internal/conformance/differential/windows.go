package differential

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// openWindows finds the moments from which the two sides taint the nodes of a zone differently.
func (e *explainer) openWindows() {
	for _, down := range e.allDown {
		for node, zone := range e.zoneOf {
			if down.to != forever && (e.failing(node, down.to) || e.verdict(node, down.to) == v1.ConditionUnknown) {
				e.open(zone, down.to, AllDownGrace)
			}
		}
		for _, m := range e.added {
			if down.holds(m.at) || m.at <= down.to && m.at >= down.from {
				e.openAll(m.at, Newcomer)
			}
		}
	}
	e.starts()
	e.vanished()
	e.missedSwap()
	for zone := range e.rates {
		e.openByRates(zone)
	}
	e.idleTokens()
	e.exactToken()
	e.sameSecond()
	for _, r := range e.Rewrites { // ours had that token earlier by upstream's lag
		zone := e.zoneOf[r.Node]
		e.open(zone, r.T-e.lag(zone, r.T)-slack, TokenTwice)
	}
	e.requeued()
	for _, s := range e.stale { // upstream looks at no node until its cache has caught up; before 1.37 the node is Unknown for it
		e.openAll(s.from, StaleLease)
	}
	for _, down := range e.outages {
		e.openAll(down.from, FailedWrites)
		if e.drifted(down.span) {
			for _, zone := range e.allZones() {
				e.openUntil(zone, down.from, e.restarted(down.to), FailedWrites)
			}
		}
	}
}

// openByRates finds those that come with the rates of a zone.
func (e *explainer) openByRates(zone string) {
	rates := e.rates[zone]
	stopped := false
	before := e.settings.NodeEvictionRate
	for i, r := range rates {
		if i > 0 && r.state == rates[i-1].state && r.rate != rates[i-1].rate && !e.isAllDown(r.at) {
			e.open(zone, r.at, ZoneGrows)
		}
		if r.rate == 1 && stopped {
			e.openUntil(zone, r.at, e.restarted(r.at), RateOne)
		}
		stopped = stopped || r.rate == 0
		if at := e.started(r.at); r.at <= at+slack {
			before = e.settings.NodeEvictionRate
		}
		if r.rate < before {
			e.rateOfPass(zone, r.at)
			e.savedToken(zone, r.at, before)
		}
		before = r.rate
		if r.empty { // upstream forgets it at any pass, and has a new queue for it at the next
			until := forever
			if i+1 < len(rates) {
				until = rates[i+1].at
			}
			e.openUntil(zone, r.at, max(until, e.quietAfter(zone, r.at)), EmptyZone)
		}
	}
	if e.settings.NodeEvictionRate == 0 { // upstream's token stays in its bucket until a node needs it
		e.openUntil(zone, 0, forever, RateZero)
	}
}

// starts: what has failed before a process starts, or says so within a grace after that or after it was added, is watched
// for a grace there, and acted on at once by upstream. So is a node that has never reported, until our first verdict
// about it.
func (e *explainer) starts() {
	for _, at := range append([]time.Duration{0}, e.restarts...) {
		for node, zone := range e.zoneOf {
			if e.failing(node, at+slack) || at > 0 && e.verdict(node, at) != v1.ConditionTrue {
				e.open(zone, at, StartGrace)
			}
			e.failsSoon(node, at, StartGrace)
		}
	}
	for _, added := range e.added {
		e.failsSoon(added.name, added.at, StartGrace)
	}
	for _, down := range e.allDown { // then the clocks restart
		for node := range e.zoneOf {
			e.failsSoon(node, down.to, AllDownGrace)
		}
	}
	for _, n := range e.Case.Nodes {
		if !mute(n) {
			continue
		}
		until := forever
		for _, d := range e.decided[decidedAbout{kind: nodelifecycle.NodeVerdict, node: n.Name}] {
			if d.To != "" {
				until = min(until, d.Time.Sub(epoch)+e.settings.NodeMonitorPeriod+slack)
			}
		}
		for i, l := range e.left {
			if l.Node == n.Name && l.T <= until && slices.Contains([]timeline.Kind{timeline.KindCondition, timeline.KindTaint, timeline.KindPodNotReady}, l.Kind) {
				e.explain(i, StartGrace)
			}
		}
	}
}

// failsSoon: a node that reports that it is not Ready is not acted on before it was watched for a grace.
func (e *explainer) failsSoon(node string, watched time.Duration, r Rule) {
	for _, m := range e.health[node] {
		if m.failing && !m.silent && m.at > watched && m.at <= watched+e.settings.NodeMonitorGracePeriod+2*e.settings.NodeMonitorPeriod {
			e.open(e.zoneOf[node], m.at, r)
		}
	}
}

// drifted says whether an outage shifted upstream's passes: a pass lasts as long as its writes and their retries, and
// the next comes a period later.
func (e *explainer) drifted(down span) bool {
	origin, period := e.started(down.to), e.settings.NodeMonitorPeriod
	for _, l := range e.Upstream {
		if l.T < down.from || l.T > e.restarted(down.to) || l.Kind != timeline.KindCondition && l.Kind != timeline.KindZone && l.Kind != timeline.KindCluster {
			continue
		}
		if phase := (l.T - origin) % period; phase > slack && phase < period-slack {
			return true
		}
	}
	return false
}

// vanished: when the last healthy zone disappears, all remaining zones are down. Upstream remembers nothing about a
// zone that is gone, so for it they were all down before, too.
func (e *explainer) vanished() {
	for _, l := range e.left {
		if l.Side != OursSide || l.Kind != timeline.KindCluster || l.State != timeline.AllZonesDisrupted {
			continue
		}
		for _, d := range e.Nodes {
			if at := d.Time.Sub(epoch); d.Kind == nodelifecycle.NodeRemoved && at <= l.T && at >= l.T-e.settings.NodeMonitorPeriod {
				e.openAll(l.T, Vanished)
			}
		}
	}
}

// missedSwap: a pass that swaps a node's taint and then lifts the taints of all nodes looks for the old taint, and
// leaves the new one.
func (e *explainer) missedSwap() {
	for i, l := range e.left {
		if l.Side != UpstreamSide || e.rule[i] != (Rule{}) || !served(l.Line, false) || !carries(e.theirs, l.Node, l.T-slack) {
			continue
		}
		for _, down := range e.allDown {
			if down.from >= l.T-slack && down.from <= l.T+slack {
				e.open(e.zoneOf[l.Node], l.T, MissedSwap)
			}
		}
	}
}

// forgive explains the lines within windows.
func (e *explainer) forgive() {
	for i, l := range e.left {
		if e.rule[i] != (Rule{}) {
			continue
		}
		zone := l.Zone
		if l.Node != "" {
			zone = e.zoneOf[l.Node]
		}
		for _, w := range e.windows[zone] {
			if w.holds(l.T+slack) && e.covers(w, l) {
				e.explain(i, w.rule)
				break
			}
		}
	}
	e.sooner()
}

// leave explains what follows from explained evictions: a pod that is gone on one side only has no more lines there.
func (e *explainer) leave() {
	type gone struct {
		Left
		rule Rule
	}
	evicted := map[string][]gone{}
	for i, l := range e.left {
		if l.Kind == timeline.KindEvict && e.rule[i] != (Rule{}) {
			evicted[l.Pod] = append(evicted[l.Pod], gone{l, e.rule[i]})
		}
	}
	for i, l := range e.left {
		for _, g := range evicted[l.Pod] {
			if l.Pod != "" && !e.pairs(l.Line) && g.Side != l.Side && l.T >= g.T-slack {
				e.explain(i, g.rule)
			}
		}
	}
}

// sooner explains lines about a taint that one side has alone, or later than the other.
func (e *explainer) sooner() {
	done := map[Left]Rule{}
	for i, l := range e.left {
		if l.Kind != timeline.KindTaint {
			continue
		}
		own, other, opposite := l, l, l
		own.T, other.T, opposite.T = 0, 0, 0
		other.Side = l.Side.other()
		opposite.Op = opposed[l.Op]
		for _, key := range []Left{opposite, other} {
			if r, ok := done[key]; ok && (key == other || l.Op == timeline.OpRemove || e.bears(l)) {
				e.explain(i, r)
				delete(done, key)
			}
		}
		if e.rule[i] != (Rule{}) {
			done[own] = e.rule[i]
		}
	}
}

// bears says whether the node has the taint already on the other side.
func (e *explainer) bears(l Left) (on bool) {
	lines := e.ours
	if l.Side == OursSide {
		lines = e.theirs
	}
	for _, o := range lines[about{kind: l.Kind, node: l.Node}] {
		if o.T <= l.T && o.Key == l.Key && o.Effect == l.Effect {
			on = o.Op == timeline.OpAdd
		}
	}
	return on
}

// covers says whether a window of that rule applies to the line.
func (e *explainer) covers(w window, l Left) bool {
	if w.rule == StaleLease && !e.pairs(l.Line) { // a node that lives is not tainted by us because its renewals are lost
		return l.Side == UpstreamSide || e.failing(l.Node, l.T) || !e.lost(l.Node, l.T, l.T) || l.Op == timeline.OpRemove || l.Kind != timeline.KindTaint && l.Kind != timeline.KindCondition && l.Kind != timeline.KindPodNotReady
	}
	switch l.Kind {
	case timeline.KindEvict, timeline.KindCancel:
		return !e.pairs(l.Line)
	case timeline.KindTaint:
		return ownNoExecute(l.Line) || w.rule == Newcomer && e.state(l.Node, l.T).silent || w.rule == FailedWrites || l.Key != "" && l.Op == timeline.OpRemove
	case timeline.KindPodNotReady:
		return w.rule == FailedWrites || w.rule == StartGrace || w.rule == AllDownGrace || w.rule == Newcomer || w.rule == Vanished
	case timeline.KindCondition: // of a silent node it comes at once where the clocks do not restart
		return w.rule == FailedWrites || w.rule == Newcomer && e.state(l.Node, l.T).silent
	case timeline.KindZone, timeline.KindCluster:
		return w.rule == FailedWrites || w.rule == Newcomer || w.rule == Vanished
	}
	return false
}
