package evictor_test

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/leases"
	"github.com/evictkit/evictkit/taints"
)

// fleet is an API of one's own, as the clients of an evictor: its stores, and its writers. Its changes must be told, too.
type fleet struct {
	nodes   map[string]*v1.Node
	pods    map[evictor.PodKey]*v1.Pod
	renewed map[string]time.Time
	changed evictor.Target
}

func (f *fleet) Synced() bool { return true } // else nothing is decided

func (f *fleet) Node(name string) (*v1.Node, bool) {
	node, ok := f.nodes[name]
	return node, ok
}

func (f *fleet) Nodes(visit func(*v1.Node) bool) {
	for _, node := range f.nodes {
		if !visit(node) {
			return
		}
	}
}

func (f *fleet) Pod(key evictor.PodKey) (*v1.Pod, bool) {
	pod, ok := f.pods[key]
	return pod, ok
}

func (f *fleet) PodsOnNode(node string, visit func(*v1.Pod) bool) {
	for _, pod := range f.pods {
		if pod.Spec.NodeName == node && !visit(pod) {
			return
		}
	}
}

// set is what each write of a node does: a new object, whose change is told.
func (f *fleet) set(node *v1.Node, change func(*v1.Node)) error {
	node = node.DeepCopy()
	change(node)
	f.nodes[node.Name] = node
	f.changed.NodeChanged(node.Name)
	return nil
}

func (f *fleet) UpdateConditions(_ context.Context, node *v1.Node, conditions []v1.NodeCondition) error {
	return f.set(node, func(n *v1.Node) { n.Status.Conditions = conditions })
}

func (f *fleet) UpdateTaints(_ context.Context, node *v1.Node, change taints.Change) error {
	return f.set(node, func(n *v1.Node) { n.Spec.Taints = change.Apply(n.Spec.Taints, time.Time{}) })
}

func (f *fleet) UpdateLabels(_ context.Context, node *v1.Node, labels map[string]string) error {
	return f.set(node, func(n *v1.Node) { n.Labels = labels })
}

func (f *fleet) MarkNotReady(context.Context, evictor.PodRef) error { return nil }

func (f *fleet) Evict(_ context.Context, pod evictor.PodRef, why taints.Deadline) error {
	fmt.Println("evict", pod.Name, "because of", why.Taint.Key)
	delete(f.pods, pod.PodKey)
	f.changed.PodChanged(pod.PodKey)
	return nil
}

// lease is read live before a node counts as silent, because the news of a renewal may have got lost.
func (f *fleet) lease(_ context.Context, node string) (leases.Lease, error) {
	return leases.Lease{RenewTime: f.renewed[node]}, nil
}

// Clients of one's own. Here a fake clock moves from one instant at which something is due to the next; a program calls
// e.Run and reader.Run.
func Example_clients() {
	clock := testingclock.NewFakeClock(time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC))
	f := &fleet{nodes: map[string]*v1.Node{}, pods: map[evictor.PodKey]*v1.Pod{}, renewed: map[string]time.Time{}}
	clients := evictor.Clients{Nodes: f, Pods: f, NodeWriter: f, PodWriter: f}
	e, err := evictor.New(evictor.DefaultConfig(), clients, evictor.Options{Clock: clock})
	if err != nil {
		fmt.Println(err)
		return
	}
	f.changed = e
	reader := leases.Reader{Judge: e, Read: f.lease, Clock: clock}

	for _, name := range []string{"dead", "well"} {
		f.nodes[name] = &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}}}
		e.NodeChanged(name) // of each node and pod that comes, changes or goes
	}
	f.pods[evictor.PodKey{Namespace: "shop", Name: "cart"}] = &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart"}, Spec: v1.PodSpec{NodeName: "dead"}}
	for end := clock.Now().Add(2 * time.Minute); clock.Now().Before(end); {
		f.renewed["well"] = clock.Now()
		e.LeaseObserved("well", clock.Now(), "") // of each renewal
		read := reader.Once(context.Background())
		next, err := e.Step(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		if read.Before(next) {
			next = read
		}
		clock.SetTime(next)
	}
	// Output: evict cart because of node.kubernetes.io/unreachable
}
