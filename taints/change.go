package taints

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Change is what to add to a node's taints and what to remove from them. Key and effect identify a taint, because the
// API server allows each pair once. Ask [Change.Empty] first, then [Change.Patch]. The zero Change changes nothing.
type Change struct {
	Add, Remove []v1.Taint
}

// Empty reports whether there is nothing to change, and so nothing to write.
func (c Change) Empty() bool { return len(c.Add) == 0 && len(c.Remove) == 0 }

// Diff returns the change after which a node with the taints have has all of want and no other managed taints. It
// leaves taints alone that are neither wanted nor managed; if managed is nil, all are managed. It compares taints by
// key and effect. If the value differs, the wanted taint is in Add and the old one in Remove; upstream's TaintSetDiff
// leaves the old one alone. It does not compare TimeAdded, so a taint that is still wanted keeps its time. If want has
// a key and effect more than once, the first counts. Add is in the order of want, Remove in that of have. Without a change,
// Diff allocates nothing.
func Diff(have, want []v1.Taint, managed func(*v1.Taint) bool) Change {
	var c Change
	for i := range want {
		if j := find(have, &want[i]); (j < 0 || have[j].Value != want[i].Value) && find(want, &want[i]) == i {
			c.Add = append(c.Add, want[i])
		}
	}
	for i := range have {
		wanted := find(want, &have[i])
		if wanted < 0 && (managed == nil || managed(&have[i])) || wanted >= 0 && have[i].Value != want[wanted].Value {
			c.Remove = append(c.Remove, have[i])
		}
	}
	return c
}

// find returns the index of the taint with the same key and effect, or -1.
func find(list []v1.Taint, t *v1.Taint) int {
	for i := range list {
		if list[i].Key == t.Key && list[i].Effect == t.Effect {
			return i
		}
	}
	return -1
}

// Apply returns the taints after the change, never nil, in a new slice that shares only TimeAdded pointers. Taints that
// stay keep their order and their TimeAdded, and new ones come last. A taint of Add whose key and effect the node has
// already is not new: it stays if its value is the same, else it is replaced in its place, whatever Remove says. Add must
// have each key and effect once, as Diff makes it.
//
// A new or replaced taint that brings a TimeAdded keeps it. A NoExecute taint without one gets now, truncated to seconds as
// the API encodes it. But for a not-ready or unreachable one (OwnNoExecute) that is the earliest TimeAdded of these two that
// the node has, even on a taint that the change removes. It is the same outage, and the time that pods have left runs on.
func (c Change) Apply(have []v1.Taint, now time.Time) []v1.Taint {
	outage := outageSince(have)
	result := make([]v1.Taint, 0, len(have)+len(c.Add))
	for i := range have {
		if find(c.Remove, &have[i]) < 0 || find(c.Add, &have[i]) >= 0 {
			result = append(result, have[i])
		}
	}
	for _, t := range c.Add {
		at := find(result, &t)
		if at >= 0 && result[at].Value == t.Value {
			continue
		}
		if t.Effect == v1.TaintEffectNoExecute && t.TimeAdded == nil {
			added := metav1.NewTime(now.Truncate(time.Second))
			if OwnNoExecute(&t) && outage != nil {
				added = *outage
			}
			t.TimeAdded = &added
		}
		if at >= 0 {
			result[at] = t
		} else {
			result = append(result, t)
		}
	}
	return result
}

// outageSince returns since when the node has had a not-ready or unreachable taint, nil if it has none or the time is not
// known.
func outageSince(have []v1.Taint) *metav1.Time {
	var since *metav1.Time
	for i := range have {
		if t := &have[i]; OwnNoExecute(t) && t.TimeAdded != nil && (since == nil || t.TimeAdded.Before(since)) {
			since = t.TimeAdded
		}
	}
	return since
}
