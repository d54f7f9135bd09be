package pressure

import (
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"

	"github.com/evictkit/evictkit/evictor/nodepressure"
)

// TestClasses: pods have the same class on both sides.
func TestClasses(t *testing.T) {
	classes := map[v1.PodQOSClass]int{}
	for seed := range int64(30_000) {
		r := rand.New(rand.NewSource(seed))
		pod := &v1.Pod{}
		for range 1 + r.Intn(3) {
			c := v1.Container{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{}, Limits: v1.ResourceList{}}}
			for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage} {
				request, limit := r.Int63n(3), r.Int63n(3)
				if r.Intn(2) == 0 {
					limit = request
				}
				c.Resources.Requests[name], c.Resources.Limits[name] = *resource.NewQuantity(request, resource.DecimalSI), *resource.NewQuantity(limit, resource.DecimalSI)
			}
			if r.Intn(4) == 0 {
				c.Resources = v1.ResourceRequirements{}
			}
			switch r.Intn(4) {
			case 0:
				pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
			case 1:
				if r.Intn(3) == 0 {
					pod.Spec.Resources = &c.Resources
				}
			default:
				pod.Spec.Containers = append(pod.Spec.Containers, c)
			}
		}
		mine, theirs := nodepressure.QOSClass(pod), qos.ComputePodQOS(pod)
		classes[theirs]++
		require.Equal(t, theirs, mine, "seed %d", seed)
	}
	t.Log(classes)
	require.Len(t, classes, 3)
}
