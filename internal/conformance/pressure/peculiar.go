package pressure

import (
	"cmp"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podresource "k8s.io/kubernetes/pkg/api/v1/resource"

	"github.com/evictkit/evictkit/evictor/nodepressure"
)

// ranking is our ranking with the kubelet's requests of storage, for the rules that are not left out.
func (r *replay) ranking() nodepressure.Ranking {
	return nodepressure.RankingFunc(func(starved v1.ResourceName, a, b *nodepressure.Candidate) int {
		x, y := *a, *b
		if starved == v1.ResourceEphemeralStorage && r.as(PodLevel) {
			x.Requested, y.Requested = storageRequest(a), storageRequest(b)
		}
		c := nodepressure.ByUsage.Compare(starved, &x, &y)
		if a.Pod.Usage == nil || b.Pod.Usage == nil {
			return c
		}
		switch starved {
		case v1.ResourceMemory, v1.ResourceEphemeralStorage:
			// Ours ignores fractions of requests, which only makes more pods equal.
			if c == 0 && r.as(PodTies) {
				return compareExactly(starved, a, b)
			}
		case nodepressure.ResourceInodes:
			// Whether they exceed it is compared without the request, and by how much with it.
			if r.as(InodeUnit) && a.Exceeds() == b.Exceeds() && a.Priority == b.Priority {
				return compareExactly(v1.ResourceEphemeralStorage, a, b)
			}
		}
		return c
	})
}

// compareExactly puts the larger difference to the request first.
func compareExactly(requested v1.ResourceName, a, b *nodepressure.Candidate) int {
	over := func(c *nodepressure.Candidate) int64 { return c.Used*1000 - milliRequest(requested, c) }
	return cmp.Compare(over(b), over(a))
}

func storageRequest(c *nodepressure.Candidate) int64 {
	return milliRequest(v1.ResourceEphemeralStorage, c) / 1000
}

// milliRequest returns what a pod requests, in thousandths.
func milliRequest(name v1.ResourceName, c *nodepressure.Candidate) int64 {
	q := podresource.GetResourceRequestQuantity(c.Pod.Pod, name)
	return q.MilliValue()
}

// reclaimsOf returns what ours reclaims for a signal.
func reclaimsOf(layout nodepressure.Layout, signal nodepressure.Signal) []nodepressure.Reclaim {
	// Thresholds of all other signals, so that those of the container file system can be derived.
	var thresholds []nodepressure.Threshold
	for _, s := range nodepressure.Signals() {
		if s == nodepressure.ContainerFsAvailable || s == nodepressure.ContainerFsInodesFree {
			continue
		}
		thresholds = append(thresholds, nodepressure.Threshold{Signal: s, Value: nodepressure.Value{Quantity: resource.MustParse("1")}})
	}
	machine, err := nodepressure.New(nodepressure.Config{Thresholds: thresholds, Layout: layout})
	if err != nil {
		panic(err) //nolint:forbidigo // a threshold of 1 is none too many
	}
	return machine.Observe(nodepressure.Stats{Signals: map[nodepressure.Signal]nodepressure.Sample{signal: {}}}).Reclaim
}

// withClass returns the pod with resources that give it the class in its status.
func withClass(pod *v1.Pod) *v1.Pod {
	if pod.Status.QOSClass == "" {
		return pod
	}
	pod = pod.DeepCopy()
	pod.Spec.Resources, pod.Spec.InitContainers = nil, nil
	list := v1.ResourceList{v1.ResourceCPU: resource.MustParse("1"), v1.ResourceMemory: resource.MustParse("1")}
	for i := range pod.Spec.Containers {
		r := &pod.Spec.Containers[i].Resources
		*r = v1.ResourceRequirements{}
		if pod.Status.QOSClass != v1.PodQOSBestEffort {
			r.Requests = list
		}
		if pod.Status.QOSClass == v1.PodQOSGuaranteed {
			r.Limits = list
		}
	}
	return pod
}
