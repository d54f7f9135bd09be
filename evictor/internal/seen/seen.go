// Package seen remembers when the NoExecute taints of a node began.
package seen

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/taints"
)

// Taints holds the NoExecute taints of a node in the node's order, each with the start of its count and the last TimeAdded it
// was seen with. It is a value: Observe returns a new one.
type Taints []taints.Begun

// Observe compares the node with what was seen before, and says whether a taint came, went or began anew.
//
// A new taint counts from now or, if the node was not watched before, from its plausible start. A taint that was there
// before (same key and value) keeps its start, unless it has another TimeAdded that is plausibly later than that start:
// then it went and came back unseen, and counts from there. The new TimeAdded is not compared with the old one, which may
// have been in the future. The same rule applies to a swap of our taints, from not-ready to unreachable or back: it is the
// same outage if TimeAdded was carried over. A start is never set back. ahead is how far now is ahead of the clock, by
// which TimeAdded is set.
func (s Taints) Observe(node *v1.Node, running bool, own func(*v1.Taint) bool, now time.Time, ahead time.Duration) (current Taints, changed bool) {
	was := memory{seen: s}
	for i := range node.Spec.Taints {
		t := &node.Spec.Taints[i]
		if t.Effect != v1.TaintEffectNoExecute {
			continue
		}
		plausible := taints.PlausibleStart(t, node.CreationTimestamp.Time, now.Add(-ahead)).Add(ahead)
		seen := taints.Begun{Taint: v1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect, TimeAdded: t.TimeAdded.DeepCopy()}, Start: now}
		if !running {
			seen.Start = plausible
		}
		before := was.before(len(current), t, own)
		if before != nil {
			seen.Start = before.Start
			if t.TimeAdded == nil {
				seen.Taint.TimeAdded = before.Taint.TimeAdded
			} else if !t.TimeAdded.Equal(before.Taint.TimeAdded) && plausible.After(before.Start) {
				seen.Start = plausible
			}
		}
		changed = changed || before == nil || !Same(&before.Taint, t) || !seen.Start.Equal(before.Start)
		current = append(current, seen)
	}
	return current, changed || len(current) != len(s)
}

// memory looks up what was seen before. Most often the taints come in the same order again, so that nothing is searched.
type memory struct {
	seen  Taints
	at    map[id]int    // made by the first search
	swaps *taints.Begun // the last begun of ours
}

type id struct{ key, value string }

// before returns the i-th taint as it was seen before or, for one of ours, the one of ours that it replaces.
func (m *memory) before(i int, t *v1.Taint, own func(*v1.Taint) bool) *taints.Begun {
	if i < len(m.seen) && Same(&m.seen[i].Taint, t) {
		return &m.seen[i]
	}
	if m.at == nil {
		m.at = make(map[id]int, len(m.seen))
		for i := range m.seen {
			was := &m.seen[i]
			if _, twice := m.at[id{was.Taint.Key, was.Taint.Value}]; !twice {
				m.at[id{was.Taint.Key, was.Taint.Value}] = i
			}
			if own(&was.Taint) && (m.swaps == nil || was.Start.After(m.swaps.Start)) {
				m.swaps = was
			}
		}
	}
	if i, ok := m.at[id{t.Key, t.Value}]; ok {
		return &m.seen[i]
	}
	if own(t) {
		return m.swaps
	}
	return nil
}

// Has says whether the taint is still there or, for one of ours, another of ours that replaced it.
func (s Taints) Has(t *v1.Taint, own func(*v1.Taint) bool) bool {
	m := memory{seen: s}
	return m.before(len(s), t, own) != nil
}

// Outage returns the TimeAdded for a taint of ours that replaces another of ours which has no TimeAdded on the node: the
// start of the replaced one. Without it the new taint would look like another outage. It is nil if a taint of ours on the
// node has a TimeAdded, which is then carried over.
func (s Taints) Outage(have []v1.Taint, own func(*v1.Taint) bool, ahead time.Duration) *metav1.Time {
	for i := range have {
		if own(&have[i]) && have[i].TimeAdded != nil {
			return nil
		}
	}
	var since *metav1.Time
	for i := range s {
		if start := metav1.NewTime(s[i].Start.Add(-ahead).Truncate(time.Second)); own(&s[i].Taint) && (since == nil || start.Before(since)) {
			since = &start
		}
	}
	return since
}

// Same says whether two taints have the same key and value.
func Same(a, b *v1.Taint) bool { return a.Key == b.Key && a.Value == b.Value }
