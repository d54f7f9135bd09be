package differential

import (
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

func (e *explainer) singleTaint(i int, l Left) {
	upstream := l.Side == UpstreamSide
	if upstream {
		e.liftedApart(i, l)
	}
	if e.late > 0 && !upstream && ownNoExecute(l.Line) && e.pair(i, l.T, l.T+e.late+tick, SamePass) {
		return
	}
	if e.late > 0 && !upstream && ownNoExecute(l.Line) && l.Op == timeline.OpAdd {
		e.liftedSoon(i, l)
	}
	if !upstream && ownNoExecute(l.Line) && l.Op == timeline.OpRemove && e.isAllDown(l.T) && e.theirs.tainted(l.Node, l.T-slack, l.T+tick) {
		r := RateOfPass // it is added during the pass that removes the taints, and stays
		if e.late > 0 {
			r = SamePass
		}
		e.explain(i, r)
		e.open(e.zoneOf[l.Node], l.T, r)
	}
	if upstream && ownNoExecute(l.Line) && l.Op == timeline.OpAdd && e.renews(l.Node, l.T) {
		e.explain(i, Renewing)
		e.takenBack(l)
		e.open(e.zoneOf[l.Node], l.T-slack, Renewing) // upstream has spent a token on it, so the nodes after it come later
	}
	if upstream && e.rule[i] == (Rule{}) {
		e.undone(i, e.settings.NodeMonitorPeriod)
	}
	if e.compat.loseTaints && upstream && ownNoExecute(l.Line) && l.Op == timeline.OpRemove {
		if at := e.started(l.T); at > 0 && l.T <= at+slack {
			e.explain(i, RestartLoses)
		}
	}
}

// liftedApart explains that upstream lifts the NoSchedule taint of a node before its NoExecute taint.
func (e *explainer) liftedApart(i int, l Left) {
	period := e.settings.NodeMonitorPeriod
	ready := l.Key == v1.TaintNodeNotReady || l.Key == v1.TaintNodeUnreachable
	if !ready || l.Effect != string(v1.TaintEffectNoSchedule) || l.Op != timeline.OpRemove || !carries(e.ours, l.Node, l.T) {
		return
	}
	if !e.pair(i, l.T, l.T+period+slack, LiftInOneWrite) && (e.outage(l.T, l.T+period) || within(e.removed[l.Node], l.T, period) || l.T+period > e.settings.Until) {
		e.explain(i, LiftInOneWrite)
	}
}

// takenBack explains that upstream lifts a taint on a node that renews its lease, and cancels what that taint evicts.
func (e *explainer) takenBack(added Left) {
	lifted := forever
	for _, o := range e.theirs[about{kind: timeline.KindTaint, node: added.Node}] {
		if o.T > added.T && o.Op == timeline.OpRemove && o.Key == added.Key && o.Effect == added.Effect {
			lifted = min(lifted, o.T)
		}
	}
	for i, o := range e.left {
		of := o.Kind == timeline.KindTaint && o.Op == timeline.OpRemove && o.Effect == added.Effect || o.Kind == timeline.KindCancel
		if o.Side == UpstreamSide && o.Node == added.Node && o.T > added.T && o.T <= lifted+tick && of {
			e.explain(i, Renewing)
		}
	}
}

// liftedSoon explains a taint of ours that is lifted before upstream's turn for the node would have come, and what follows from
// it: evictions of pods that do not tolerate it, and cancelled ones.
func (e *explainer) liftedSoon(i int, l Left) {
	until, lifted := l.T+e.late+e.lag(e.zoneOf[l.Node], l.T)+tick, -forever
	if !e.failing(l.Node, until) { // the next pass lifts it
		until += e.settings.NodeMonitorPeriod
	}
	for k, o := range e.left {
		if o.Side != OursSide || o.Node != l.Node || o.T <= l.T || o.T > until || e.isAllDown(o.T) {
			continue
		}
		lifts := o.Kind == timeline.KindTaint && o.Op == timeline.OpRemove && o.Key == l.Key && o.Effect == l.Effect
		if lifts || o.Kind == timeline.KindCancel {
			e.explain(i, SamePass)
			e.explain(k, SamePass)
		}
		if lifts { // upstream spends a token on the node that is Ready again, so the nodes after it come later
			lifted = o.T
			zone := e.zoneOf[l.Node]
			e.open(zone, l.T-max(e.late, e.lag(zone, l.T))-2*tick, IdleToken)
		}
	}
	for k, o := range e.left {
		if o.Side == OursSide && o.Node == l.Node && o.Kind == timeline.KindEvict && o.T >= l.T && o.T <= lifted {
			e.explain(k, SamePass)
		}
	}
}
