package simulation

import (
	"fmt"
	"maps"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// checkNodeObject returns the first fault of a node that the API server would not accept, or that cannot be counted.
func checkNodeObject(n *v1.Node) error {
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; !validStatus(c.Status) {
			return fmt.Errorf("status.conditions: %s: %q is not one of True, False and Unknown", c.Type, c.Status)
		}
	}
	if err := checkResources("status.capacity", n.Status.Capacity); err != nil {
		return err
	}
	return checkResources("status.allocatable", n.Status.Allocatable)
}

// checkPodObject does so for a pod.
func checkPodObject(p *v1.Pod) error {
	for _, of := range []struct {
		name       string
		containers []v1.Container
	}{{"initContainers", p.Spec.InitContainers}, {"containers", p.Spec.Containers}} {
		for i := range of.containers {
			if err := checkResources(fmt.Sprintf("spec.%s[%d].resources.requests", of.name, i), of.containers[i].Resources.Requests); err != nil {
				return err
			}
		}
	}
	return checkResources("spec.overhead", p.Spec.Overhead)
}

func checkResources(place string, list v1.ResourceList) error {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		amount := list[name]
		if err := checkAmount(name, &amount); err != nil {
			return fmt.Errorf("%s: %s: %w", place, name, err)
		}
	}
	return nil
}

// checkAmount refuses what is negative, and what an int64 cannot count, in thousandths for the CPU.
func checkAmount(name v1.ResourceName, amount *resource.Quantity) error {
	most := int64(math.MaxInt64)
	if name == v1.ResourceCPU {
		most /= 1000
	}
	switch {
	case amount.Sign() < 0:
		return fmt.Errorf("%s is negative", amount)
	case amount.Cmp(*resource.NewQuantity(most, resource.DecimalSI)) > 0:
		return fmt.Errorf("%s is too large", amount)
	}
	return nil
}
