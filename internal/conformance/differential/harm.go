package differential

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// Harm is what ours does to a pod or a node, and upstream does not, or does not yet.
type Harm struct {
	Kind      HarmKind
	Node, Pod string
	From, To  time.Duration // until when upstream does, too; forever if it never does
}

// HarmKind says what it is.
type HarmKind string

// The kinds of harm.
const (
	Evicts  HarmKind = "evicts"  // a pod that upstream keeps
	Hurries HarmKind = "hurries" // evicts a pod that upstream evicts later
	Opens   HarmKind = "opens"   // to new pods a node that has failed, and that upstream keeps closed to them
	Keeps   HarmKind = "keeps"   // a taint on a node that is back, and from which upstream has lifted it
)

// HarmKinds are all of them.
var HarmKinds = []HarmKind{Evicts, Hurries, Opens, Keeps}

// Harms returns the harm that ours does beyond upstream, and which rule explains it. Where the two were compared with changed
// inputs, what these take away is harm of the rule that changes them. What no rule explains has the zero Rule.
func Harms(p *Played) map[Harm]Rule {
	e, found := p.compared, map[Harm]Rule{}
	compared := e.harms(e.ours)
	for _, h := range e.harms(indexOf(p.plain, e.zoneOf)) {
		switch same := func(o Harm) bool { return o.Kind == h.Kind && o.Node == h.Node && o.Pod == h.Pod }; {
		case slices.ContainsFunc(compared, same):
			found[h] = e.charge(h)
		case p.compat.loseTaints:
			found[h] = RestartLoses
		default:
			found[h] = ForgottenLease
		}
	}
	return found
}

// harms compares what happens to each pod and each node.
func (e *explainer) harms(ours index) (all []Harm) {
	near := e.late + 2*tick + slack
	for a, lines := range ours {
		if a.kind != timeline.KindEvict || a.pod == "" {
			continue
		}
		at, to, kind := lines[0].T, forever, Evicts
		if o := e.theirs[a]; len(o) > 0 {
			to, kind = o[0].T, Hurries
		}
		if to > at+near && at+near < e.settings.Until {
			all = append(all, Harm{kind, a.node, a.pod, at, to})
		}
	}
	for node := range e.zoneOf {
		all = append(all, e.harmsOfNode(ours, node, near)...)
	}
	return all
}

// harmsOfNode are those that last longer than near.
func (e *explainer) harmsOfNode(ours index, node string, near time.Duration) (all []Harm) {
	add := func(kind HarmKind, s span, failing bool) {
		if s.to-s.from > near && s.from+near < e.settings.Until && e.failing(node, s.from) == failing {
			all = append(all, Harm{kind, node, "", s.from, s.to})
		}
	}
	for _, open := range beyond(closed(e.theirs, node, ""), closed(ours, node, "")) {
		add(Opens, open, true)
	}
	for _, effect := range []v1.TaintEffect{v1.TaintEffectNoSchedule, v1.TaintEffectNoExecute} {
		for _, kept := range kept(ours, e.theirs, node, effect) {
			add(Keeps, kept, false)
		}
	}
	return all
}

// kept are the spans in which ours keeps a taint that upstream has lifted.
func kept(ours, upstream index, node string, effect v1.TaintEffect) []span {
	others := closed(upstream, node, effect)
	return slices.DeleteFunc(beyond(closed(ours, node, effect), others), func(s span) bool {
		return !slices.ContainsFunc(others, func(o span) bool { return o.to == s.from })
	})
}

// closed are the spans in which the node has a taint of ours with that effect, or with any.
func closed(lines index, node string, effect v1.TaintEffect) (spans []span) {
	has := map[timeline.Line]bool{}
	for _, l := range lines[about{kind: timeline.KindTaint, node: node}] {
		if other[l.Key] == "" || effect != "" && l.Effect != string(effect) {
			continue
		}
		before, of := len(has) > 0, timeline.Line{Key: l.Key, Effect: l.Effect}
		if l.Op == timeline.OpAdd {
			has[of] = true
		} else {
			delete(has, of)
		}
		switch n := len(spans); {
		case !before && n > 0 && spans[n-1].to == l.T: // a swap
			spans[n-1].to = forever
		case !before && len(has) > 0:
			spans = append(spans, span{l.T, forever})
		case before && len(has) == 0:
			spans[n-1].to = l.T
		}
	}
	return spans
}

// beyond is what of some spans no other one holds.
func beyond(spans, others []span) (rest []span) {
	for _, s := range spans {
		at := s.from
		for _, o := range others {
			if o.to <= at || o.from >= s.to {
				continue
			}
			if o.from > at {
				rest = append(rest, span{at, o.from})
			}
			at = o.to
		}
		if at < s.to {
			rest = append(rest, span{at, s.to})
		}
	}
	return rest
}

// charge returns the rule that explains the harm: that of its own line, or else of the last taint of its node that came at
// another time than upstream's, or of the moment from which on the two taint the nodes of its zone differently.
func (e *explainer) charge(h Harm) (r Rule) {
	near, last := e.late+2*tick+slack, time.Duration(-1)
	for i, l := range e.left {
		rule := e.rule[i]
		if rule == (Rule{}) || rule == Paired || l.Node != h.Node || h.Pod != "" && l.Kind == timeline.KindTaint && !ownNoExecute(l.Line) {
			continue
		}
		switch own := l.Pod == h.Pod && l.Kind == timeline.KindEvict || h.Pod == "" && l.Kind == timeline.KindTaint; {
		case own && (l.T-h.From).Abs() <= near:
			return e.blind(rule, h)
		case l.Kind == timeline.KindTaint && l.T <= h.From+near && l.T >= last:
			r, last = rule, l.T
		}
	}
	held := slices.DeleteFunc(slices.Clone(e.windows[e.zoneOf[h.Node]]), func(w window) bool { return !w.holds(h.From) })
	switch {
	case h.Pod != "" && e.dropped(h):
		return RestartLoses
	case slices.ContainsFunc(held, func(w window) bool { return w.rule == RateOne }): // upstream never serves the zone again
		return RateOne
	case r == (Rule{}) && len(held) > 0:
		r = slices.MaxFunc(held, func(a, b window) int { return cmp.Compare(a.from, b.from) }).rule
	}
	return e.blind(r, h)
}

// dropped says whether upstream dropped the node's taint in a restart before.
func (e *explainer) dropped(h Harm) bool {
	return slices.ContainsFunc(e.restarts, func(at time.Duration) bool {
		return at <= h.From && e.theirs.wrote(about{kind: timeline.KindTaint, node: h.Node}, at, at+slack, func(l *timeline.Line) bool { return ownNoExecute(*l) && l.Op == timeline.OpRemove })
	})
}

// blind tells what ours does after an outage because it did not see the cluster from what it does because writes failed.
func (e *explainer) blind(r Rule, h Harm) Rule {
	anew := 2*e.settings.NodeMonitorGracePeriod + 2*e.settings.NodeMonitorPeriod
	if (r == FailedWrites || h.Pod == "" && r != LiftInOneWrite) && slices.ContainsFunc(e.outages, func(s outage) bool { return e.blinds(s) && h.From >= s.from && h.From <= after(s.to, anew) }) {
		return Blind
	}
	return r
}
