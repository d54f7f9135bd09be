package differential

import (
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// Paired is no difference: an eviction comes as long after its side's own taint as on the other side, whenever that came.
var Paired = Rule{Name: "Paired"}

// worn are the spans in which the node had one of our NoExecute taints in our timeline.
func (e *explainer) worn(node string) []span {
	if e.spans == nil {
		e.spans = map[string][]span{}
	}
	spans, known := e.spans[node]
	if !known {
		spans = e.borne(e.ours, node)
		e.spans[node] = spans
	}
	return spans
}

// borne are the spans in which the node had one of our NoExecute taints on that side. A swap does not end one; a restart does
// where taints are lost in it. A taint that comes and goes in one instant lasts for that, and one that goes and comes stays.
func (e *explainer) borne(lines index, node string) (spans []span) {
	has, lost, gone := map[string]bool{}, forever, ""
	own := slices.DeleteFunc(slices.Clone(lines[about{kind: timeline.KindTaint, node: node}]), func(l *timeline.Line) bool { return !ownNoExecute(*l) })
	for len(own) > 0 {
		at, last := own[0].T, len(spans)-1
		before := len(has) > 0
		if before && lost <= at {
			spans[last].to, before = lost, false
		}
		if lost < at {
			clear(has)
		}
		swap := last >= 0 && at-spans[last].to <= slack && spans[last].to != lost && own[0].Key != gone
		gone = own[0].Key
		var came bool
		own, came = instant(own, has)
		switch after := len(has) > 0; {
		case before && !after:
			spans[last].to = at
		case !before && after && swap:
			spans[last].to = forever
		case !before && after:
			spans = append(spans, span{at, forever})
		case !before && came:
			spans = append(spans, span{at, at})
		}
		if e.compat.loseTaints {
			lost = e.restarted(at)
		}
	}
	if len(has) > 0 {
		spans[len(spans)-1].to = lost
	}
	return spans
}

// instant notes which taints a node has after the first instant, and returns the lines of the others. came says whether a taint
// did.
func instant(own []*timeline.Line, has map[string]bool) (rest []*timeline.Line, came bool) {
	more := map[string]int{}
	for rest = own; len(rest) > 0 && rest[0].T == own[0].T; rest = rest[1:] {
		if rest[0].Op == timeline.OpAdd {
			more[rest[0].Key]++
			came = true
		} else {
			more[rest[0].Key]--
		}
	}
	for key, n := range more {
		if n > 0 {
			has[key] = true
		} else if n < 0 {
			delete(has, key)
		}
	}
	return rest, came
}

// during returns the span that holds an instant, more or less.
func during(spans []span, t time.Duration) (span, bool) {
	for _, s := range spans {
		if t >= s.from-slack && (s.to == forever || t <= s.to+slack) {
			return s, true
		}
	}
	return span{}, false
}

// pairs says whether the line is an eviction that follows from a taint.
func (e *explainer) pairs(l timeline.Line) bool {
	return l.Kind == timeline.KindEvict && e.settings.TaintBasedEviction
}

// pairEvictions explains evictions that come when their own side's taint has lasted for as long as the other's had, and those
// for which the other side had no taint for so long.
func (e *explainer) pairEvictions() {
	for i, l := range e.left {
		mine, others := e.ours, e.theirs
		if l.Side == UpstreamSide {
			mine, others = others, mine
		}
		of := about{kind: timeline.KindEvict, node: l.Node, pod: l.Pod}
		if again := len(mine[of]) > 1; !e.pairs(l.Line) || e.rule[i] != (Rule{}) || again && l.Side == OursSide {
			continue // a pod is evicted once
		}
		taint, tainted := during(e.borne(mine, l.Node), l.T)
		if !tainted { // it leaves by a foreign one
			e.foreignIn(i, l, others)
			continue
		}
		if others.evictedBefore(l.Line) || e.paired(l, taint, others[of], e.borne(others, l.Node)) {
			e.explain(i, Paired)
		}
	}
}

// paired says whether an eviction is alike to the other side's, or that side had evicted the pod, or had no taint for so long.
func (e *explainer) paired(l Left, taint span, others []*timeline.Line, spans []span) bool {
	if len(others) > 0 {
		other := others[0].T
		if _, tainted := during(spans, other); tainted || e.outage(l.T, other) {
			return e.alike(l, taint, other, spans)
		}
		if other < l.T {
			return true
		}
	}
	return !e.longer(l, taint, spans) || e.outage(l.T, l.T+2*time.Minute) || e.delayed(l.Node, l.T)
}

// foreignIn explains evictions by foreign taints around an outage of the API, after which ours sees nothing for a moment, and those
// of pods that are gone on the other side.
func (e *explainer) foreignIn(i int, l Left, others index) {
	at := forever
	if o := others[about{kind: timeline.KindEvict, node: l.Node, pod: l.Pod}]; len(o) > 0 {
		at = o[0].T
	}
	_, gone := during(e.borne(others, l.Node), at)
	switch upstream := l.Side == UpstreamSide; {
	case !upstream && e.outage(l.T-retryMax, l.T), upstream && at < l.T && e.outage(at-retryMax, at), upstream && at <= l.T+retryMax && e.outage(l.T-retryMax, l.T):
		e.explain(i, FailedWrites)
	case at < l.T && gone:
		e.explain(i, Paired) // by its taint
	}
}

// alike says whether both evictions come the same time after their taints, or after the pod came, or when the pod tolerates its
// side's taint no longer, or whether ours was held back until a grace after a start, or by an outage of the API.
func (e *explainer) alike(l Left, taint span, other time.Duration, spans []span) bool {
	its, tainted := during(spans, other)
	if tainted {
		bound := e.bound[l.Pod]
		for _, apart := range []time.Duration{(other - its.from) - (l.T - taint.from), (other - max(its.from, bound)) - (l.T - max(taint.from, bound))} {
			if apart.Abs() <= tick+slack {
				return true
			}
		}
	}
	ours, theirs, longer := l.T, other, l.T-taint.from-(other-its.from)
	if l.Side == UpstreamSide {
		ours, theirs, longer = theirs, ours, -longer
	}
	if p, known := e.tolerantOf(&l.Line); known && e.ours.follows(p, ours) && e.theirs.follows(p, theirs) {
		return true
	}
	return (ours >= theirs || tainted && longer >= 0) && ours <= e.heldUntil(ours) || e.outage(min(ours, theirs)-retryMax, max(ours, theirs))
}

// heldUntil is until when evictions by our taints are held back, at most, after the last start, the last time when every zone was
// down, and the last when no kubelet was heard.
func (e *explainer) heldUntil(at time.Duration) time.Duration {
	since := max(e.started(at), e.allUp(at))
	for _, s := range e.unheardOf {
		if s.to <= at {
			since = max(since, s.to)
		}
	}
	return since + e.settles()
}

// longer says whether the other side, which does not evict the pod, has a taint for as long, or for as long as the pod tolerates it.
func (e *explainer) longer(l Left, taint span, spans []span) bool {
	mine, others := e.ours, e.theirs
	if l.Side == UpstreamSide {
		mine, others = others, mine
	}
	if p, known := e.tolerantOf(&l.Line); known && mine.follows(p, l.T) && others.outlives(p) {
		return false
	}
	lasted := l.T - taint.from
	return slices.ContainsFunc(spans, func(s span) bool {
		end := min(s.to, e.settings.Until)
		if at, gone := e.removed[l.Node]; gone {
			end = min(end, at)
		}
		if at, gone := e.deleted[l.Pod]; gone {
			end = min(end, at)
		}
		held := l.Side == UpstreamSide && end <= e.heldUntil(end)
		return end-max(s.from, e.bound[l.Pod]) > lasted+tick+slack && !held && s.to >= l.T-lasted
	})
}
