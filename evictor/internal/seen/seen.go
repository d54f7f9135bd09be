// Package seen remembers when the NoExecute taints of a node began.
package seen

import (
	"slices"
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
// have been in the future. A start is never set back. ahead is how far now is ahead of the clock, by which TimeAdded is set.
//
// A swap of our taints, from not-ready to unreachable or back, counts from now, in the same outage, if its TimeAdded was
// carried over or both are there for a moment. With a later TimeAdded alone, another outage has begun. If the node was not
// watched before, a swap is taken to be as late as it may have been.
func (s Taints) Observe(node *v1.Node, running bool, now time.Time, ahead time.Duration) (current Taints, changed bool) {
	for i := range node.Spec.Taints {
		t := &node.Spec.Taints[i]
		if t.Effect != v1.TaintEffectNoExecute {
			continue
		}
		plausible := now.Add(taints.PlausibleStart(t, node.CreationTimestamp.Time, now.Add(-ahead)).Sub(now.Add(-ahead))) // an age, however the clock is set
		seen := taints.Begun{Taint: v1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect, TimeAdded: t.TimeAdded.DeepCopy()}, Start: now}
		before, swap := s.before(len(current), t)
		switch {
		case !running && taints.OwnNoExecute(t):
			seen.Start, seen.Outage = swapped(node, plausible, now, ahead), plausible
		case !running:
			seen.Start = plausible
		case before == nil:
		case swap:
			seen.Outage = began(before)
			if carried := t.TimeAdded == nil || t.TimeAdded.Equal(before.Taint.TimeAdded) || !plausible.After(seen.Outage); !carried && !there(node, before) {
				seen.Start, seen.Outage = plausible, time.Time{}
			} else if t.TimeAdded == nil {
				seen.Taint.TimeAdded = before.Taint.TimeAdded
			}
		case taints.OwnNoExecute(t) && len(s) > 1 && !Same(&s.last().Taint, t) && !there(node, s.last()):
			// the one of ours that came after it has gone: a swap, too
			seen.Start, seen.Outage = now, began(before)
		default:
			seen.Start, seen.Outage = before.Start, before.Outage
			if t.TimeAdded == nil {
				seen.Taint.TimeAdded = before.Taint.TimeAdded
			} else if !t.TimeAdded.Equal(before.Taint.TimeAdded) && plausible.After(before.Start) {
				seen.Start, seen.Outage = plausible, time.Time{}
			}
		}
		changed = changed || before == nil || swap || !seen.Start.Equal(before.Start)
		current = append(current, seen)
	}
	return current, changed || len(current) != len(s)
}

// began is when the outage of a taint of ours began.
func began(t *taints.Begun) time.Time {
	if !t.Outage.IsZero() {
		return t.Outage
	}
	return t.Start
}

// last returns the one of ours that came last, nil if there is none.
func (s Taints) last() (last *taints.Begun) {
	for i := range s {
		if taints.OwnNoExecute(&s[i].Taint) && (last == nil || s[i].Start.After(last.Start)) {
			last = &s[i]
		}
	}
	return last
}

// there says whether the node still has the taint.
func there(node *v1.Node, was *taints.Begun) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Effect == was.Taint.Effect && Same(&t, &was.Taint) })
}

// swapped is when our taint may last have replaced the other, on a node that was not watched: when its Ready condition became
// Unknown, if that is so and was in this outage, because a controller wrote it; else now.
func swapped(node *v1.Node, outage, now time.Time, ahead time.Duration) time.Time {
	for i := range node.Status.Conditions {
		c := &node.Status.Conditions[i]
		at := now.Add(c.LastTransitionTime.Sub(now.Add(-ahead)))
		if c.Type == v1.NodeReady && c.Status == v1.ConditionUnknown && !at.Before(outage) && !at.After(now) {
			return at
		}
	}
	return now
}

// before returns the i-th taint as it was seen before or, for one of ours, the one of ours that it replaces: a swap. Most often
// the taints come in the same order again, so that nothing is searched.
func (s Taints) before(i int, t *v1.Taint) (was *taints.Begun, swap bool) {
	if i >= len(s) || !Same(&s[i].Taint, t) {
		i = slices.IndexFunc(s, func(b taints.Begun) bool { return Same(&b.Taint, t) })
	}
	switch {
	case i >= 0:
		return &s[i], false
	case taints.OwnNoExecute(t):
		was = s.last()
	}
	return was, was != nil
}

// Has says whether the taint is still there or, for one of ours, another of ours that replaced it.
func (s Taints) Has(t *v1.Taint) bool {
	was, _ := s.before(len(s), t)
	return was != nil
}

// Outage returns the TimeAdded for a taint of ours that replaces another of ours which has no TimeAdded on the node: the
// start of the replaced one. Without it the new taint would look like another outage. It is nil if a taint of ours on the
// node has a TimeAdded, which is then carried over.
func (s Taints) Outage(have []v1.Taint, ahead time.Duration) *metav1.Time {
	for i := range have {
		if taints.OwnNoExecute(&have[i]) && have[i].TimeAdded != nil {
			return nil
		}
	}
	var since *metav1.Time
	for i := range s {
		if start := metav1.NewTime(began(&s[i]).Add(-ahead).Truncate(time.Second)); taints.OwnNoExecute(&s[i].Taint) && (since == nil || start.Before(since)) {
			since = &start
		}
	}
	return since
}

// Same says whether two taints have the same key and value.
func Same(a, b *v1.Taint) bool { return a.Key == b.Key && a.Value == b.Value }
