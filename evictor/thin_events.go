//go:build thin

package evictor

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// What Event.Reason may be, spelled as upstream spells it.
const (
	EventRegisteredNode         = "RegisteredNode"
	EventRemovingNode           = "RemovingNode"
	EventNodeNotReady           = "NodeNotReady"
	EventTaintManagerEviction   = "TaintManagerEviction"
	EventNodeControllerEviction = "NodeControllerEviction"
	EventDeletingAllPods        = "DeletingAllPods"
)

// eventOf returns the event that upstream records for such a decision, if any. Unlike upstream's, it follows the
// outcome: "Marking for deletion" is recorded only once the pod was deleted.
func eventOf(d Decision) (Event, bool) {
	event := Event{Node: d.Node, NodeUID: d.NodeUID, Pod: d.Pod, Type: v1.EventTypeNormal}
	switch {
	case d.Kind == NodeRegistered:
		event.Reason, event.Message = EventRegisteredNode, fmt.Sprintf("Node %s event: Registered Node %s in Controller", d.Node, d.Node)
	case d.Kind == NodeRemoved:
		event.Reason, event.Message = EventRemovingNode, fmt.Sprintf("Node %s event: Removing Node %s from Controller", d.Node, d.Node)
	case d.Kind == NodeVerdict && d.From == v1.ConditionTrue && d.To != "": // upstream records nothing when the condition is gone
		event.Reason, event.Message = EventNodeNotReady, fmt.Sprintf("Node %s status is now: NodeNotReady", d.Node)
	case d.Kind == PodMarkedNotReady:
		event.Type, event.Reason, event.Message = v1.EventTypeWarning, EventNodeNotReady, "Node is not ready"
	case d.Kind == PodEvicted && d.Reason == reasonTimeout:
		event.Reason, event.Message = EventNodeControllerEviction, fmt.Sprintf("Marking for deletion Pod %s from Node %s", d.Pod.Name, d.Node)
	case d.Kind == PodEvicted:
		event.Reason, event.Message = EventTaintManagerEviction, fmt.Sprintf("Marking for deletion Pod %s", d.Pod.PodKey)
	case d.Kind == EvictionCancelled:
		event.Reason, event.Message = EventTaintManagerEviction, fmt.Sprintf("Cancelling deletion of Pod %s", d.Pod.PodKey)
	case d.Kind == NodeEmptied && d.Reason != reasonNoPods:
		event.Reason, event.Message = EventDeletingAllPods, fmt.Sprintf("Node %s event: Deleting all Pods from Node %s.", d.Node, d.Node)
	default:
		return Event{}, false
	}
	return event, true
}
