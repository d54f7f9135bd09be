package taints

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Change is what to add to and remove from a node's taints. A taint is known by its key and effect, as
// the API server has each pair once; what is in both lists is replaced. The zero Change changes nothing.
type Change struct {
	Add, Remove []v1.Taint
}

// Empty says whether there is nothing to change, and so nothing to write.
func (c Change) Empty() bool { return len(c.Add) == 0 && len(c.Remove) == 0 }

// Diff returns the change after which have holds all of want, and of the managed taints nothing else.
// What is neither wanted nor managed is left alone; a nil managed manages everything. Taints are the
// same by key and effect; where the value differs the wanted one is added, which replaces. TimeAdded is
// not compared, so that a taint that is wanted still keeps its time. Of a pair that want names more than
// once the first counts. Without a change nothing is allocated.
func Diff(have, want []v1.Taint, managed func(*v1.Taint) bool) Change {
	var c Change
	for i := range want {
		if j := find(have, &want[i]); (j < 0 || have[j].Value != want[i].Value) && find(want, &want[i]) == i {
			c.Add = append(c.Add, want[i])
		}
	}
	for i := range have {
		if (managed == nil || managed(&have[i])) && find(want, &have[i]) < 0 {
			c.Remove = append(c.Remove, have[i])
		}
	}
	return c
}

// find is the index of the taint of the same key and effect, or -1.
func find(list []v1.Taint, t *v1.Taint) int {
	for i := range list {
		if list[i].Key == t.Key && list[i].Effect == t.Effect {
			return i
		}
	}
	return -1
}

// Apply returns the taints after the change, in a new slice that shares only TimeAdded pointers: what
// stays keeps its order and its TimeAdded, a replaced taint keeps its place, what is new comes last.
//
// A new or replaced NoExecute taint without TimeAdded gets now, cut to seconds as the API encodes it. One
// of the two for unready nodes (OwnNoExecute) gets the time of the one that the node has already, most
// often because it takes its place: it is the same outage, and the pods' time runs on.
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

// outageSince is since when the node carries a taint for unready nodes, nil when it carries none or the
// time is not known.
func outageSince(have []v1.Taint) *metav1.Time {
	var since *metav1.Time
	for i := range have {
		if t := &have[i]; OwnNoExecute(t) && t.TimeAdded != nil && (since == nil || t.TimeAdded.Before(since)) {
			since = t.TimeAdded
		}
	}
	return since
}
