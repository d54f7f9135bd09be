package main

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor/simulation"
)

func cpus(n string) v1.ResourceList { return v1.ResourceList{v1.ResourceCPU: resource.MustParse(n)} }

func node(name string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodeStatus{Allocatable: cpus("4")}}
}

func pod(name, on string) *v1.Pod {
	isTrue := true
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PodSpec{NodeName: on}}
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", Controller: &isTrue}}
	pod.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: cpus("2")}}}
	return pod
}

// scenario: node a fails at 0:05 when there is room for one of its two pods, and a node is added at 0:30. Node b needs
// maintenance at 1:10, when there is again room for one pod, and another node is added at 2:30.
func scenario() simulation.Scenario {
	b := simulation.Nodes{Names: []string{"b"}}
	return simulation.Scenario{
		Nodes: []*v1.Node{node("a"), node("b"), node("c")},
		Pods:  []*v1.Pod{pod("a1", "a"), pod("a2", "a"), pod("b1", "b"), pod("b2", "b"), pod("c1", "c")},
		Events: []simulation.Event{
			{At: 5 * time.Minute, Do: simulation.Fail(simulation.Nodes{Names: []string{"a"}})},
			{At: 30 * time.Minute, Do: simulation.AddNode(node("d"))},
			{At: 70 * time.Minute, Do: simulation.Taint(b, v1.Taint{Key: "maintenance", Effect: v1.TaintEffectNoExecute})},
			{At: 150 * time.Minute, Do: simulation.AddNode(node("e"))},
		},
		Until: 3 * time.Hour,
	}
}
