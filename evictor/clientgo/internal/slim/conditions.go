package slim

import v1 "k8s.io/api/core/v1"

// DisruptionReason is that of the condition DisruptionTarget that upstream writes to a pod before it deletes the pod because of
// taints.
const DisruptionReason = "DeletionByTaintManager"

// Disrupted says whether the pod has that condition.
func Disrupted(p *v1.Pod) bool {
	c := Condition(p.Status.Conditions, v1.DisruptionTarget)
	return c != nil && c.Status == v1.ConditionTrue && c.Reason == DisruptionReason
}

// Condition returns the pod's condition of that type, or nil.
func Condition(conditions []v1.PodCondition, kind v1.PodConditionType) *v1.PodCondition {
	for i := range conditions {
		if conditions[i].Type == kind {
			return &conditions[i]
		}
	}
	return nil
}
