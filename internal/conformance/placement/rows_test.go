package placement

import (
	"math"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/evictkit/evictkit/taints"
)

// row is a deliberate difference. Once the objects are changed as it says, the scheduler agrees with the simulator.
type row struct {
	name, why string
	amend     func(w *world, pod *v1.Pod)
}

var rows = []row{
	{
		"room that a node does not tell",
		"files leave it out, made-up nodes above all; a node without any number of pods or CPUs would take nobody. In a cluster every node tells",
		func(w *world, _ *v1.Pod) {
			for _, n := range w.nodes {
				names := []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage, v1.ResourcePods}
				if len(n.Status.Allocatable) == 0 {
					names, n.Status.Allocatable = append(names, gpu, hugePages), v1.ResourceList{}
				}
				for _, name := range names {
					if _, told := n.Status.Allocatable[name]; !told {
						n.Status.Allocatable[name] = *resource.NewQuantity(math.MaxInt32<<20, resource.DecimalSI)
					}
				}
			}
		},
	},
	{
		"a node that is cordoned or not Ready, and has not its taint yet",
		"the node lifecycle controller writes it at once; what it means holds here from the instant at which the node reports it",
		func(w *world, _ *v1.Pod) {
			for _, n := range w.nodes {
				has := false
				for _, c := range n.Status.Conditions {
					has = has || c.Type == v1.NodeReady
				}
				if !has { // admission adds this to new nodes
					n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoSchedule})
				}
				n.Spec.Taints = append(n.Spec.Taints, taints.ForConditions(n.Status.Conditions, n.Spec.Unschedulable)...)
			}
		},
	},
	{
		"claims that are not bound to a volume of the files",
		"the simulator ignores them and counts the pods that have any; what provisions volumes is not simulated",
		func(w *world, pod *v1.Pod) { w.withoutUnbound(pod) },
	},
	{
		"namespaces that are chosen by labels other than their name",
		"files hold no namespaces; the simulator counts the pods whose terms ask for such labels",
		func(w *world, _ *v1.Pod) {
			for _, n := range w.namespaces {
				n.Labels = map[string]string{v1.LabelMetadataName: n.Name}
			}
		},
	},
}
