package health

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The reasons and messages of the conditions that UnknownConditions gives, as kube-controller-manager writes them.
const (
	reasonNeverUpdated   = "NodeStatusNeverUpdated"
	reasonStatusUnknown  = "NodeStatusUnknown"
	messageNeverUpdated  = "Kubelet never posted node status."
	messageStatusUnknown = "Kubelet stopped posting node status."
)

var kubeletConditions = [...]v1.NodeConditionType{v1.NodeReady, v1.NodeMemoryPressure, v1.NodeDiskPressure, v1.NodePIDPressure}

// UnknownConditions returns the conditions to write for a silent node: of the four that a kubelet reports, those that
// are not Unknown already, set to Unknown as of now; nil if there are none. A condition that was never reported gets
// the node's creation time as its heartbeat; the others keep theirs. The node is not changed.
func UnknownConditions(node *v1.Node, now time.Time) []v1.NodeCondition {
	if node == nil {
		panic("health: UnknownConditions was given no node: it is nil") //nolint:forbidigo // a bug of the caller's
	}
	var write []v1.NodeCondition
	for _, kind := range kubeletConditions {
		c := v1.NodeCondition{Type: kind, Reason: reasonNeverUpdated, Message: messageNeverUpdated, LastHeartbeatTime: node.CreationTimestamp}
		if have := find(node, kind); have != nil {
			if have.Status == v1.ConditionUnknown {
				continue
			}
			c = *have
			c.Reason, c.Message = reasonStatusUnknown, messageStatusUnknown
		}
		c.Status, c.LastTransitionTime = v1.ConditionUnknown, metav1.NewTime(now)
		write = append(write, c)
	}
	return write
}

func find(node *v1.Node, kind v1.NodeConditionType) *v1.NodeCondition {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == kind {
			return &node.Status.Conditions[i]
		}
	}
	return nil
}
