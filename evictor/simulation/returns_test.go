package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// fleet makes a cluster of nodes a, b and c; a has a pod of each kind of owner, named after it.
func fleet(t *testing.T, kinds ...string) *cluster {
	c := newCluster(clockOf(nil))
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
func schedules(t *testing.T, c *cluster, events ...Event) (map[string]time.Duration, *Report) {
	back := map[string]time.Duration{}
	s := Scenario{Events: events, Until: 20 * time.Minute}
	lines, r := playOn(t, c, s)
	for _, text := range lines {
		l, err := timeline.Parse([]byte(text))
		require.NoError(t, err)
		if l.Kind == timeline.KindSchedule {
			back[l.Pod] = l.T
		}
	}
	return back, r
}

var kinds = []string{"ReplicaSet", "Job", "StatefulSet", "DaemonSet", "bare"}

func TestOnASilentNodeAStatefulSetsPodIsNotReplaced(t *testing.T) {
	fails := Event{At: time.Minute, Fail: named("a")}
	back, r := schedules(t, fleet(t, kinds...), fails)
	require.Len(t, back, 2, back)
	require.Contains(t, back, "ReplicaSet-r1")
	require.Contains(t, back, "Job-r1")
	require.Equal(t, 4, r.Left[leftTerminating], "no toleration, so all are deleted; that of the DaemonSet does not count")
}

func TestAStatefulSetsPodComesBackWhenItsObjectIsGone(t *testing.T) {
	fails := Event{At: time.Minute, Fail: named("a")}
	for name, gone := range map[string]Event{
		"its kubelet is back":  {At: 10 * time.Minute, Recover: named("a")},
		"its node was deleted": {At: 9*time.Minute + 20*time.Second, DeleteNode: named("a")},
		"its object is forced": {At: 10 * time.Minute, ForceDelete: &Pod{Name: "StatefulSet"}},
	} {
		back, r := schedules(t, fleet(t, kinds...), fails, gone)
		require.Equal(t, 10*time.Minute+10*time.Second, back["StatefulSet"], name)
		require.Len(t, back, 3, name)
		require.Zero(t, r.Waiting, name)
	}
	// It had no live node from its node's silence on, and the two others had none until they came back.
	_, r := schedules(t, fleet(t, "StatefulSet"), fails, Event{At: 10 * time.Minute, DeleteNode: named("a")})
	require.InDelta(t, (9*time.Minute + 50*time.Second).Hours(), r.PodHoursLost, 1e-9)
}

func TestPodsOfADeletedNodeAndDeletedPodsComeBack(t *testing.T) {
	back, _ := schedules(t, fleet(t, kinds...), Event{At: time.Minute, DeleteNode: named("a")})
	require.Equal(t, map[string]time.Duration{"ReplicaSet-r1": 110 * time.Second, "Job-r1": 120 * time.Second, "StatefulSet": 110 * time.Second}, back)
	var events []Event
	for _, kind := range kinds {
		events = append(events, Event{At: 100 * time.Second, DeletePod: &Pod{Name: kind}})
	}
	again, _ := schedules(t, fleet(t, kinds...), events...)
	require.Equal(t, back, again)
}

// A pod that is bound to a node whose kubelet does not learn of it does not run, and nobody has it, before the kubelet does.
func TestAPodRunsOnceItsKubeletLearnsOfIt(t *testing.T) {
	const cutOff, back = 65 * time.Second, 90 * time.Second
	for name, around := range map[string][2]Event{
		"partitioned":                           {{At: cutOff, Partition: &Partition{Nodes: *named("b")}}, {At: back, Recover: named("b")}},
		"silent":                                {{At: cutOff, Fail: named("b")}, {At: back, Recover: named("b")}},
		"no kubelet reaches the API":            {{At: cutOff, API: &API{State: APIDown, For: ForKubelets}}, {At: back, API: &API{State: APIUp, For: ForKubelets}}},
		"back while no kubelet reaches the API": {{At: cutOff, Partition: &Partition{Nodes: *named("b")}}, {At: back, API: &API{State: APIUp, For: ForKubelets}}},
	} {
		events := []Event{{At: time.Minute, Cordon: named("a", "c")}, {At: time.Minute, DeletePod: &Pod{Name: "ReplicaSet"}}, around[0]}
		if name == "back while no kubelet reaches the API" {
			events = append(events, Event{At: cutOff, API: &API{State: APIDown, For: ForKubelets}}, Event{At: back - 10*time.Second, Recover: named("b")})
		}
		schedule, r := schedules(t, fleet(t, "ReplicaSet"), append(events, around[1])...)
		require.Equal(t, map[string]time.Duration{"ReplicaSet-r1": 70 * time.Second}, schedule, name)
		require.InDelta(t, (back - time.Minute).Hours(), r.PodHoursLost, 1e-9, name)
		require.Equal(t, Level{
			Desired: 1, Lows: Lows{LowestAt: time.Minute, Below: back - time.Minute, BelowHalf: back - time.Minute}, LongestBelowHalf: back - time.Minute,
			PodHoursMissing: (back - time.Minute).Hours(), ReadyAtEnd: 1,
		}, r.Workloads[0].Level, name)
	}
	_, r := schedules(t, fleet(t, "ReplicaSet"), Event{At: time.Minute, Cordon: named("a", "c")}, Event{At: time.Minute, DeletePod: &Pod{Name: "ReplicaSet"}},
		Event{At: cutOff, Partition: &Partition{Nodes: *named("b")}}, Event{At: 10 * time.Minute, DeleteNode: named("b")})
	require.Equal(t, []int{1, 0, 0}, []int{r.Evicted, r.EvictedWhileRunning, r.RemovedWhileRunning}, "it never ran")

	_, r = play(t, Scenario{
		Zones:  []Zone{{Name: "a", Nodes: 3, PodsPerNode: 2}},
		Events: []Event{{At: time.Minute, Partition: &Partition{Nodes: *named("a-000")}}, {At: 90 * time.Second, DeleteNode: named("a-000")}}, Until: 10 * time.Minute,
	})
	require.Zero(t, r.RemovedWhileRunning, "the machine is gone")
	require.Positive(t, r.PodHoursLost)
}

func TestAPodWithoutRoomIsPendingUntilThereIsSome(t *testing.T) {
	c := newCluster(clockOf(nil))
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
		Event{At: time.Minute, DeleteNode: named("a")},
		Event{At: 3*time.Minute + time.Second, Cordon: named("c")},
		Event{At: 5*time.Minute + 123*time.Millisecond, DeletePod: &Pod{Name: "q"}},
	)
	require.Equal(t, 5*time.Minute+123*time.Millisecond, back["p-r1"], "at once, not at the next pass")
	require.NotContains(t, back, "q-r1", "there is no room for both")
}

func TestGeneratedPodsTolerateAsTheAPIServerLetsThem(t *testing.T) {
	for want, zone := range map[time.Duration]Zone{
		300 * time.Second: {},
		30 * time.Second:  {TolerationSeconds: ptr(TolerationSeconds(30))},
		0:                 {TolerationSeconds: ptr(NoToleration)},
	} {
		zone.Name, zone.Nodes, zone.PodsPerNode = "a", 3, 1
		_, r := play(t, Scenario{
			Zones: []Zone{zone}, LeasesTogether: true,
			Events:       []Event{{At: 61 * time.Second, Fail: named("a-000")}},
			Until:        20 * time.Minute,
			ReplaceAfter: -1,
		})
		require.Equal(t, 1, r.Evicted)
		require.Equal(t, 54*time.Second+want, r.EvictionDelayWorst, "grace of 50s from the last heartbeat at 60s, found out at the pass of 115s")
	}
}
