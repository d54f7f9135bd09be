package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation/internal/placement"
	"github.com/evictkit/evictkit/zone"
)

func TestPodsComeBackOnNodesThatStillExist(t *testing.T) {
	lines, r := play(t, Scenario{
		Zones: []Zone{{Name: "a", Nodes: 4, PodsPerNode: 2, TolerationSeconds: ptr(TolerationSeconds(10))}},
		Events: []Event{
			{At: time.Minute, DeleteNode: named("a-001")},
			{At: 2 * time.Minute, Fail: named("a-000")},
		},
		Until: 10 * time.Minute,
	})
	require.Equal(t, 3, r.Evicted, "one of those of the deleted node came back on the node that fails")
	require.Equal(t, 2+3, r.ReturnedPods)
	require.Zero(t, r.Waiting)
	for _, l := range lines {
		require.NotContains(t, l, `"kind":"schedule","node":"a-001"`)
	}
}

// The format counts the pods that are neither terminating nor of a DaemonSet.
func TestCompletedPodsCountWherePodsComeBack(t *testing.T) {
	c := newCluster(clockOf(nil))
	for _, name := range []string{"a", "b", "c"} {
		require.NoError(t, c.AddNode(name, zone.Key{Zone: "z"}))
	}
	controller := true
	add := func(name, node string, phase v1.PodPhase) {
		_, err := c.AddPodObject(&v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", OwnerReferences: []metav1.OwnerReference{{Kind: "Job", Name: "j", Controller: &controller}}},
			Spec:       v1.PodSpec{NodeName: node}, Status: v1.PodStatus{Phase: phase},
		})
		require.NoError(t, err)
	}
	add("done", "b", v1.PodSucceeded)
	add("runs", "a", v1.PodRunning)
	lines, _ := playOn(t, c, Scenario{
		Events: []Event{{At: time.Minute, Fail: named("a")}},
		Until:  5 * time.Minute,
	})
	require.Contains(t, lines[len(lines)-1], `"kind":"schedule","node":"c","pod":"runs-r1"`)
}

// Pods that tolerate a taint for no time at all may come back on nodes that have it, and are evicted again.
func TestComingBackForNoTimeAtAll(t *testing.T) {
	c := newCluster(clockOf(nil))
	for _, name := range []string{"a", "b"} {
		require.NoError(t, c.AddNode(name, zone.Key{Zone: "z"}))
	}
	spec := podSpec{OwnerKind: "ReplicaSet", Spec: placement.Spec{Tolerations: []v1.Toleration{{Operator: v1.TolerationOpExists, TolerationSeconds: ptr(int64(0))}}}}
	require.NoError(t, c.AddPod(evictor.PodKey{Namespace: "default", Name: "p"}, "a", spec))
	_, r := playOn(t, c, Scenario{
		Events:       []Event{{At: time.Minute, Taint: &Taint{Nodes: Nodes{Names: []string{"a", "b"}}, NodeTaint: NodeTaint{Key: "k", Effect: "NoExecute"}}}},
		ReplaceAfter: time.Second,
		Until:        5 * time.Minute,
	})
	require.Equal(t, 1+4*60, r.Evicted)
}
