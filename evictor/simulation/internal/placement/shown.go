package placement

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// shown returns one container that requests these amounts, or nil if they are all 0.
func shown(resources map[v1.ResourceName]int, requests []int64) []v1.Container {
	list := v1.ResourceList{}
	show := func(name v1.ResourceName, i int) {
		switch {
		case i >= len(requests) || requests[i] == 0:
		case i == cpu:
			list[name] = *resource.NewMilliQuantity(requests[i], resource.DecimalSI)
		case i == memory || i == ephemeral:
			list[name] = *resource.NewQuantity(requests[i], resource.BinarySI)
		default:
			list[name] = *resource.NewQuantity(requests[i], resource.DecimalSI)
		}
	}
	show(v1.ResourceCPU, cpu)
	show(v1.ResourceMemory, memory)
	show(v1.ResourceEphemeralStorage, ephemeral)
	for name, i := range resources {
		show(name, i)
	}
	if len(list) == 0 {
		return nil
	}
	return []v1.Container{{Name: "all", Resources: v1.ResourceRequirements{Requests: list}}}
}
