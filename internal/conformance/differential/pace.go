package differential

import (
	"math"
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// tokens are those of a zone: one at most. It grows at the zone's rate, of which a change keeps a whole one and no part of one.
type tokens struct {
	held  float64
	at    time.Duration
	rate  float64
	whole time.Duration // since when there is one
}

func (b *tokens) grow(t time.Duration) {
	if missing := 1 - b.held; missing > 0 && b.rate > 0 {
		b.whole = b.at + time.Duration(missing/b.rate*float64(time.Second))
	}
	b.held, b.at = min(1, b.held+b.rate*(t-b.at).Seconds()), t
}

func (b *tokens) change(rate float64) {
	if rate != b.rate {
		b.held = math.Floor(b.held + 1e-6)
	}
	if b.rate = rate; rate == 0 {
		b.held = 0
	}
}

// take says whether there was one.
func (b *tokens) take() bool {
	had := b.held >= 1-max(1e-6, b.rate*1e-3)
	b.held = max(0, b.held-1)
	return had
}

// unpaced: a node is tainted, or emptied, when its zone has a token for it, and while one waits, no token is left.
func (e *explainer) unpaced(zone string) (lines []timeline.Line) {
	b, since := tokens{held: 1, rate: e.settings.NodeEvictionRate}, forever // since when a node waits
	turns, rates, restarts := e.turnsIn(zone), e.rates[zone], e.restarts
	wrong := func(t time.Duration) {
		lines = append(lines, timeline.Line{T: t, Kind: timeline.KindTaint, Zone: zone, Rate: b.rate})
	}
	for t := time.Duration(0); t < e.settings.Until; {
		next := min(t+time.Second, first(turns), first(restarts))
		if look := after(max(b.whole, since), 2*slack); look > t {
			next = min(next, look)
		}
		if len(rates) > 0 {
			next = min(next, rates[0].at)
		}
		t = next
		b.grow(t)
		switch {
		case first(restarts) == t:
			b.held, b.rate, since, restarts = 1, e.settings.NodeEvictionRate, forever, restarts[1:]
		case len(rates) > 0 && rates[0].at == t:
			if b.rate != rates[0].rate {
				since = forever
			}
			b.change(rates[0].rate)
			rates = rates[1:]
		case first(turns) == t:
			if !b.take() {
				wrong(t)
			}
			since, turns = forever, turns[1:]
		case !e.waits(zone, t):
			since = forever
		case since == forever:
			since = t
		case b.rate > 0 && b.held >= 1 && t >= max(b.whole, since)+2*slack+e.unseenTurns(zone, since, b.rate) && !e.unsure(zone, t, b.rate):
			wrong(t)
			since = forever
		}
	}
	return lines
}

func first(times []time.Duration) time.Duration {
	if len(times) == 0 {
		return forever
	}
	return times[0]
}

// unsure says whether tokens may have been spent of which there is no line: on taints that failed, or on pods that were overdue
// when the process began, or began to see again.
func (e *explainer) unsure(zone string, t time.Duration, r float64) bool {
	token := time.Duration(float64(time.Second)/r) + 2*e.settings.NodeMonitorPeriod
	overdue := func(since time.Duration) bool {
		nodes := 0
		for node, of := range e.zoneOf {
			if _, had := during(e.inTurn(node), since); had && of == zone {
				nodes++
			}
		}
		return nodes > 0 && t >= since && t < since+e.settings.NodeMonitorGracePeriod+time.Duration(nodes+1)*token
	}
	for _, s := range e.outages {
		again := 2 * time.Second
		if !s.reads {
			again = e.settings.Interval + looks
		}
		if s.from <= t && t-token <= after(s.to, again) || e.blinds(s) && overdue(s.to) {
			return true
		}
	}
	if !e.settings.TaintBasedEviction && e.written(t-token) > t-token+slack {
		return true
	}
	start := e.started(t)
	return start > 0 && overdue(start)
}

// turnsIn is when the nodes of a zone were tainted, or emptied.
func (e *explainer) turnsIn(zone string) (turns []time.Duration) {
	for node, of := range e.zoneOf {
		if of == zone {
			for _, s := range e.inTurn(node) {
				turns = append(turns, s.from)
			}
		}
	}
	slices.Sort(turns)
	return turns
}

// failedFor is when a node has failed for long enough to be served: at once with taints, else after the timeout, which begins
// anew at a start, and when not every zone is down any more.
func (e *explainer) failedFor(m moment, t time.Duration) time.Duration {
	if e.settings.TaintBasedEviction {
		return m.at
	}
	return max(m.at, e.started(t), e.allUp(t)) + e.settings.PodEvictionTimeout + 2*e.settings.NodeMonitorPeriod + slack
}

// waits says whether a node of the zone has failed and waits for its turn.
func (e *explainer) waits(zone string, t time.Duration) bool {
	if slices.ContainsFunc(e.allDown, func(s span) bool { return s.holds(t) }) {
		return false
	}
	for node, of := range e.zoneOf {
		if of == zone && e.awaitsTurn(node, t) {
			return true
		}
	}
	return false
}

func (e *explainer) awaitsTurn(node string, t time.Duration) bool {
	period, grace := e.settings.NodeMonitorPeriod, e.settings.NodeMonitorGracePeriod
	at, gone := e.removed[node]
	m := e.state(node, t)
	late := slices.ContainsFunc(e.added, func(a moment) bool { return a.name == node && t < a.at+grace+2*period+slack })
	watched := e.watched(node, t)
	if !m.silent { // who says so settles at its first sign of life after the verdict
		watched = t >= e.says(node, m, max(e.allUp(t), e.started(t)))
	}
	if !e.settings.TaintBasedEviction && m.silent && e.lost(node, m.at, m.at) { // its last renewals may be shown late
		return false
	}
	if m.renewed { // it is Unknown until it reports
		watched = watched && t >= m.at+e.settings.StatusInterval+period+slack
	}
	calm := e.calmSilence(t-grace-3*period, t) && (m.silent || e.calm(node, t-grace-3*period, t))
	if gone && at <= t+period || late || !watched || !m.failing || !calm {
		return false
	}
	if _, served := during(e.inTurn(node), t); served || !e.servable(node, t) || t < e.failedFor(m, t) {
		return false
	}
	pass := t
	if !e.settings.TaintBasedEviction { // the pass after that serves it
		pass -= period + slack
	}
	found := e.ours.wrote(about{kind: timeline.KindCondition, node: node}, m.at, pass, anyLine) || t-m.at > 2*max(grace, e.settings.NodeStartupGracePeriod)+3*period && len(e.unheardOf) == 0
	return !m.silent || found
}
