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
