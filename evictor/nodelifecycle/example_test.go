package nodelifecycle_test

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/taints"
)

// nodes is a cluster without pods. Its writes are printed.
type nodes map[string]*v1.Node

func (n nodes) Synced() bool                       { return true }
func (n nodes) Node(name string) (*v1.Node, bool)  { node, ok := n[name]; return node, ok }
func (n nodes) Pod(cluster.PodKey) (*v1.Pod, bool) { return nil, false }
func (n nodes) Nodes(visit func(*v1.Node) bool) {
	for _, node := range n {
		if !visit(node) {
			return
		}
	}
}
func (n nodes) PodsOnNode(string, func(*v1.Pod) bool) {}

func (n nodes) UpdateConditions(_ context.Context, node *v1.Node, conditions []v1.NodeCondition) error {
	after := node.DeepCopy()
	after.Status.Conditions = conditions
	n[node.Name] = after
	fmt.Println(node.Name, conditions[0].Type, conditions[0].Status)
	return nil
}

func (n nodes) UpdateTaints(_ context.Context, node *v1.Node, change taints.Change) error {
	after := node.DeepCopy()
	after.Spec.Taints = change.Apply(node.Spec.Taints, time.Time{})
	n[node.Name] = after
	for i := range change.Add {
		fmt.Println(node.Name, "has", change.Add[i].ToString())
	}
	return nil
}

func (n nodes) UpdateLabels(context.Context, *v1.Node, map[string]string) error { return nil }
func (n nodes) MarkNotReady(context.Context, cluster.PodRef) error              { return nil }
func (n nodes) Evict(context.Context, cluster.PodRef, taints.Deadline) error    { return nil }

// One of three nodes falls silent. A program that calls Step moves the clock to where Step says.
func Example() {
	begin := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := testingclock.NewFakePassiveClock(begin)
	all := nodes{}
	for _, name := range []string{"a", "b", "c"} {
		all[name] = &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: "1"},
			Status:     v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}},
		}
	}
	controller, err := nodelifecycle.New(nodelifecycle.DefaultConfig(), nodelifecycle.Clients{Nodes: all, Pods: all, NodeWriter: all, PodWriter: all}, nodelifecycle.Options{Clock: clock})
	if err != nil {
		panic(err)
	}
	controller.NodeChanged("a") // a Source would say so
	for second := range 60 {
		clock.SetTime(begin.Add(time.Duration(second) * time.Second))
		for _, name := range []string{"b", "c"} {
			controller.LeaseObserved(name, clock.Now(), "")
		}
		if _, err := controller.Step(context.Background()); err != nil {
			panic(err)
		}
	}
	status, _ := controller.Node("a")
	fmt.Println("waits:", !status.Queued.IsZero())
	// Output:
	// a Ready Unknown
	// a has node.kubernetes.io/unreachable:NoSchedule
	// a has node.kubernetes.io/unreachable:NoExecute
	// waits: false
}
