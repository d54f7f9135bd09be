package nodepressure

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/taints"
)

// Admission says whether a node under pressure admits a pod. If not, Reason and Message are what upstream writes into
// the pod's status.
type Admission struct {
	Admitted        bool
	Reason, Message string
}

var memoryTaint = v1.Taint{Key: v1.TaintNodeMemoryPressure, Effect: v1.TaintEffectNoSchedule}

// Admit says whether a node with these pressure conditions admits the pod. Conditions must hold pressure conditions
// only. Without any, every pod is admitted; protected pods always are. If memory pressure is the only condition, pods
// that are not BestEffort are admitted too, and so are pods that tolerate the taint
// node.kubernetes.io/memory-pressure:NoSchedule.
func Admit(under []v1.NodeConditionType, pod *v1.Pod) Admission {
	if len(under) == 0 || ProtectionOf(pod) != Evictable {
		return Admission{Admitted: true}
	}
	tolerates := func(t v1.Toleration) bool { return taints.Tolerates(&t, &memoryTaint, false) }
	if len(under) == 1 && under[0] == v1.NodeMemoryPressure &&
		(QOSClass(pod) != v1.PodQOSBestEffort || slices.ContainsFunc(pod.Spec.Tolerations, tolerates)) {
		return Admission{Admitted: true}
	}
	return Admission{Reason: Reason, Message: fmt.Sprintf("The node had condition: %v. ", under)}
}
