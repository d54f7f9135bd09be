package outages

import (
	"fmt"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var list = metav1.TypeMeta{APIVersion: "v1", Kind: "List"}

// machines reads the recorded cluster.
func machines(data string) (nodes []v1.Node, pods []v1.Pod, err error) {
	var n v1.NodeList
	var p v1.PodList
	if err = read(filepath.Join(data, "openb"), "openb-nodes.json", &n); err == nil {
		err = read(filepath.Join(data, "openb"), "openb-pods.json", &p)
	}
	return n.Items, p.Items, err
}

// smaller returns a cluster of so many recorded machines, with the pods that fill it.
func smaller(data string, size int) (nodes []v1.Node, pods []v1.Pod, err error) {
	all, candidates, err := machines(data)
	if err != nil {
		return nil, nil, err
	}
	if size > len(all) {
		return nil, nil, fmt.Errorf("the record has %d nodes, but %d are needed", len(all), size)
	}
	for i := range size {
		nodes = append(nodes, all[i*len(all)/size])
	}
	return nodes, place(nodes, candidates), nil
}

// filled is the share of a cluster's CPU that its pods request.
const filled = 0.7

// place places the pods in order, until the cluster is filled. Each goes to the node with the most free CPU on which it
// fits.
func place(nodes []v1.Node, candidates []v1.Pod) (pods []v1.Pod) {
	free := make([]map[v1.ResourceName]int64, len(nodes))
	all := int64(0)
	for i := range nodes {
		free[i] = amounts(nodes[i].Status.Allocatable)
		all += free[i][v1.ResourceCPU]
	}
	left := all - int64(float64(all)*filled)
	for total, k := all, 0; k < len(candidates); k++ {
		pod, best := candidates[k], -1
		asks := requests(&pod)
		for i := range nodes {
			if fits(asks, free[i]) && (best < 0 || free[i][v1.ResourceCPU] > free[best][v1.ResourceCPU]) {
				best = i
			}
		}
		if best < 0 || total-asks[v1.ResourceCPU] < left {
			continue
		}
		total -= asks[v1.ResourceCPU]
		for name, amount := range asks {
			free[best][name] -= amount
		}
		pod.Spec.NodeName = nodes[best].Name
		pods = append(pods, pod)
	}
	return pods
}

func fits(asks, free map[v1.ResourceName]int64) bool {
	for name, amount := range asks {
		if free[name] < amount {
			return false
		}
	}
	return true
}

// requests returns what a pod requests, including one pod.
func requests(pod *v1.Pod) map[v1.ResourceName]int64 {
	asks := map[v1.ResourceName]int64{v1.ResourcePods: 1000}
	for i := range pod.Spec.Containers {
		for name, amount := range amounts(pod.Spec.Containers[i].Resources.Requests) {
			asks[name] += amount
		}
	}
	return asks
}

// amounts returns quantities in thousandths.
func amounts(of v1.ResourceList) map[v1.ResourceName]int64 {
	all := make(map[v1.ResourceName]int64, len(of))
	for name, amount := range of {
		all[name] = amount.MilliValue()
	}
	return all
}

// replicas is how many pods form a workload.
const replicas = 10

// finish sets the owners and tolerations of pods.
func finish(pods []v1.Pod, tolerationSeconds int64) {
	type workload struct{ number, pods int }
	open, made := map[string]*workload{}, 0
	controller := true
	for i := range pods {
		pod := &pods[i]
		shape := ""
		for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, "nvidia.com/gpu"} {
			amount := resource.NewMilliQuantity(requests(pod)[name], resource.DecimalSI)
			shape += amount.String() + "/"
		}
		w := open[shape]
		if w == nil || w.pods == replicas {
			made++
			w = &workload{number: made}
			open[shape] = w
		}
		w.pods++
		name := fmt.Sprintf("workload-%04d", w.number)
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name, UID: types.UID(name), Controller: &controller}}
		pod.Spec.Tolerations = nil
		for _, key := range []string{v1.TaintNodeNotReady, v1.TaintNodeUnreachable} {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, v1.Toleration{
				Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &tolerationSeconds,
			})
		}
	}
}
