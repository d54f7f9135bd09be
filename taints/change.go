package taints

import (
	"encoding/json"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Change is what to add to and remove from a node's taints. A taint is known by its key and effect:
// adding one that is there with another value replaces it. The zero Change changes nothing.
type Change struct {
	Add, Remove []v1.Taint
}

// Empty says whether there is nothing to change, and so nothing to write.
func (c Change) Empty() bool { return len(c.Add) == 0 && len(c.Remove) == 0 }

// Diff returns the change that makes those taints of have that are managed equal to want. Taints that
// are not managed stay, whatever they are; nil manages all. TimeAdded is not compared: a taint that is
// wanted again unchanged is no change.
func Diff(have, want []v1.Taint, managed func(*v1.Taint) bool) Change {
	var c Change
	for i := range want {
		if j := find(have, &want[i]); j < 0 || have[j].Value != want[i].Value {
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

func find(list []v1.Taint, t *v1.Taint) int {
	for i := range list {
		if list[i].Key == t.Key && list[i].Effect == t.Effect {
			return i
		}
	}
	return -1
}

// Apply returns the taints after the change, in a new slice: what stays keeps its order and its
// TimeAdded, a replaced taint keeps its place, what is new comes last. A new NoExecute taint without
// TimeAdded gets now, cut to seconds as the API does; when it takes the place of the other of the two
// for unready nodes, it gets that one's time, because it is the same outage. have is not changed.
func (c Change) Apply(have []v1.Taint, now time.Time) []v1.Taint {
	outage := c.outageSince(have)
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

// outageSince is the time of the taint for unready nodes that the change removes, if any.
func (c Change) outageSince(have []v1.Taint) *metav1.Time {
	for i := range have {
		if OwnNoExecute(&have[i]) && have[i].TimeAdded != nil && find(c.Remove, &have[i]) >= 0 {
			return have[i].TimeAdded
		}
	}
	return nil
}

// Patch is the body of a JSON merge patch that writes the taints after the change. The UID and the
// resourceVersion, where they are not empty, are preconditions: the server answers Conflict when the
// node was replaced or changed since it was read. The whole list is written, so a resourceVersion
// should be given wherever somebody else writes taints too.
func (c Change) Patch(have []v1.Taint, uid types.UID, resourceVersion string, now time.Time) ([]byte, error) {
	type metadata struct {
		UID             types.UID `json:"uid,omitempty"`
		ResourceVersion string    `json:"resourceVersion,omitempty"`
	}
	type spec struct {
		Taints []v1.Taint `json:"taints"`
	}
	body, err := json.Marshal(struct {
		Metadata metadata `json:"metadata"`
		Spec     spec     `json:"spec"`
	}{metadata{uid, resourceVersion}, spec{c.Apply(have, now)}})
	if err != nil {
		return nil, fmt.Errorf("taints: patch: %w", err)
	}
	return body, nil
}
