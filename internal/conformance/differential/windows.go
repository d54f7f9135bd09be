package differential

import (
	"time"

	"github.com/evictkit/evictkit/internal/scenario"
)

func (e *explainer) open(zone string, at time.Duration, r Rule) {
	e.windows[zone] = append(e.windows[zone], window{span{at, forever}, r})
}

// openWindows finds the moments from which the two sides taint the nodes of a zone differently.
func (e *explainer) openWindows() {
	for _, down := range e.allDown {
		for node, zone := range e.zoneOf {
			if down.to != forever && e.failing(node, down.to) {
				e.open(zone, down.to, AllDownGrace)
			}
		}
		for _, m := range e.added {
			if down.holds(m.at) || m.at <= down.to && m.at >= down.from {
				for _, zone := range e.zoneOf {
					e.open(zone, m.at, Newcomer)
				}
			}
		}
	}
	for zone, rates := range e.rates {
		stopped := false
		for i, r := range rates {
			if i > 0 && r.state == rates[i-1].state && r.rate != rates[i-1].rate && !e.isAllDown(r.at) {
				e.open(zone, r.at, ZoneGrows)
			}
			if r.rate == 1 && stopped {
				e.open(zone, r.at, RateOne)
			}
			stopped = stopped || r.rate == 0
			if i > 0 && r.rate < rates[i-1].rate {
				e.rateOfPass(zone, r.at)
			}
		}
		if e.settings.NodeEvictionRate == 0 {
			e.open(zone, 0, RateZero)
		}
	}
	for _, down := range e.outages {
		for _, zone := range e.zoneOf {
			e.open(zone, down.from, FailedWrites)
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

// forgive explains the lines of windows, and what follows from lines that were explained: a pod that is gone on one side,
// a taint that is on one side.
func (e *explainer) forgive() {
	for i, l := range e.left {
		if e.rule[i] != (Rule{}) {
			continue
		}
		for _, w := range e.windows[e.zoneOf[l.Node]] {
			if w.holds(l.T+slack) && e.covers(w, l) {
				e.explain(i, w.rule)
				break
			}
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
		return w.rule == FailedWrites || w.rule == AllDownGrace || w.rule == Newcomer
	case scenario.KindCondition:
		return w.rule == FailedWrites
	}
	return false
}
