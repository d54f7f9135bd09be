package taints

import v1 "k8s.io/api/core/v1"

// byCondition is kube-controller-manager's table of the conditions that keep pods away.
var byCondition = [...]struct {
	condition v1.NodeConditionType
	status    v1.ConditionStatus
	key       string
}{
	{v1.NodeReady, v1.ConditionFalse, v1.TaintNodeNotReady},
	{v1.NodeReady, v1.ConditionUnknown, v1.TaintNodeUnreachable},
	{v1.NodeMemoryPressure, v1.ConditionTrue, v1.TaintNodeMemoryPressure},
	{v1.NodeDiskPressure, v1.ConditionTrue, v1.TaintNodeDiskPressure},
	{v1.NodeNetworkUnavailable, v1.ConditionTrue, v1.TaintNodeNetworkUnavailable},
	{v1.NodePIDPressure, v1.ConditionTrue, v1.TaintNodePIDPressure},
}

// ForConditions returns the NoSchedule taints that a node with these conditions should have, and the one for a cordoned
// node, in the order of the table above; nil if it should have none. A type that is given twice counts as each says.
func ForConditions(conditions []v1.NodeCondition, unschedulable bool) []v1.Taint {
	var want []v1.Taint
	for _, rule := range byCondition {
		for i := range conditions {
			if conditions[i].Type == rule.condition && conditions[i].Status == rule.status {
				want = append(want, v1.Taint{Key: rule.key, Effect: v1.TaintEffectNoSchedule})
				break
			}
		}
	}
	if unschedulable {
		want = append(want, v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule})
	}
	return want
}

// ForReady returns the NoExecute taint for the status of a node's Ready condition: not-ready for False, unreachable for
// Unknown. For any other status there is none, and it returns false.
func ForReady(status v1.ConditionStatus) (v1.Taint, bool) {
	switch status {
	case v1.ConditionFalse:
		return v1.Taint{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoExecute}, true
	case v1.ConditionUnknown:
		return v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute}, true
	}
	return v1.Taint{}, false
}

// OwnNoExecute reports whether the taint has a key and effect that ForReady returns; its value does not matter.
func OwnNoExecute(t *v1.Taint) bool {
	return t.Effect == v1.TaintEffectNoExecute && (t.Key == v1.TaintNodeNotReady || t.Key == v1.TaintNodeUnreachable)
}

// OwnNoSchedule reports whether the taint has a key and effect that ForConditions returns; its value does not matter.
func OwnNoSchedule(t *v1.Taint) bool {
	if t.Effect != v1.TaintEffectNoSchedule {
		return false
	}
	for i := range byCondition {
		if byCondition[i].key == t.Key {
			return true
		}
	}
	return t.Key == v1.TaintNodeUnschedulable
}
