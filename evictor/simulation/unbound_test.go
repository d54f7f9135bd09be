package simulation

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// Pods without a node wait for one unless something else than kube-scheduler decides when or where. They are told like others.
func TestPodsThatWaitFromTheStart(t *testing.T) {
	pods := []*v1.Pod{owned("ReplicaSet", "web", "web", ""), owned("ReplicaSet", "gated", "gated", ""), owned("ReplicaSet", "own", "own", ""), owned("DaemonSet", "agent", "agent", "")}
	pods[1].Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "queue"}}
	pods[2].Spec.SchedulerName = "mine"
	var told, happened []string
	r, err := Play(context.Background(), Scenario{
		Nodes: []*v1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}, Pods: pods, ReplaceAfter: 10 * time.Second, Until: time.Minute,
		Timeline: func(l timeline.Line) error {
			if l.Kind == timeline.KindSchedule {
				told = append(told, l.Pod)
			}
			return nil
		},
		Happened: func(h Happening) { happened = append(happened, h.Node+": "+h.Text) },
	})
	require.NoError(t, err)
	require.Equal(t, []string{"shop/web"}, told)
	require.Equal(t, []string{"a: pod shop/web is scheduled"}, happened)
	require.Equal(t, map[string]int{WithoutNode: 3}, r.NotSimulated)
	require.Zero(t, r.PendingAtEnd)
}

// While a pod waits for its first node, nobody else has its name. A bare one can be deleted; a controller makes another at once.
func TestTheNameOfAPodThatWaits(t *testing.T) {
	big := v1.ResourceList{v1.ResourceCPU: resource.MustParse("100")}
	for owner, pending := range map[string]int{"": 0, "ReplicaSet": 1} {
		c := newCluster(clockOf(nil))
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
		n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}
		require.NoError(t, c.AddNodeObject(n))
		pod := owned("ReplicaSet", "big", "big", "")
		if owner == "" {
			pod.OwnerReferences = nil
		}
		pod.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: big}}}
		require.NoError(t, c.AddUnboundObject(pod, false))
		same := pod.DeepCopy()
		same.Spec.NodeName = "a"
		_, err := c.AddPodObject(same)
		require.ErrorContains(t, err, "pod shop/big already exists")
		_, _, r := told(t, c, Scenario{Until: time.Hour, ReplaceAfter: 10 * time.Second, Events: []Event{{At: time.Minute, DeletePod: &Pod{Name: "shop/big"}}}})
		require.Equal(t, pending, r.PendingAtEnd, owner)
		require.Equal(t, 1-pending, r.LostForGood, owner)
		require.Equal(t, pending == 1, c.holds("shop", "big"))
		_, exists := c.findPod(evictor.PodKey{Namespace: "shop", Name: "big"})
		require.False(t, exists)
	}
}
