package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/internal/scenario"
)

// fleet makes a cluster of nodes a, b and c; a has a pod of each kind of owner, named after it.
func fleet(t *testing.T, kinds ...string) *Cluster {
	c := New(&Clock{})
	for _, name := range []string{"a", "b", "c"} {
		require.NoError(t, c.AddNodeObject(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	isController := true
	for _, kind := range kinds {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: kind, Namespace: "default"}, Spec: v1.PodSpec{NodeName: "a"}}
		if kind != "bare" {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: "o", Controller: &isController}}
		}
		bound, err := c.AddPodObject(p)
		require.NoError(t, err)
		require.True(t, bound)
	}
	return c
}

// schedules returns the pods that came back, and when.
func schedules(t *testing.T, c *Cluster, events ...scenario.Event) (map[string]time.Duration, *Report) {
	back := map[string]time.Duration{}
	s := &scenario.Scenario{Events: events, Reschedule: &scenario.Reschedule{}, Until: at(20 * time.Minute)}
	lines, r := playOn(t, c, s)
	for _, text := range lines {
		l, err := scenario.ParseLine([]byte(text))
		require.NoError(t, err)
		if l.Kind == scenario.KindSchedule {
			back[l.Pod] = l.T
		}
	}
	return back, r
}

var kinds = []string{"ReplicaSet", "Job", "StatefulSet", "DaemonSet", "bare"}

func TestOnASilentNodeAStatefulSetsPodIsNotReplaced(t *testing.T) {
	fails := scenario.Event{At: at(time.Minute), Fail: &scenario.Selector{Node: "a"}}
	back, r := schedules(t, fleet(t, kinds...), fails)
	require.Len(t, back, 2, back)
	require.Contains(t, back, "ReplicaSet-r1")
	require.Contains(t, back, "Job-r1")
	require.Equal(t, 5, r.Left[LeftTerminating], "no toleration, so all are deleted")
}

func TestAStatefulSetsPodComesBackWhenItsObjectIsGone(t *testing.T) {
	fails := scenario.Event{At: at(time.Minute), Fail: &scenario.Selector{Node: "a"}}
	for name, gone := range map[string]scenario.Event{
		"its kubelet is back":  {At: at(10 * time.Minute), Recover: &scenario.Selector{Node: "a"}},
		"its node is deleted":  {At: at(10 * time.Minute), DeleteNode: &scenario.Selector{Node: "a"}},
		"its object is forced": {At: at(10 * time.Minute), ForceDelete: &scenario.DeletePod{Name: "StatefulSet"}},
	} {
		back, r := schedules(t, fleet(t, kinds...), fails, gone)
		require.Equal(t, 10*time.Minute+10*time.Second, back["StatefulSet"], name)
		require.Len(t, back, 3, name)
		require.Zero(t, r.Waiting, name)
	}
	// It had no live node from its node's silence on, and the two others had none until they came back.
	_, r := schedules(t, fleet(t, "StatefulSet"), fails, scenario.Event{At: at(10 * time.Minute), DeleteNode: &scenario.Selector{Node: "a"}})
	require.InDelta(t, (9*time.Minute + 10*time.Second).Hours(), r.PodHoursLost, 1e-9)
}

func TestPodsOfADeletedNodeAndDeletedPodsComeBack(t *testing.T) {
	back, _ := schedules(t, fleet(t, kinds...), scenario.Event{At: at(time.Minute), DeleteNode: &scenario.Selector{Node: "a"}})
	require.Equal(t, map[string]time.Duration{"ReplicaSet-r1": 70 * time.Second, "Job-r1": 70 * time.Second, "StatefulSet": 70 * time.Second}, back)
	var events []scenario.Event
	for _, kind := range kinds {
		events = append(events, scenario.Event{At: at(time.Minute), DeletePod: &scenario.DeletePod{Name: kind}})
	}
	again, _ := schedules(t, fleet(t, kinds...), events...)
	require.Equal(t, back, again)
}

func TestAPodWithoutRoomIsPendingUntilThereIsSome(t *testing.T) {
	c := New(&Clock{})
	one := func(quantity string) v1.ResourceList {
		return v1.ResourceList{v1.ResourceCPU: resource.MustParse("8"), gpu: resource.MustParse(quantity)}
	}
	for name, gpus := range map[string]string{"a": "1", "b": "1", "c": "0"} {
		require.NoError(t, c.AddNodeObject(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodeStatus{Allocatable: one(gpus)}}))
	}
	isController := true
	for pod, node := range map[string]string{"p": "a", "q": "b"} {
		_, err := c.AddPodObject(&v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: pod, Namespace: "default", OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Controller: &isController}}},
			Spec:       v1.PodSpec{NodeName: node, Containers: []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{gpu: resource.MustParse("1")}}}}},
		})
		require.NoError(t, err)
	}
	back, _ := schedules(t, c,
		scenario.Event{At: at(time.Minute), DeleteNode: &scenario.Selector{Node: "a"}},
		scenario.Event{At: at(3*time.Minute + time.Second), Cordon: &scenario.Selector{Node: "c"}},
		scenario.Event{At: at(5*time.Minute + 123*time.Millisecond), DeletePod: &scenario.DeletePod{Name: "q"}},
	)
	require.Equal(t, 5*time.Minute+123*time.Millisecond, back["p-r1"], "at once, not at the next pass")
	require.NotContains(t, back, "q-r1", "there is no room for both")
}

func TestGeneratedPodsTolerateAsTheAPIServerLetsThem(t *testing.T) {
	for want, zone := range map[time.Duration]scenario.Zone{
		300 * time.Second: {},
		30 * time.Second:  {TolerationSeconds: ptr(scenario.TolerationSeconds(30))},
		0:                 {TolerationSeconds: ptr(scenario.NoToleration)},
	} {
		zone.Name, zone.Nodes, zone.PodsPerNode = "a", 3, 1
		_, r := play(t, &scenario.Scenario{
			Cluster: scenario.Cluster{Zones: []scenario.Zone{zone}}, Heartbeat: scenario.Heartbeat{Spread: ptr(scenario.SpreadNone)},
			Events: []scenario.Event{{At: at(61 * time.Second), Fail: &scenario.Selector{Node: "a-000"}}},
			Until:  at(20 * time.Minute),
		})
		require.Equal(t, 1, r.Evicted)
		require.Equal(t, 54*time.Second+want, r.EvictionDelayWorst, "grace of 50s from the last heartbeat at 60s, found out at the pass of 115s")
	}
}
