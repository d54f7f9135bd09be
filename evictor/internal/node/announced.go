package node

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// announcements are the conditions of KEP-5683, the most telling first. k8s.io/api names them from v0.37 on.
var announcements = [...]v1.NodeConditionType{"MaintenanceInProgress", "GracefulNodeShutdownInProgress", "DrainInProgress", "Drained", "MaintenancePlanned"}

// announcement is what a node's conditions say of maintenance. One that changes from one condition to another goes on.
type announcement struct {
	by    v1.NodeConditionType // empty for none
	since time.Time            // when it was first seen, in our time
}

// seen is the announcement after a look at the node's object.
func (a announcement) seen(object *v1.Node, now time.Time) announcement {
	for _, kind := range announcements {
		for i := range object.Status.Conditions {
			if c := &object.Status.Conditions[i]; c.Type == kind && c.Status == v1.ConditionTrue {
				if a.by == "" {
					a.since = now
				}
				return announcement{kind, a.since}
			}
		}
	}
	return announcement{}
}

// Announced returns the condition that announces maintenance of the node, empty for none: a condition carries no end, so
// it is believed for World.MaxAnnounced at most.
func (r *Record) Announced(w World) string {
	if r.announced.by != "" && w.Now.Before(r.announced.since.Add(w.MaxAnnounced)) {
		return string(r.announced.by)
	}
	return ""
}
