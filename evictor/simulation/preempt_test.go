package simulation

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
