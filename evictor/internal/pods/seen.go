package pods

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/taints"
)

// Seen holds the NoExecute taints of a node in the node's order, each with the start of its count and the last TimeAdded it
// was seen with. It is a value: Observe returns a new one.
type Seen []taints.Begun

// Observe compares the node with what was seen before, and says whether a taint came, went or began anew.
//
// A new taint counts from now or, if the node was not watched before, from its plausible start. A taint that was there
// before (same key and value) keeps its start, unless it has another TimeAdded that is plausibly later than that start:
// then it went and came back unseen, and counts from there. The new TimeAdded is not compared with the old one, which may
// have been in the future. The same rule applies to a swap of our taints, from not-ready to unreachable or back: it is the
// same outage if TimeAdded was carried over. A start is never set back. ahead is how far now is ahead of the clock, by
// which TimeAdded is set.
func (s Seen) Observe(node *v1.Node, running bool, own func(*v1.Taint) bool, now time.Time, ahead time.Duration) (current Seen, changed bool) {
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
		was := s.before(t, own)
		if was != nil {
			seen.Start = was.Start
			if t.TimeAdded == nil {
				seen.Taint.TimeAdded = was.Taint.TimeAdded
			} else if !t.TimeAdded.Equal(was.Taint.TimeAdded) && plausible.After(was.Start) {
				seen.Start = plausible
			}
		}
		changed = changed || was == nil || !same(&was.Taint, t) || !seen.Start.Equal(was.Start)
		current = append(current, seen)
	}
	return current, changed || len(current) != len(s)
}

// before returns the taint as it was seen before or, for one of ours, the one of ours that it replaces.
func (s Seen) before(t *v1.Taint, own func(*v1.Taint) bool) (swapped *taints.Begun) {
	for i := range s {
		if same(&s[i].Taint, t) {
			return &s[i]
		}
		if own(t) && own(&s[i].Taint) && (swapped == nil || s[i].Start.After(swapped.Start)) {
			swapped = &s[i]
		}
	}
	return swapped
}

// Has says whether the taint is still there or, for one of ours, another of ours that replaced it.
func (s Seen) Has(t *v1.Taint, own func(*v1.Taint) bool) bool { return s.before(t, own) != nil }

// Outage returns the TimeAdded for a taint of ours that replaces another of ours which has no TimeAdded on the node: the
// start of the replaced one. Without it the new taint would look like another outage. It is nil if a taint of ours on the
// node has a TimeAdded, which is then carried over.
func (s Seen) Outage(have []v1.Taint, own func(*v1.Taint) bool, ahead time.Duration) *metav1.Time {
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

func same(a, b *v1.Taint) bool { return a.Key == b.Key && a.Value == b.Value }
