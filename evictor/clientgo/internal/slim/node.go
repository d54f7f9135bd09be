package slim

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// keptConditions are the conditions of a node that the evictor reads, or by which a program may hold it; each is kept once. A kubelet may write any number
// of others, with reasons and messages of any length.
var keptConditions = []v1.NodeConditionType{
	v1.NodeReady, v1.NodeMemoryPressure, v1.NodeDiskPressure, v1.NodePIDPressure, v1.NodeNetworkUnavailable,
	// Those that announce maintenance. k8s.io/api names them from v0.37 on.
	"MaintenancePlanned", "MaintenanceInProgress", "DrainInProgress", "Drained", "GracefulNodeShutdownInProgress",
}

// Node returns what is kept of a node. A node that is kept stays as it is.
func (k Keep) Node(whole *v1.Node) *v1.Node {
	kept := &v1.Node{ObjectMeta: metadata(&whole.ObjectMeta)}
	kept.Labels = labelsOf(fitting(whole.Labels, maxNodeLabels, readLabels...), whole.Name)
	kept.Annotations = fitting(named(whole.Annotations, k.NodeAnnotations), maxAnnotations)
	kept.Spec.Unschedulable = whole.Spec.Unschedulable
	var cut bool
	kept.Spec.Taints, cut = taintsOf(whole.Spec.Taints)
	kept.Status.Conditions = conditionsOf(whole.Status.Conditions)
	if cut || LacksTaints(whole) {
		kept.Annotations = maps.Clone(kept.Annotations)
		if kept.Annotations == nil {
			kept.Annotations = make(map[string]string, 1)
		}
		kept.Annotations[taintsCut] = ""
	}
	return kept
}

// labelsOf returns the labels of the node of that name, in texts shared with other nodes or with the name.
func labelsOf(whole map[string]string, name string) map[string]string {
	if len(whole) == 0 {
		return nil
	}
	kept := make(map[string]string, len(whole))
	for key, value := range whole {
		if value == name {
			value = name // most nodes have a label kubernetes.io/hostname
		} else {
			value = sharedTexts.one(value)
		}
		kept[sharedTexts.one(key)] = value
	}
	return kept
}

// conditionsOf returns the conditions that are kept, the first of each type.
func conditionsOf(whole []v1.NodeCondition) []v1.NodeCondition {
	var room [10]v1.NodeCondition
	kept := room[:0]
	for i := range whole {
		c := &whole[i]
		known := slices.Index(keptConditions, c.Type)
		if known < 0 || slices.ContainsFunc(kept, func(k v1.NodeCondition) bool { return k.Type == c.Type }) {
			continue
		}
		kept = append(kept, v1.NodeCondition{
			Type: keptConditions[known], Status: v1.ConditionStatus(common(string(c.Status))), Reason: common(c.Reason),
			LastHeartbeatTime: c.LastHeartbeatTime, LastTransitionTime: c.LastTransitionTime,
		})
	}
	if len(kept) == 0 {
		return nil
	}
	return append(make([]v1.NodeCondition, 0, len(kept)), kept...)
}
