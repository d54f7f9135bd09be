package simulation

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// Pods of a higher priority get their nodes first: those that wait from the start, and those that find none at first.
func TestThePriorityOfWaitingPods(t *testing.T) {
	c := newCluster(clockOf(nil))
	for _, name := range []string{"a", "b"} {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.NodeSpec{Unschedulable: name == "b"}}
		n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}
		require.NoError(t, c.AddNodeObject(n))
	}
	for i := range 4 {
		p, priority := owned("ReplicaSet", "web", fmt.Sprint("web", i), ""), int32(i%2)
		p.Spec.Priority = &priority
		p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}}}}
		require.NoError(t, c.AddUnboundObject(p, false))
	}
	lines, _, _ := told(t, c, Scenario{Until: 2 * time.Minute, ReplaceAfter: 10 * time.Second, Events: []Event{{At: time.Minute, Uncordon: named("b")}}})
	var placed []string
	for _, l := range of(lines, timeline.KindSchedule) {
		placed = append(placed, l.Node+" "+l.Pod)
	}
	require.Equal(t, []string{"a shop/web1", "b shop/web3"}, placed)
}

// Of two nodes of 4 CPUs one is lost, with three pods of priority 5. On the other there is one pod of that priority, and
// three pods that would have to leave.
func TestHowManyCouldPreempt(t *testing.T) {
	never := v1.PreemptNever
	for _, test := range []struct {
		cpu    string
		policy *v1.PreemptionPolicy
		want   int
	}{{"1", nil, 3}, {"2", nil, 1}, {"4", nil, 0}, {"1", &never, 0}} {
		c := newCluster(clockOf(nil))
		for _, name := range []string{"a", "b"} {
			n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
			n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("4")}
			require.NoError(t, c.AddNodeObject(n))
		}
		add := func(name, node, cpu string, priority int32) {
			p := owned("ReplicaSet", name, name, node)
			p.Spec.Priority, p.Spec.PreemptionPolicy = &priority, test.policy
			p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}}}}
			_, err := c.AddPodObject(p)
			require.NoError(t, err)
		}
		for i := range 3 {
			add(fmt.Sprint("lost", i), "a", test.cpu, 5)
			add(fmt.Sprint("low", i), "b", "1", 0)
		}
		add("high", "b", "1", 5)
		_, _, r := told(t, c, failing("a"))
		require.Equal(t, 3, r.PendingAtEnd)
		require.Equal(t, test.want, r.PendingThatCouldPreempt, test)
	}
}
