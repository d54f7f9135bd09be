package differential

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/examples/frontend"
)

// Played is a case and what both sides did with it.
type Played struct {
	Case           *Case // with the names of incarnations, which all of the others have, too
	Against        Against
	Ours, Upstream []timeline.Line
	Nodes          []evictor.NodeDecision // of ours
	Rewrites       []frontend.Rewrite     // of upstream
	known          *incarnations
	compat         compat
	plain          []timeline.Line // ours without it
	compared       *explainer      // the last comparison
	brake          Brake           // on our side alone, if any
}

// Result is the result of a comparison.
type Result struct {
	Lines       int          // of upstream
	Fired       map[Rule]int // lines that each rule explained
	Unexplained []Left       // also the lines that break a promise
}

// explainer explains the lines that match left over.
type explainer struct {
	*Played
	*truth
	ours    index
	theirs  index // upstream's
	decided decided
	left    []Left // in the order of time
	rule    []Rule
	fired   map[Rule]int
	allDown []span
	rates   map[string][]rateAt // of zones, in our timeline
	windows map[string][]window
	opened  map[string]map[window]bool // the same
	unrest  map[string][]span
	late    time.Duration      // how much later upstream taints
	lags    map[string][]lagAt // of zones

	byIdentity map[Left][]int
	quiet      map[zoneAt]time.Duration
	spans      map[string][]span
	pods       []tolerant
}

type rateAt struct {
	at    time.Duration
	rate  float64
	state string
	empty bool
}

// zoneAt is a zone, or with an empty name all zones, at an instant.
type zoneAt struct {
	zone string
	at   time.Duration
}

type window struct {
	span
	rule Rule
}

// newExplainer knows what the scenario says and what both sides did.
func newExplainer(p *Played) *explainer {
	t := truthOf(p.Case)
	e := &explainer{Played: p, truth: t, fired: map[Rule]int{}, windows: map[string][]window{}, rates: map[string][]rateAt{}, opened: map[string]map[window]bool{}, quiet: map[zoneAt]time.Duration{},
		ours: indexOf(p.Ours, t.zoneOf), theirs: indexOf(p.Upstream, t.zoneOf), decided: decidedIn(p.Nodes, t.zoneOf)}
	e.zones()
	return e
}

// Judge returns the lines of ours that are not what our pages promise, whatever upstream does, and those that are missing.
func Judge(p *Played) (lines []Left) {
	e := newExplainer(p)
	for _, l := range append(e.broken(), e.misplaced()...) {
		lines = append(lines, Left{OursSide, l})
	}
	return lines
}

// Compare matches the two timelines and explains the rest.
func Compare(p *Played) Result {
	e := newExplainer(p)
	p.compared = e
	t := e.truth
	ours, empty := comparable(p.Ours, OursSide, t.restarts)
	upstream, _ := comparable(p.Upstream, UpstreamSide, t.restarts)
	if empty > 0 {
		e.fired[EmptyZone] = empty
	}
	e.late = p.Against.late(&p.Case.Scenario.Config)
	var later int
	if e.left, later, e.lags = match(ours, upstream, t.zoneOf, t.bound, e.late, !e.settings.TaintBasedEviction); later > 0 {
		e.fired[SamePass] = later
	}
	slices.SortStableFunc(e.left, func(a, b Left) int { return cmp.Compare(a.T, b.T) })
	e.rule = make([]Rule, len(e.left))
	e.indexLeft()
	e.singles()
	e.openWindows()
	e.forgive()
	e.pairEvictions()
	e.leave()
	result := Result{Lines: len(p.Upstream), Fired: e.fired}
	for i, l := range e.left {
		if e.rule[i] == (Rule{}) && !e.cutOff(l) {
			result.Unexplained = append(result.Unexplained, l)
		}
	}
	return result
}

// cutOff says whether upstream, which is a little later, may not have reached it before the end. Its pass of the last
// instant comes after that.
func (e *explainer) cutOff(l Left) bool {
	if l.Side == OursSide && l.T == e.settings.Until && e.onPass(l.T) {
		return true
	}
	return l.Side == OursSide && l.T > e.settings.Until-e.late-max(time.Second, e.lag(e.zoneOf[l.Node], l.T)+2*tick) && (l.Kind == timeline.KindEvict || l.Kind == timeline.KindTaint && ownNoExecute(l.Line))
}

// lag returns how late upstream is with a node that ours serves then in that zone, as far as those show that it served before.
// At some rates it grows from node to node.
func (e *explainer) lag(zone string, t time.Duration) (by time.Duration) {
	for _, l := range e.lags[zone] {
		switch {
		case l.at <= t:
			by = max(l.by, 0)
		case by > 0 && l.at <= t+by+2*tick:
			by = max(by, l.by)
		}
	}
	return by
}

// unseen returns how late upstream may be because of nodes with nothing to delete that have had the turns just before:
// there is no line about them, and each turn may come a tick later than ours.
func (e *explainer) unseen(zone string, t time.Duration) (by time.Duration) {
	apart := time.Duration(float64(time.Second) / e.settings.NodeEvictionRate)
	emptied := e.decided[decidedAbout{kind: nodelifecycle.NodeEmptied, zone: zone}]
	for _, d := range slices.Backward(emptied) {
		switch at := d.Time.Sub(epoch); {
		case at >= t:
		case t-at > apart+slack:
			return by
		default:
			by, t = by+tick, at
		}
	}
	return by
}

func (e *explainer) explain(i int, r Rule) {
	if e.rule[i] == (Rule{}) {
		e.rule[i] = r
		e.fired[r]++
	}
}

// zones records the rates of zones and when all of them were down, from our timeline.
func (e *explainer) zones() {
	for _, l := range e.Ours {
		switch l.Kind {
		case timeline.KindZone:
			e.rates[l.Zone] = append(e.rates[l.Zone], rateAt{l.T, l.Rate, l.State, l.Ready+l.NotReady == 0})
		case timeline.KindCluster:
			if l.State == timeline.AllZonesDisrupted {
				e.allDown = append(e.allDown, span{l.T, e.restarted(l.T)}) // the next process reports it again
			} else if n := len(e.allDown); n > 0 {
				e.allDown[n-1].to = min(e.allDown[n-1].to, l.T)
			}
		}
	}
}

func (e *explainer) isAllDown(t time.Duration) bool {
	return slices.ContainsFunc(e.allDown, func(s span) bool { return s.holds(t + slack) })
}

// nobody says whether no node counts any more.
func (e *explainer) nobody(t time.Duration) bool {
	return !slices.ContainsFunc(e.allZones(), func(zone string) bool { return e.counted(&timeline.Line{Zone: zone, T: t}) > 0 })
}

// allUp returns when "every zone is down" last ended before that instant, 0 if it never did.
func (e *explainer) allUp(t time.Duration) (at time.Duration) {
	for _, s := range e.allDown {
		if s.to <= t {
			at = max(at, s.to)
		}
	}
	return at
}

// other finds the same line on the other side, first within those bounds.
func (e *explainer) other(i int, from, to time.Duration) (int, bool) {
	l := e.left[i]
	for _, k := range e.byIdentity[Left{l.Side.other(), identity(l.Line)}] {
		if l := e.left[k]; e.rule[k] == (Rule{}) && l.T >= from && l.T <= to {
			return k, true
		}
	}
	return 0, false
}

// pair explains a line together with its counterpart.
func (e *explainer) pair(i int, from, to time.Duration, r Rule) bool {
	return e.pairIf(i, from, to, r, func(Left) bool { return true })
}

func (e *explainer) pairIf(i int, from, to time.Duration, r Rule, is func(Left) bool) bool {
	k, ok := e.other(i, from, to)
	if ok = ok && is(e.left[k]); ok {
		e.explain(i, r)
		e.explain(k, r)
		e.fired[r]-- // a pair is one difference
	}
	return ok
}

// singles explains lines that need only the line itself and what happened around it.
func (e *explainer) singles() {
	for i, l := range e.left {
		if e.rule[i] != (Rule{}) {
			continue
		}
		switch l.Kind {
		case timeline.KindTaint:
			e.singleTaint(i, l)
		case timeline.KindEvict, timeline.KindCancel:
			e.singleEviction(i, l)
		case timeline.KindPodNotReady:
			e.singleMark(i, l)
		case timeline.KindZone:
			if l.Side == UpstreamSide && e.ours.wrote(about{kind: l.Kind, zone: l.Zone}, 0, l.T, func(o *timeline.Line) bool { return o.Ready+o.NotReady == 0 }) {
				e.explain(i, EmptyZone)
			}
			if l.Side == OursSide && l.State == normal && e.theirs.wrote(about{kind: l.Kind, zone: l.Zone}, 0, l.T, func(o *timeline.Line) bool { return o.State == none }) {
				e.explain(i, EmptyZone) // it lost all its nodes, and has one again
			}
		case timeline.KindCluster:
			if l.Side == OursSide && l.State == timeline.ClusterNormal && e.nobody(l.T) {
				e.explain(i, EmptyZone)
			}
		}
	}
}

func (e *explainer) singleEviction(i int, l Left) {
	period := e.settings.NodeMonitorPeriod
	same := about{kind: timeline.KindEvict, node: l.Node, pod: l.Pod}
	upstream := l.Side == UpstreamSide
	switch {
	case e.spared[l.Pod] && upstream:
		e.explain(i, SparedPods)
	case e.settings.TaintBasedEviction && e.swapped(&l.Line):
		e.explain(i, Swapped)
	case l.Kind == timeline.KindEvict && e.inherits(l):
		e.explain(i, SameName)
	case l.Kind == timeline.KindEvict && upstream && e.afresh(l):
		e.explain(i, Afresh)
	case l.Kind == timeline.KindEvict && upstream && e.keeps(&l.Line):
		if k, ok := e.other(i, l.T, forever); ok {
			e.explain(k, BothWays)
		}
		e.explain(i, BothWays)
	case upstream && e.theirs.wrote(same, 0, l.T-slack, anyLine):
		e.explain(i, Terminating)
	case l.Kind == timeline.KindCancel && upstream && e.deleted[l.Pod] > 0 && e.deleted[l.Pod] <= l.T:
		e.explain(i, Terminating)
	case l.Kind == timeline.KindCancel && upstream && (e.armed(&l.Line) || e.theirs.wrote(same, l.T, l.T+slack, anyLine)):
		e.explain(i, MovedNotCanceled)
	case l.Kind == timeline.KindCancel && !upstream && e.theirs.wrote(same, l.T-slack, l.T+slack, anyLine) && e.onPass(l.T):
		e.explain(i, PassFirst)
	case l.Kind == timeline.KindEvict && upstream && e.ours.wrote(about{kind: timeline.KindCancel, node: l.Node, pod: l.Pod}, l.T-slack, l.T+slack, anyLine):
		e.explain(i, PassFirst) // which upstream then reports as cancelled, too
	case l.Kind == timeline.KindEvict && !upstream && e.late > 0 && e.pairIf(i, l.T, l.T+e.late+e.unseen(e.zoneOf[l.Node], l.T)+tick, SamePass, func(o Left) bool { return !carries(e.theirs, o.Node, o.T) }):
		// Upstream had another reason to evict it before it tainted the node.
	case l.Kind == timeline.KindEvict && !upstream && (within(e.deleted[l.Pod], l.T, e.late+tick) || within(e.removed[l.Node], l.T, e.late+tick)):
		e.explain(i, SamePass) // upstream was to evict it when it was gone
	case l.Kind == timeline.KindEvict && !upstream && e.movedByTaint(l):
		if k, ok := e.other(i, l.T, forever); ok {
			e.explain(k, BothWays)
		}
		e.explain(i, BothWays)
	case l.Kind == timeline.KindEvict && upstream && e.Against == V118Direct && e.bound[l.Pod] > 0 && l.T-e.bound[l.Pod] <= tick && e.failing(l.Node, l.T) && (e.pair(i, l.T, l.T+period, TimeoutAtPass) || l.T+period > e.settings.Until):
		e.explain(i, TimeoutAtPass)
	case l.Kind == timeline.KindEvict && upstream && e.cameBack(l.Node, l.T):
		if !e.pair(i, l.T, forever, CameBack) {
			e.explain(i, CameBack) // ours comes after the end
		}
	case l.Kind == timeline.KindCancel && !upstream && e.toleratesTheRest(l), l.Kind == timeline.KindEvict && upstream && e.toleratesTheRest(l):
		e.explain(i, BothWays) // v1.18 cancels nothing if all the taints that are left are tolerated for ever
	case l.Kind == timeline.KindCancel && !upstream && e.late > 0 && e.theirs.tainted(l.Node, l.T-slack, l.T+tick):
		e.explain(i, SamePass) // upstream has just begun to taint it
	}
	if l.Kind == timeline.KindEvict && upstream && (e.renews(l.Node, l.T) || e.renews(l.Node, l.T-2*slack)) { // or until this very instant
		e.explain(i, Renewing)
	} else if l.Kind == timeline.KindEvict && upstream && (!e.settings.TaintBasedEviction || carries(e.theirs, l.Node, l.T-slack)) && e.reportedReady(l.Node, l.T) {
		e.explain(i, ReportedReady)
	}
	if at := e.started(l.T); e.compat.loseTaints && (l.Kind == timeline.KindCancel && l.T <= at+slack || l.Kind == timeline.KindEvict && !upstream && e.rule[i] == (Rule{}) && e.pair(i, l.T, l.T+time.Second, RestartLoses)) {
		e.explain(i, RestartLoses) // a pair counts from the whole second in which a foreign taint was set again
	}
}

func (e *explainer) singleMark(i int, l Left) {
	same := about{kind: timeline.KindEvict, node: l.Node, pod: l.Pod}
	upstream := l.Side == UpstreamSide
	switch {
	case upstream && e.isAllDown(l.T):
		e.explain(i, AllDownNotMarked)
	case upstream && e.theirs.wrote(same, 0, l.T, anyLine):
		e.explain(i, Terminating)
	case upstream && e.deleted[l.Pod] > 0 && e.deleted[l.Pod] <= l.T:
		e.explain(i, Terminating)
	case upstream && e.state(l.Node, l.T).failing && (!e.state(l.Node, l.T).silent || e.saidNotReady(l.Node, l.T) && e.verdict(l.Node, l.T) != v1.ConditionUnknown):
		e.explain(i, MarkedByVerdict)
	case upstream && e.saidNotReady(l.Node, l.T) && e.started(l.T) > 0 && l.T <= e.started(l.T)+slack:
		e.explain(i, MarkedByVerdict) // by the next process, which does not know the node's earlier state
	case upstream && e.bound[l.Pod] > 0 && l.T-e.bound[l.Pod] <= slack && !e.failing(l.Node, l.T) && e.verdict(l.Node, e.bound[l.Pod]-slack) != v1.ConditionTrue:
		e.explain(i, MarkedByVerdict) // the node has come back, and no pass has seen that yet
	case upstream && e.ours.wrote(about{kind: l.Kind, node: l.Node, pod: l.Pod}, 0, l.T-slack, anyLine):
		e.explain(i, MarkedByVerdict) // by ours, before
	case !upstream && e.theirs.wrote(same, l.T-tick, l.T+tick, anyLine):
		e.explain(i, Terminating) // it was evicted first
	case !upstream && e.theirs.wrote(about{kind: l.Kind, node: l.Node, pod: l.Pod}, 0, l.T-slack, anyLine):
		e.explain(i, MarkedByVerdict) // by upstream, before
	case !upstream && e.startedLate(l.Pod, l.T) && e.verdict(l.Node, l.T) == v1.ConditionUnknown:
		e.explain(i, MarkedByVerdict) // upstream marks a pod as it is bound, and this one was not Ready then
	case !upstream && e.saidNotReady(l.Node, l.T):
		e.explain(i, MarkedByVerdict) // upstream marks the pods that were Ready until the verdict
	}
}
