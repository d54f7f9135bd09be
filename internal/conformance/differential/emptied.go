package differential

import (
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// inTurn is when a node had its turn: while it has our taint, or, without taints, from its first eviction until it is back.
func (e *explainer) inTurn(node string) (spans []span) {
	if e.settings.TaintBasedEviction {
		return e.worn(node)
	}
	for _, l := range e.ours[about{kind: timeline.KindEvict, node: node}] {
		if _, had := during(spans, l.T); had {
			continue
		}
		s := span{l.T, forever}
		if i := slices.IndexFunc(e.health[node], func(m moment) bool { return m.at > l.T && !m.failing }); i >= 0 {
			s.to = e.health[node][i].at
		}
		spans = append(spans, s)
	}
	return spans
}

// servable says whether there is a line when the node has its turn then: it gets a taint, or has a pod to evict.
func (e *explainer) servable(node string, t time.Duration) bool {
	return e.settings.TaintBasedEviction || slices.ContainsFunc(e.tolerants(), func(p tolerant) bool { return p.node == node && !p.daemon && e.stays(p, t) })
}

// stays says whether a pod is there then.
func (e *explainer) stays(p tolerant, t time.Duration) bool {
	return p.from < t && t < p.to && !e.ours.wrote(about{kind: timeline.KindEvict, node: p.node, pod: p.name}, 0, t, anyLine)
}

// unseenTurns is how long, without taints, a node may wait longer than it seems: each node of its zone that has failed and has no
// pods has a turn of which there is no line.
func (e *explainer) unseenTurns(zone string, since time.Duration, rate float64) time.Duration {
	n := 0
	for node, of := range e.zoneOf {
		failed := e.state(node, 0).failing || slices.ContainsFunc(e.health[node], func(m moment) bool { return m.failing && m.at <= since })
		if of == zone && failed && !e.servable(node, since) {
			n++
		}
	}
	return time.Duration(float64(n) * float64(time.Second) / rate)
}

// stayed: without taints, all pods leave a node when it has its turn, but for those of DaemonSets.
func (e *explainer) stayed() (lines []timeline.Line) {
	for _, p := range e.tolerants() {
		for _, s := range e.inTurn(p.node) {
			if at := s.from + slack; e.stays(p, at) && p.from < s.from && at < s.to && !p.daemon && !e.outage(s.from, at) {
				lines = append(lines, timeline.Line{T: s.from, Kind: timeline.KindEvict, Node: p.node, Pod: p.name})
			}
		}
	}
	return lines
}
