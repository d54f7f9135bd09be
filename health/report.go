package health

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Report is what a Monitor reads of a node: what ObserveNode takes from its object, and what somebody else who is not a
// v1.Node may say instead, such as a member cluster, an edge site or a virtual machine.
type Report struct {
	// Node is the name; UID tells it from another of that name. None never differs, is adopted when it is learned
	// later, and never erased.
	Node string
	UID  types.UID
	// ResourceVersion orders reports of one node, if it is a decimal number. None compares with nothing.
	ResourceVersion string
	// Created is when the node was created. It matters only without a Ready status: from then on it may be silent for
	// the startup grace. Zero counts as now.
	Created time.Time
	// Ready is the status that the node gives of itself. Empty: it has not said anything yet.
	Ready v1.ConditionStatus
	// Heartbeat is the time that the node wrote with the report, by whatever clock. One that differs from the last is a
	// sign of life. Whoever is told by the node itself puts in when.
	Heartbeat time.Time
	// Transition is the time that the node wrote with its last change of Ready.
	Transition time.Time
}

// reportOf reads a node's object.
func reportOf(node *v1.Node) Report {
	r := Report{Node: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion, Created: node.CreationTimestamp.Time}
	if ready := find(node, v1.NodeReady); ready != nil {
		r.Ready, r.Heartbeat, r.Transition = ready.Status, ready.LastHeartbeatTime.Time, ready.LastTransitionTime.Time
		if r.Ready == "" {
			r.Ready = v1.ConditionUnknown
		}
	}
	return r
}
