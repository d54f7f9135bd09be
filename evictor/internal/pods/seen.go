package pods

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/taints"
)

// Seen are the NoExecute taints of a node, in its order, each with the start of its count and the last TimeAdded it was seen
// with. It is a value: Observe makes a new one.
type Seen []taints.Begun

// Observe compares the node with what was seen before and says whether a taint came, went or began anew.
//
// A taint that comes counts from now, or, when the node was not watched before, from its plausible start. One that was there
// before (the same key and value) goes on counting, unless it has another TimeAdded, plausibly later than that start: then it went
// and came back while nobody looked, and counts from there. That it is later than the TimeAdded before is not asked, which may have
// been in the future. The same holds for a swap of ours, from not-ready to unreachable or back: it is one outage where TimeAdded
// came along. No start is ever set back. ahead is by how much now is ahead of the clock, by which TimeAdded is told.
func (s Seen) Observe(node *v1.Node, watched bool, own func(*v1.Taint) bool, now time.Time, ahead time.Duration) (current Seen, changed bool) {
	for i := range node.Spec.Taints {
		t := &node.Spec.Taints[i]
		if t.Effect != v1.TaintEffectNoExecute {
			continue
		}
		plausible := taints.PlausibleStart(t, node.CreationTimestamp.Time, now.Add(-ahead)).Add(ahead)
		seen := taints.Begun{Taint: v1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect, TimeAdded: t.TimeAdded.DeepCopy()}, Start: now}
		if !watched {
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

// before finds the taint as it was seen before or, of two of ours, the one that it took the place of.
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

// Has says whether the taint is still there, or of two of ours the one that took its place.
func (s Seen) Has(t *v1.Taint, own func(*v1.Taint) bool) bool { return s.before(t, own) != nil }

// Outage is the TimeAdded to give to a taint of ours that takes the place of another, which the node carries without one: the start
// of that. Without it the new one would seem to be another outage. It is nil where a taint has a time that it can hand on.
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
