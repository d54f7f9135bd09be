package evictor_test

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/budget"
)

// Trials: what the model knows of a bound on Unproven. The program judges nothing, so what proves an act is that its time
// passes, and what fails it is that or a false alarm.

// trial is over for a trial.
func (m *livesMind) trial(in livesGroup, next *livesNode, total [2]int64) (surely, perhaps bool) {
	now, slack, bound := m.world.now, m.world.slack+time.Second, in.bound
	open, proved := map[string]bool{}, int64(0)
	for _, b := range m.begun[in] {
		age := now.Sub(b.first)
		if m.away(b) && age < bound.Within-slack {
			open[b.node] = true
		}
		if age >= bound.Within-slack && bound.Unjudged == budget.Proved {
			proved++
		}
		perhaps = perhaps || now.Sub(b.last) < bound.Within+max(bound.Cooldown, bound.MaxCooldown)+2*time.Minute
	}
	for _, known := range m.nodes { // a turn with nothing to do begins, too
		group, is := m.in(bound, known)
		perhaps = perhaps || is && group == in && m.idle(known)
	}
	unproven, least := int64(len(open)), min(1, bound.Max.Of(total[0]))
	if next != nil && !m.triedIn(in, next.object.Name) {
		unproven++
	}
	if next != nil {
		least--
	}
	failed := m.failures[in]
	surely = unproven > min(1+proved, bound.Max.Of(total[1])) || !failed.IsZero() && now.Sub(failed) < bound.Cooldown-slack
	return surely, perhaps || least < 0
}

// triedIn says whether anything was begun on a node of that name, which may count already.
func (m *livesMind) triedIn(in livesGroup, node string) bool {
	for _, b := range m.begun[in] {
		if b.node == node {
			return true
		}
	}
	return false
}

// away says whether a node has surely been acted on since then, and was never back.
func (m *livesMind) away(b livesBegun) bool {
	known := m.nodes[b.node]
	if known == nil || known.acts.IsZero() || b.first.Before(known.acts) || !known.good.Before(known.acts) {
		return false
	}
	surely, _ := m.acting(known)
	return surely && known.verdict != v1.ConditionTrue
}

// podLeft is told of each eviction that the API server has made: our own taints or emptying have caused it, if nobody else's
// have.
func (m *livesMind) podLeft(node string) {
	if known := m.nodes[node]; known != nil && known.left.IsZero() && !known.acts.IsZero() {
		known.left = m.world.now
	}
}

// alarms notes after each pass which acts have surely turned out to be false alarms.
func (m *livesMind) alarms() {
	now, slack := m.world.now, m.world.slack+time.Second
	for name, known := range m.nodes {
		if known.acts.IsZero() {
			known.left = time.Time{}
		}
		if known.left.IsZero() || known.verdict != v1.ConditionTrue || m.isSilent(known) || m.process.blind != nil {
			continue
		}
		for in, begun := range m.begun {
			for _, b := range begun {
				open := in.bound.Of == budget.Unproven && b.node == name && !b.first.Before(known.acts) && now.Sub(b.first) < in.bound.Within-slack
				if open && now.Sub(known.left) < m.grace()-slack {
					m.failures[in] = now
				}
			}
		}
		known.left = time.Time{}
	}
}
