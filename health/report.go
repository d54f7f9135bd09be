package health

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// report is what a Monitor reads from a node.
type report struct {
	// Node is the name; UID tells nodes with the same name apart. An empty UID matches any. One that is learned late is
	// adopted, and a report without one does not erase it.
	Node string
	UID  types.UID
	// ResourceVersion orders the reports of one node if it is a decimal number. Any other value, or none, is not
	// compared.
	ResourceVersion string
	// Created is when the node was created. It matters only without a Ready status: from then on the node may be
	// silent for the startup grace. Zero counts as now.
	Created time.Time
	// Ready is the status that the node reports about itself. Empty: it has not reported anything yet.
	Ready v1.ConditionStatus
	// Heartbeat is the time that the node wrote with the report, by its own clock. If it differs from the last one, that
	// is a sign of life.
	Heartbeat time.Time
	// Transition is the time that the node wrote with its last change of Ready.
	Transition time.Time
}

// reportOf makes a report from a node's object.
func reportOf(node *v1.Node) report {
	if node == nil {
		panic("health: ObserveNode was given no node: it is nil") //nolint:forbidigo // a bug of the caller's
	}
	r := report{Node: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion, Created: node.CreationTimestamp.Time}
	if ready := find(node, v1.NodeReady); ready != nil {
		r.Ready, r.Heartbeat, r.Transition = ready.Status, ready.LastHeartbeatTime.Time, ready.LastTransitionTime.Time
		if r.Ready == "" {
			r.Ready = v1.ConditionUnknown
		}
	}
	return r
}
