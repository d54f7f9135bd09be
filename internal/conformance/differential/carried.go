package differential

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

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
