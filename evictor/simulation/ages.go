package simulation

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor/simulation/internal/placement"
)

// Objects may be of any date, and time 0 is that of a cluster which was just read: the newest time in the objects. Those of
// later dates than Epoch are moved back by the same time, so that each object, taint and condition keeps its age.

// dated notes a time in an object.
func (c *cluster) dated(at metav1.Time) {
	if at.After(c.newest) {
		c.newest = at.Time
	}
}

func (c *cluster) nodeDated(object *v1.Node) {
	c.dated(object.CreationTimestamp)
	for i := range object.Spec.Taints {
		if added := object.Spec.Taints[i].TimeAdded; added != nil {
			c.dated(*added)
		}
	}
	for i := range object.Status.Conditions {
		c.dated(object.Status.Conditions[i].LastHeartbeatTime)
		c.dated(object.Status.Conditions[i].LastTransitionTime)
	}
}

func (c *cluster) podDated(object *v1.Pod) {
	c.dated(object.CreationTimestamp)
	if object.Status.StartTime != nil {
		c.dated(*object.Status.StartTime)
	}
	for i := range object.Status.Conditions {
		c.dated(object.Status.Conditions[i].LastTransitionTime)
	}
}

// keepAges moves the times of all objects back if the newest is later than Epoch. A pod was bound when its object says so, and a
// node is silent at least since it is Unknown. One without a date is from time 0: an API server dates each object that it is given.
func (c *cluster) keepAges() {
	if by := c.newest.Sub(Epoch); by > 0 {
		c.moveBack(by)
	}
	for i := range c.nodes {
		n := &c.nodes[i]
		if at := placement.FindCondition(n.Conditions, v1.NodeReady); n.failed && at >= 0 && !n.Conditions[at].LastTransitionTime.IsZero() {
			n.failedAt = int64(min(n.Conditions[at].LastTransitionTime.Sub(Epoch), 0))
		}
	}
	for i := range c.pods {
		if p := &c.pods[i]; p.object != nil {
			if p.object.created.IsZero() {
				p.object.created = stamp(0)
			}
			p.bound = int64(p.object.boundBefore())
		}
	}
}

func (c *cluster) moveBack(by time.Duration) {
	back := func(at *metav1.Time) {
		if !at.IsZero() {
			*at = metav1.NewTime(at.Add(-by))
		}
	}
	for i := range c.nodes {
		n := &c.nodes[i]
		back(&n.created)
		n.Taints = slices.Clone(n.Taints) // these are the caller's
		for k := range n.Taints {
			if t := &n.Taints[k]; t.TimeAdded != nil {
				t.TimeAdded = t.TimeAdded.DeepCopy()
				back(t.TimeAdded)
			}
		}
		if n.reported >= 0 {
			continue // the object has no conditions: the kubelet has reported at time 0
		}
		n.Conditions = slices.Clone(n.Conditions)
		for k := range n.Conditions {
			back(&n.Conditions[k].LastHeartbeatTime)
			back(&n.Conditions[k].LastTransitionTime)
		}
	}
	for i := range c.pods {
		if at := c.pods[i].object; at != nil {
			back(&at.created)
			back(&at.scheduled)
			back(&at.started)
		}
	}
}

// boundBefore is when a pod of an object was bound, as controllers that have just started see it: at time 0 at the latest.
func (t *podTimes) boundBefore() time.Duration {
	for _, at := range [...]metav1.Time{t.scheduled, t.started, t.created} {
		if !at.IsZero() {
			return min(at.Sub(Epoch), 0)
		}
	}
	return 0
}
