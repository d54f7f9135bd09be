package nodepressure

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/taints"
)

// Admission says whether a node under pressure takes a pod. Reason and Message, as upstream writes them
// into the pod's status, say why not.
type Admission struct {
	Admitted        bool
	Reason, Message string
}

var memoryTaint = v1.Taint{Key: v1.TaintNodeMemoryPressure, Effect: v1.TaintEffectNoSchedule}

// Admit says whether a node with these pressure conditions takes the pod; conditions of other types do
// not belong there. Without any, every pod is admitted, and protected ones always are. Under nothing but
// memory pressure so are pods that are not BestEffort, and those that tolerate the taint
// node.kubernetes.io/memory-pressure:NoSchedule.
func Admit(under []v1.NodeConditionType, pod *v1.Pod) Admission {
	if len(under) == 0 || ProtectionOf(pod) != Evictable {
		return Admission{Admitted: true}
	}
	if len(under) == 1 && under[0] == v1.NodeMemoryPressure &&
		(QOSClass(pod) != v1.PodQOSBestEffort || taints.Using(&memoryTaint, pod.Spec.Tolerations) >= 0) {
		return Admission{Admitted: true}
	}
	return Admission{Reason: Reason, Message: fmt.Sprintf("The node had condition: %v. ", under)}
}
