package nodepressure

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// pressure numbers the node conditions.
type pressure uint8

const (
	memoryPressure pressure = iota
	diskPressure
	pidPressure
	pressureCount
)

var conditionTypes = [pressureCount]v1.NodeConditionType{v1.NodeMemoryPressure, v1.NodeDiskPressure, v1.NodePIDPressure}

var conditionTexts = [pressureCount][2][2]string{
	memoryPressure: {{"KubeletHasSufficientMemory", "kubelet has sufficient memory available"}, {"KubeletHasInsufficientMemory", "kubelet has insufficient memory available"}},
	diskPressure:   {{"KubeletHasNoDiskPressure", "kubelet has no disk pressure"}, {"KubeletHasDiskPressure", "kubelet has disk pressure"}},
	pidPressure:    {{"KubeletHasSufficientPID", "kubelet has sufficient PID available"}, {"KubeletHasInsufficientPID", "kubelet has insufficient PID available"}},
}

// NodeConditions returns MemoryPressure, DiskPressure and PIDPressure as the kubelet writes them into the node's
// status. Those in under are True. It sets no times: only the caller knows what the status said before.
func NodeConditions(under []v1.NodeConditionType) []v1.NodeCondition {
	result := make([]v1.NodeCondition, pressureCount)
	for i, conditionType := range conditionTypes {
		text, status := conditionTexts[i][0], v1.ConditionFalse
		if slices.Contains(under, conditionType) {
			text, status = conditionTexts[i][1], v1.ConditionTrue
		}
		result[i] = v1.NodeCondition{Type: conditionType, Status: status, Reason: text[0], Message: text[1]}
	}
	return result
}
