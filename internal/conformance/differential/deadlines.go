package differential

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// What failed is tried again after so long, and after twice as long each time.
const retryInitial, retryMax = 100 * time.Millisecond, time.Minute

// tolerant is a pod as the scenario makes it, and for how long it is there if nobody evicts it.
type tolerant struct {
	span
	name, node  string
	tolerations []v1.Toleration
}

// tolerants are the pods about which the scenario says everything: those that are not of DaemonSets, and may be evicted.
func (e *explainer) tolerants() (all []tolerant) {
	add := func(name, node string, at time.Duration, tolerations []v1.Toleration) {
		all = append(all, tolerant{span{at, e.settings.Until}, name, node, tolerations})
	}
	of := func(node string, pods int, at time.Duration, seconds *simulation.TolerationSeconds) {
		for j := range pods {
			add(fmt.Sprintf("%s-p%d", node, j), node, at, admitted(seconds))
		}
	}
	for i := range e.Case.Scenario.Cluster.Zones {
		z := &e.Case.Scenario.Cluster.Zones[i]
		for k := range z.Nodes {
			of(z.NodeName(k), z.PodsPerNode, 0, z.TolerationSeconds)
		}
	}
	for _, p := range e.Case.Pods {
		add(p.Name, p.Spec.NodeName, 0, p.Spec.Tolerations)
	}
	for _, event := range e.Case.Scenario.Events {
		if p := event.AddPod; p != nil {
			add(p.Name, p.Node, event.At, admitted(p.TolerationSeconds))
		}
		if n := event.AddNode; n != nil {
			of(n.Name, n.PodsPerNode, event.At, n.TolerationSeconds)
		}
	}
	for i := range all {
		p := &all[i]
		if at, deleted := e.deleted[p.name]; deleted {
			p.to = min(p.to, at)
		}
		if at, gone := e.removed[p.node]; gone {
			p.to = min(p.to, at)
		}
	}
	return slices.DeleteFunc(all, func(p tolerant) bool { return e.spared[p.name] })
}

// admitted are the tolerations of a pod that is made with those seconds.
func admitted(s *simulation.TolerationSeconds) (tolerations []v1.Toleration) {
	lasts := int64(300)
	if s != nil {
		lasts = int64(*s)
	}
	for _, key := range []string{v1.TaintNodeNotReady, v1.TaintNodeUnreachable} {
		if s == nil || *s != simulation.NoToleration {
			tolerations = append(tolerations, v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &lasts})
		}
	}
	return tolerations
}

// stay is how long the first toleration that matches the taint lasts; not at all if none does.
func stay(tolerations []v1.Toleration, key, value string) time.Duration {
	for i := range tolerations {
		t := &tolerations[i]
		switch {
		case t.Effect != "" && t.Effect != v1.TaintEffectNoExecute, t.Key != "" && t.Key != key:
		case t.Operator != v1.TolerationOpExists && t.Value != value:
		case t.TolerationSeconds == nil:
			return forever
		default:
			return time.Duration(max(0, *t.TolerationSeconds)) * time.Second
		}
	}
	return 0
}

// carried is a taint that a node has: since when, at the earliest and at the latest, and since when at least its outage lasts.
// A process that starts reads whole seconds, and nobody wrote down when a swap was.
type carried struct {
	key, value    string
	since, latest time.Duration
	outage        time.Duration
	undated       bool // it has no TimeAdded
}

// change is what becomes of the NoExecute taints of a node.
type change struct {
	at         time.Duration
	key, value string
	adds, own  bool
	undated    bool
	restarts   bool
}

// changes are those of a node: ours as our timeline shows them, the others as the scenario says.
func (e *explainer) changes(node string) (all []change) {
	for _, n := range e.Case.Nodes {
		for _, t := range n.Spec.Taints {
			if n.Name == node && t.Effect == v1.TaintEffectNoExecute {
				all = append(all, change{key: t.Key, value: t.Value, adds: true, undated: true})
			}
		}
	}
	for _, r := range e.restarts {
		all = append(all, change{at: r, restarts: true})
	}
	for i := range e.Case.Scenario.Events {
		event := &e.Case.Scenario.Events[i]
		if t := event.Taint; t != nil && t.Effect == v1.TaintEffectNoExecute && slices.Contains(e.selected(&t.Nodes), node) {
			all = append(all, change{at: event.At, key: t.Key, value: t.Value, adds: true})
		}
		if t := event.Untaint; t != nil && t.Effect == v1.TaintEffectNoExecute && slices.Contains(e.selected(&t.Nodes), node) {
			all = append(all, change{at: event.At, key: t.Key})
		}
	}
	for _, l := range e.ours[about{kind: timeline.KindTaint, node: node}] {
		if ownNoExecute(*l) {
			all = append(all, change{at: l.T, key: l.Key, adds: l.Op == timeline.OpAdd, own: true})
		}
	}
	slices.SortStableFunc(all, func(a, b change) int {
		first := func(c change) int { return map[bool]int{true: 1}[c.adds && c.own] } // of a swap, what goes
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(first(a), first(b)))
	})
	return all
}

// held is what a node carries from one instant to another.
type held struct {
	span
	taints []carried
}

// carriedBy is what the node carries, from the first taint on.
func (e *explainer) carriedBy(node string) (all []held) {
	var now []carried
	ended, was := -forever, time.Duration(0) // the last taint of ours, and when its outage began
	for _, c := range e.changes(node) {
		k := slices.IndexFunc(now, func(t carried) bool { return t.key == c.key })
		now = slices.Clone(now)
		switch {
		case c.restarts:
			for k := range now {
				now[k].read(c.at)
			}
		case c.adds:
			t := carried{c.key, c.value, c.at, c.at, c.at, c.undated}
			if c.own && ended == c.at {
				t.outage = was
			}
			if k >= 0 && now[k].value == c.value { // went and came back unseen, at its TimeAdded
				t.since = t.since.Truncate(time.Second)
			}
			now = append(slices.DeleteFunc(now, func(t carried) bool { return t.key == c.key }), t)
		case k >= 0:
			if c.own {
				ended, was = c.at, now[k].outage
			}
			now = slices.Delete(now, k, k+1)
		}
		if n := len(all); n > 0 {
			all[n-1].to = c.at
		}
		all = append(all, held{span{c.at, forever}, now})
	}
	return all
}

// read is what a process that starts then makes of the taint: whole seconds, and of one of ours, it may have been swapped last.
func (t *carried) read(now time.Duration) {
	if t.latest = t.since; other[t.key] != "" || t.undated {
		t.latest = now
	}
	t.since, t.outage = t.since.Truncate(time.Second), t.outage.Truncate(time.Second)
}

var other = map[string]string{v1.TaintNodeNotReady: v1.TaintNodeUnreachable, v1.TaintNodeUnreachable: v1.TaintNodeNotReady}

// due is when the pod is to leave while the node has these taints, at the earliest and at the latest: by ours, or by others.
func (p *tolerant) due(taints []carried, ours bool) (earliest, latest time.Duration) {
	earliest, latest = forever, forever
	for _, t := range taints {
		swaps, own := other[t.key]
		lasts := stay(p.tolerations, t.key, t.value)
		if own != ours || lasts == forever {
			continue
		}
		first, last := max(t.since, p.from)+lasts, max(t.latest, p.from)+lasts
		if longer := stay(p.tolerations, swaps, ""); own && lasts > 0 && longer != forever {
			by := max(t.outage, p.from) + max(lasts, longer)
			first, last = min(first, by), min(last, by+time.Second)
		}
		earliest, latest = min(earliest, first), min(latest, last)
	}
	return earliest, latest
}

// tolerantOf returns the pod of a line.
func (e *explainer) tolerantOf(l *timeline.Line) (p tolerant, known bool) {
	if e.pods == nil {
		e.pods = e.tolerants()
	}
	i := slices.IndexFunc(e.pods, func(p tolerant) bool { return p.name == l.Pod && p.node == l.Node })
	if i < 0 {
		return p, false
	}
	return e.pods[i], true
}

// swapped says whether the node's taint was swapped, for a pod that tolerates the two for different times.
func (e *explainer) swapped(l *timeline.Line) bool {
	p, known := e.tolerantOf(l)
	differ := known && stay(p.tolerations, v1.TaintNodeNotReady, "") != stay(p.tolerations, v1.TaintNodeUnreachable, "")
	return differ && slices.ContainsFunc(e.carriedBy(l.Node), func(h held) bool {
		return h.from <= l.T+slack && slices.ContainsFunc(h.taints, func(t carried) bool { return t.outage < t.since })
	})
}

// keeps says whether upstream evicts by a taint that has gone while another is there: it never moves an eviction back.
func (e *explainer) keeps(l *timeline.Line) bool {
	p, known := e.tolerantOf(l)
	if !known || !carries(e.theirs, l.Node, l.T) && !slices.ContainsFunc(e.foreign[l.Node], func(s span) bool { return s.holds(l.T) }) {
		return false
	}
	gone := func(at time.Duration, key, value string) bool {
		return at < l.T && (max(at, p.from)+stay(p.tolerations, key, value)-l.T).Abs() <= 2*tick
	}
	own := func(t *timeline.Line) bool { return ownNoExecute(*t) && t.Op == timeline.OpAdd && gone(t.T, t.Key, "") }
	return e.theirs.wrote(about{kind: timeline.KindTaint, node: l.Node}, 0, l.T, own) || slices.ContainsFunc(e.changes(l.Node), func(c change) bool { return c.adds && !c.own && gone(c.at, c.key, c.value) })
}

// misjudged returns the evictions that do not follow from what the node carries and the pod tolerates, to the instant, and those
// that follow and do not come. It knows nothing of what upstream does.
func (e *explainer) misjudged() (lines []timeline.Line) {
	carries := map[string][]held{}
	for _, p := range e.tolerants() {
		if _, known := carries[p.node]; !known {
			carries[p.node] = e.carriedBy(p.node)
		}
		lines = append(lines, e.misjudge(p, carries[p.node])...)
	}
	return lines
}

func (e *explainer) misjudge(p tolerant, carries []held) (lines []timeline.Line) {
	at := forever
	if l := e.ours[about{kind: timeline.KindEvict, node: p.node, pod: p.name}]; len(l) > 0 {
		at = l[0].T
	}
	allowed := at == forever
	for _, h := range carries {
		if e.started(h.from) > p.from { // it read when the pod was bound
			p.from = p.from.Truncate(time.Second)
		}
		ours, oursLatest := p.due(h.taints, true)
		others, othersLatest := p.due(h.taints, false)
		if during := at >= h.from-slack && at <= after(h.to, slack); during && at >= min(ours, others)-slack {
			allowed = allowed || at >= others-slack || !e.early(p.node, at)
		}
		by := max(h.from, min(e.latest(p.node, oursLatest, true), e.latest(p.node, othersLatest, false)))
		if by < min(h.to, p.to, at)-slack && p.from < h.to {
			lines = append(lines, timeline.Line{T: by, Kind: timeline.KindEvict, Node: p.node, Pod: p.name, More: `,"judged":"due"`})
			break
		}
	}
	if !allowed {
		lines = append(lines, timeline.Line{T: at, Kind: timeline.KindEvict, Node: p.node, Pod: p.name, More: `,"judged":"not due"`})
	}
	return lines
}

// early says whether it is too early to harm the node or its pods by a taint of ours: it was silent when the process, or the time
// after every zone was down, began, and a grace has not passed since; or it has just reported Ready.
func (e *explainer) early(node string, at time.Duration) bool {
	m, since := e.state(node, at), max(e.started(at), e.allUp(at))
	if heard := slices.ContainsFunc(e.unheardOf, func(s span) bool { return s.holds(m.at) && at > s.to }); m.silent && !heard {
		return m.at <= max(since, time.Second) && at < since+e.settings.NodeMonitorGracePeriod-slack
	}
	return m.at > 0 && !m.failing && !m.renewed && at > m.at+slack && e.calm(node, m.at, at)
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
		tried := max(due, s.from)
		for wait := retryInitial; tried < s.to && s.to != forever; wait = min(2*wait, retryMax) {
			tried += wait
		}
		spans = append(spans, span{s.from, max(tried, after(s.to, 5*time.Second))})
	}
	if ours {
		settles := e.settings.NodeMonitorGracePeriod + 2*e.settings.NodeMonitorPeriod + slack
		for _, at := range e.restarts {
			if due <= at+time.Second {
				return e.paced(node, at+settles)
			}
		}
		for _, s := range e.outages {
			if e.blinds(s) && s.to != forever && due <= s.to+settles && due >= s.from {
				return e.paced(node, s.to+settles)
			}
		}
		spans = append(append(spans, e.unsettled(node)...), e.unclear(node)...)
	}
	return through(spans, by)
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
	settles := e.settings.NodeMonitorGracePeriod + 2*e.settings.NodeMonitorPeriod + slack
	for _, at := range append([]time.Duration{0}, e.restarts...) {
		spans = append(spans, span{at, at + settles})
	}
	for _, s := range append(slices.Clone(e.allDown), e.unheardOf...) { // nobody's lease advances, so it does not see the cluster
		spans = append(spans, span{s.from, after(s.to, settles)})
	}
	for _, m := range e.added {
		if m.name == node {
			spans = append(spans, span{m.at, m.at + settles})
		}
	}
	for _, s := range e.outages { // who begins in one reads no lease before its end
		if begun := e.started(s.to); begun > 0 && begun+settles > s.from {
			spans = append(spans, span{s.from, after(s.to, settles)})
		}
	}
	return spans
}

// unclear is when nobody knows whether the node is back.
func (e *explainer) unclear(node string) (spans []span) {
	period := e.settings.NodeMonitorPeriod
	for _, s := range e.outages {
		spans = append(spans, span{s.from, after(s.to, period)})
	}
	for _, m := range e.health[node] {
		switch {
		case m.renewed: // until it reports
			spans = append(spans, span{m.at, m.at + period + e.settings.StatusInterval})
		case !m.failing: // the next pass decides
			spans = append(spans, span{m.at, m.at + period})
		}
	}
	for _, s := range e.stale {
		if s.node == node {
			spans = append(spans, span{s.from, after(s.to, e.settings.NodeMonitorGracePeriod)})
		}
	}
	return spans
}

// blinds says whether, in an outage of the API, ours may cease to see the cluster: it is as long as the guard waits for a lease to
// advance. Then grace periods begin anew, and what was due leaves at the zone's pace.
func (e *explainer) blinds(s span) bool {
	return s.to == forever || s.to-s.from >= min(20*time.Second, 2*e.settings.NodeMonitorGracePeriod/5)-e.settings.Interval
}

// paced is when the last of the nodes of a node's zone has had its turn at the latest, from then on.
func (e *explainer) paced(node string, from time.Duration) time.Duration {
	zone, turns, slowest := e.zoneOf[node], 1, e.settings.NodeEvictionRate
	for _, of := range e.zoneOf {
		if of == zone {
			turns++
		}
	}
	for _, r := range e.rates[zone] {
		slowest = min(slowest, r.rate)
	}
	if slowest == 0 {
		return forever
	}
	return from + time.Duration(float64(turns)/slowest*float64(time.Second))
}

// after is so much later, if it comes.
func after(at, by time.Duration) time.Duration {
	if at == forever {
		return at
	}
	return at + by
}
