package differential

import (
	"cmp"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/internal/scenario"
)

// open opens a window. It ends when the zone has been quiet for so long that its bucket is full again on both sides.
func (e *explainer) open(zone string, at time.Duration, r Rule) {
	e.windows[zone] = append(e.windows[zone], window{span{at, e.quietAfter(zone, at)}, r})
}

// openUntil opens a window that a quiet zone does not close.
func (e *explainer) openUntil(zone string, from, to time.Duration, r Rule) {
	e.windows[zone] = append(e.windows[zone], window{span{from, to}, r})
}

// restarted is when the process that runs at that moment ends.
func (e *explainer) restarted(at time.Duration) time.Duration {
	for _, t := range e.restarts {
		if t > at {
			return t
		}
	}
	return forever
}

// quietAfter is when the zone has been quiet for a while: all of its nodes alive, untainted by either side, and the API up.
// The empty name stands for all zones.
func (e *explainer) quietAfter(zone string, at time.Duration) time.Duration {
	if e.unrest == nil {
		e.unrest = e.restless()
	}
	calm := max(2*e.settings.NodeMonitorPeriod, time.Minute)
	for _, r := range []float64{e.settings.NodeEvictionRate, e.settings.SecondaryNodeEvictionRate} {
		if r > 0 {
			calm = max(calm, time.Duration(float64(time.Second)/r)+e.settings.NodeMonitorPeriod)
		}
	}
	end := at
	for _, s := range e.unrest[zone] {
		if s.from > end+calm {
			break
		}
		end = max(end, s.to)
	}
	if end > e.settings.Until {
		return forever
	}
	return end + calm
}

// restless collects the spans in which zones are not quiet, in order of their beginning.
func (e *explainer) restless() map[string][]span {
	unrest := map[string][]span{}
	add := func(zone string, s span) {
		unrest[zone] = append(unrest[zone], s)
		unrest[""] = append(unrest[""], s)
	}
	for node, moments := range e.health {
		for i, m := range moments {
			to := forever
			if i+1 < len(moments) {
				to = moments[i+1].at
			}
			if m.failing {
				add(e.zoneOf[node], span{m.at, to})
			}
		}
	}
	for _, lines := range [][]scenario.Line{e.Ours, e.Upstream} {
		since := map[string]time.Duration{}
		for _, l := range lines {
			if l.Kind != scenario.KindTaint || !ownNoExecute(l) {
				continue
			}
			if from, carried := since[l.Node]; carried && l.Op == scenario.OpRemove {
				add(e.zoneOf[l.Node], span{from, l.T})
				delete(since, l.Node)
			} else if !carried && l.Op == scenario.OpAdd {
				since[l.Node] = l.T
			}
		}
		for node, from := range since {
			add(e.zoneOf[node], span{from, forever})
		}
	}
	for _, s := range e.outages {
		for _, zone := range e.allZones() {
			unrest[zone] = append(unrest[zone], s)
		}
	}
	for _, spans := range unrest {
		slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	}
	return unrest
}

// openAll is open for every zone, and for what is said of the cluster.
func (e *explainer) openAll(at time.Duration, r Rule) {
	for _, zone := range e.allZones() {
		e.open(zone, at, r)
	}
}

func (e *explainer) allZones() []string {
	zones := map[string]bool{"": true}
	for _, zone := range e.zoneOf {
		zones[zone] = true
	}
	return slices.Collect(maps.Keys(zones))
}

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
	e.vanished()
	for zone, rates := range e.rates {
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
			}
			before = r.rate
			if r.empty {
				e.open(zone, r.at, EmptyZone)
			}
		}
		if e.settings.NodeEvictionRate == 0 { // upstream's token stays in its bucket until somebody needs it
			e.openUntil(zone, 0, forever, RateZero)
		}
	}
	e.idleTokens()
	e.exactToken()
	for _, r := range e.Rewrites {
		e.open(e.zoneOf[r.Node], r.T, TokenTwice)
	}
	for _, down := range e.outages {
		e.openAll(down.from, FailedWrites)
		if e.drifted(down) {
			for _, zone := range e.allZones() {
				e.openUntil(zone, down.from, e.restarted(down.to), FailedWrites)
			}
		}
	}
}

// drifted says whether an outage moved upstream's passes: each lasts as long as its writes and their repetitions, and the
// next comes a period later.
func (e *explainer) drifted(down span) bool {
	origin, period := e.started(down.to), e.settings.NodeMonitorPeriod
	for _, l := range e.Upstream {
		if l.T < down.from || l.T > e.restarted(down.to) || l.Kind != scenario.KindCondition && l.Kind != scenario.KindZone && l.Kind != scenario.KindCluster {
			continue
		}
		if phase := (l.T - origin) % period; phase > slack && phase < period-slack {
			return true
		}
	}
	return false
}

// vanished: when the last healthy zone goes away all that are left are down. Upstream remembers nothing of a zone that is
// gone, so that for it they were before, too.
func (e *explainer) vanished() {
	for _, l := range e.left {
		if l.Side != OursSide || l.Kind != scenario.KindCluster || l.State != scenario.AllZonesDisrupted {
			continue
		}
		for _, d := range e.Decisions {
			if at := d.Time.Sub(epoch); d.Kind == evictor.NodeRemoved && at <= l.T && at >= l.T-e.settings.NodeMonitorPeriod {
				e.openAll(l.T, Vanished)
			}
		}
	}
}

// rateOfPass: in the pass that lowers a rate upstream may still serve one node at the old one.
func (e *explainer) rateOfPass(zone string, at time.Duration) {
	for _, l := range e.left {
		if l.Side == UpstreamSide && e.zoneOf[l.Node] == zone && l.T >= at-slack && l.T <= at+tick &&
			(l.Kind == scenario.KindTaint && ownNoExecute(l.Line) && l.Op == scenario.OpAdd || l.Kind == scenario.KindEvict) {
			e.open(zone, at, RateOfPass)
			return
		}
	}
}

// idleTokens: a node that is Ready again, or gone, while it waits takes no token of ours; upstream finds out with a token in
// its hand.
func (e *explainer) idleTokens() {
	waits := map[string]bool{}
	for _, d := range e.Decisions {
		at := d.Time.Sub(epoch)
		switch d.Kind {
		case evictor.NodeQueued:
			waits[d.Node] = true
		case evictor.TaintsWritten:
			for _, t := range d.Added {
				if t.Effect == v1.TaintEffectNoExecute {
					delete(waits, d.Node)
				}
			}
		case evictor.NodeDequeued, evictor.NodeRemoved:
			if waits[d.Node] && (d.Kind == evictor.NodeRemoved || d.Reason == "NodeReady" || d.Reason == "NotFailed") {
				e.open(e.zoneOf[d.Node], at, IdleToken)
			}
			delete(waits, d.Node)
		}
	}
}

// exactToken: a token that is there at the instant at which the rate falls, or the node recovers, is handed out by ours;
// upstream looks up to a tick for each token later, when it is too late.
func (e *explainer) exactToken() {
	late, rule := time.Second, ExactToken
	if e.late > 0 {
		late, rule = late+e.late, SamePass
	}
	for i, l := range e.left { // its taint came later, so its eviction would have, too
		if l.Side == OursSide && e.rule[i] == (Rule{}) && l.Kind == scenario.KindEvict {
			for k, o := range e.left {
				if o.Side == UpstreamSide && o.Kind == scenario.KindCancel && o.Pod == l.Pod && o.T >= l.T-slack && o.T <= l.T+late {
					e.explain(i, rule)
					e.explain(k, rule)
				}
			}
			if e.outage(l.T, l.T+late) || e.restarted(l.T) <= l.T+late {
				e.explain(i, rule)
			}
		}
	}
	for i, l := range e.left {
		if l.Side != OursSide || e.rule[i] != (Rule{}) || !served(l.Line, !e.settings.TaintBasedEviction) {
			continue
		}
		zone := e.zoneOf[l.Node]
		for _, r := range e.rates[zone] {
			if r.at >= l.T-slack && r.at <= l.T+late {
				e.open(zone, l.T, rule)
			}
		}
		for _, m := range e.health[l.Node] {
			if m.at >= l.T && m.at <= l.T+late {
				e.open(zone, l.T, rule)
			}
		}
		another := func(o scenario.Line) bool { return e.zoneOf[o.Node] == zone && o.Node != l.Node }
		if e.late > 0 && (e.outage(l.T, l.T+late) || e.restarted(l.T) <= l.T+late || e.wrote(e.Upstream, scenario.KindCondition, l.T+slack, l.T+late, another)) {
			e.open(zone, l.T, rule)
		}
	}
}

// forgive explains the lines of windows, and then what follows from lines that were explained: a pod that is gone on one
// side only has no more lines there.
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
	type gone struct {
		Left
		rule Rule
	}
	evicted := map[string][]gone{}
	for i, l := range e.left {
		if l.Kind == scenario.KindEvict && e.rule[i] != (Rule{}) {
			evicted[l.Pod] = append(evicted[l.Pod], gone{l, e.rule[i]})
		}
	}
	e.sooner()
	for i, l := range e.left {
		for _, g := range evicted[l.Pod] {
			if l.Pod != "" && g.Side != l.Side && l.T >= g.T-slack {
				e.explain(i, g.rule)
			}
		}
	}
}

// sooner explains what a side does to a taint that it alone has, or later than the other one.
func (e *explainer) sooner() {
	done := map[Left]Rule{}
	for i, l := range e.left {
		if l.Kind != scenario.KindTaint {
			continue
		}
		own, other, opposite := l, l, l
		own.T, other.T, opposite.T = 0, 0, 0
		other.Side = l.Side.other()
		opposite.Op = opposed[l.Op]
		for _, key := range []Left{opposite, other} {
			if r, ok := done[key]; ok && (key == other || l.Op == scenario.OpRemove) {
				e.explain(i, r)
				delete(done, key)
			}
		}
		if e.rule[i] != (Rule{}) {
			done[own] = e.rule[i]
		}
	}
}

// covers says whether a window of that rule is about such lines.
func (e *explainer) covers(w window, l Left) bool {
	switch l.Kind {
	case scenario.KindEvict, scenario.KindCancel:
		return true
	case scenario.KindTaint:
		return ownNoExecute(l.Line) || w.rule == FailedWrites || l.Key != "" && l.Op == scenario.OpRemove
	case scenario.KindPodNotReady:
		return w.rule == FailedWrites || w.rule == AllDownGrace || w.rule == Newcomer || w.rule == Vanished
	case scenario.KindCondition:
		return w.rule == FailedWrites
	case scenario.KindZone, scenario.KindCluster:
		return w.rule == FailedWrites || w.rule == Newcomer || w.rule == Vanished
	}
	return false
}
