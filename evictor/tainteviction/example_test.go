package tainteviction_test

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/tainteviction"
	"github.com/evictkit/evictkit/taints"
)

// one is a node with one pod.
type one struct {
	node *v1.Node
	pod  *v1.Pod
}

func (o *one) Synced() bool                                  { return true }
func (o *one) Node(string) (*v1.Node, bool)                  { return o.node, true }
func (o *one) Nodes(visit func(*v1.Node) bool)               { visit(o.node) }
func (o *one) Pod(cluster.PodKey) (*v1.Pod, bool)            { return o.pod, true }
func (o *one) PodsOnNode(_ string, visit func(*v1.Pod) bool) { visit(o.pod) }

func (o *one) Evict(_ context.Context, pod cluster.PodRef, why taints.Deadline) error {
	fmt.Println(pod, "evicted: it tolerated", why.Taint.ToString(), "for", why.For)
	return nil
}

// Somebody taints a node, whose pod tolerates that for a minute.
func Example() {
	begin, minute := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), int64(60)
	clock := testingclock.NewFakePassiveClock(begin)
	all := &one{
		node: &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1"}},
		pod: &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart", UID: "2"},
			Spec:       v1.PodSpec{NodeName: "a", Tolerations: []v1.Toleration{{Key: "repair", Operator: v1.TolerationOpExists, TolerationSeconds: &minute}}},
		},
	}
	controller, err := tainteviction.New(tainteviction.DefaultConfig(), tainteviction.Clients{Nodes: all, Pods: all, Evicter: all}, tainteviction.Options{Clock: clock})
	if err != nil {
		panic(err)
	}
	step := func() time.Time {
		next, err := controller.Step(context.Background())
		if err != nil {
			panic(err)
		}
		return next
	}
	controller.NodeChanged("a")
	step()
	all.node = all.node.DeepCopy()
	all.node.Spec.Taints = []v1.Taint{{Key: "repair", Effect: v1.TaintEffectNoExecute}}
	controller.NodeChanged("a") // a Source would say so
	next := step()
	fmt.Println("due:", controller.Evictions()[0].Due.Sub(begin))
	clock.SetTime(next)
	step()
	// Output:
	// due: 1m0s
	// shop/cart evicted: it tolerated repair:NoExecute for 1m0s
}
