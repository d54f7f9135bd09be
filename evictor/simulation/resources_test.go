package simulation_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/simulation"
)

// sized returns a pod that requests CPUs in an init container and a container, and a GPU.
func sized(name, node string) *v1.Pod {
	p := pod(name, node, "ReplicaSet", "web")
	asks := v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("500m"), "nvidia.com/gpu": resource.MustParse("1")}}
	p.Spec.InitContainers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: cpus("1500m")}}}
	p.Spec.Containers = []v1.Container{{Resources: asks}}
	return p
}

// Controllers see what a node has for pods, also when it was added or replaced, and what the scheduler counts for a pod.
func TestStoresShowResources(t *testing.T) {
	given := v1.ResourceList{v1.ResourceCPU: resource.MustParse("4"), "nvidia.com/gpu": resource.MustParse("2")}
	both := node("both", "z", given)
	both.Status.Capacity = cpus("5")
	whole := node("whole", "z", nil)
	whole.Status.Capacity = given
	s := simulation.Scenario{
		Nodes: []*v1.Node{both, whole, node("unlimited", "z", nil)},
		Pods:  []*v1.Pod{sized("web-0", "both"), pod("plain", "both", "", "")},
		Events: []simulation.Event{
			{At: time.Minute, AddNode: &simulation.AddNode{Name: "added", Zone: "z", NodeFields: simulation.NodeFields{
				Capacity: map[string]simulation.Quantity{"cpu": "4", "nvidia.com/gpu": "2"},
			}}},
			{At: time.Minute, ReplaceNode: &simulation.ReplaceNode{Nodes: simulation.Nodes{Names: []string{"both"}}, After: time.Minute}},
		},
		Until: 5 * time.Minute,
	}
	play(t, s, stepping(func(w *simulation.World, now time.Duration) (time.Duration, error) {
		has := func(name string) (allocatable, capacity string) {
			n, ok := w.Clients().Nodes.Node(name)
			require.True(t, ok, name)
			gpus := n.Status.Allocatable["nvidia.com/gpu"]
			return n.Status.Allocatable.Cpu().String() + "+" + gpus.String(), n.Status.Capacity.Cpu().String()
		}
		if now == 0 || now == 3*time.Minute {
			allocatable, capacity := has("both")
			require.Equal(t, []string{"4+2", "5"}, []string{allocatable, capacity})
			allocatable, capacity = has("whole")
			require.Equal(t, []string{"4+2", "4"}, []string{allocatable, capacity})
			none, _ := w.Clients().Nodes.Node("unlimited")
			require.Empty(t, none.Status.Allocatable)
		}
		if now == 0 {
			web, _ := w.Clients().Pods.Pod(evictor.PodKey{Namespace: "default", Name: "web-0"})
			require.Len(t, web.Spec.Containers, 1)
			asks := web.Spec.Containers[0].Resources.Requests
			require.Len(t, asks, 2)
			gpus := asks["nvidia.com/gpu"]
			require.Equal(t, []string{"1500m", "1"}, []string{asks.Cpu().String(), gpus.String()})
			w.Clients().Pods.PodsOnNode("both", func(p *v1.Pod) bool {
				require.Equal(t, p.Name == "web-0", len(p.Spec.Containers) == 1, p.Name)
				return true
			})
			return 3 * time.Minute, nil
		}
		if now == 3*time.Minute {
			allocatable, _ := has("added")
			require.Equal(t, "4+2", allocatable)
		}
		return 0, nil
	}))
}

// A Gate of one's own is played like everything else.
func TestAGateIsPlayed(t *testing.T) {
	s := failing()
	r, lines := play(t, s, ours(evictor.Options{Gate: gate.Func(func(_ context.Context, act gate.Act) error {
		if act.Do == gate.Evict && act.Pod.Name == "db-0" {
			return &gate.Refused{Reason: "no room", Again: simulation.Epoch.Add(15 * time.Minute)}
		}
		return nil
	})}))
	require.Equal(t, []string{"6m45s a web-0"}, of(lines, "evict"))
	require.Equal(t, 1, r.Evicted)
}

// A database stays where its disk is, and a Job ends once more of its pods have failed than it allows.
func TestVolumesAndJobs(t *testing.T) {
	isTrue := true
	disk := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "disk", Labels: map[string]string{v1.LabelTopologyZone: "a"}}}
	disk.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: "data"}
	disk.Status.Phase = v1.VolumeBound
	claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data", Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"}}}
	claim.Spec.VolumeName, claim.Status.Phase = "disk", v1.ClaimBound
	s := simulation.Scenario{
		Nodes:  []*v1.Node{node("a1", "a", nil), node("b1", "b", nil)},
		Events: []simulation.Event{{At: time.Minute, DeleteNode: &simulation.Nodes{Names: []string{"a1"}}}},
		Until:  20 * time.Minute,
	}
	db := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "db-0", OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", Name: "db", Controller: &isTrue}}}}
	db.Spec.NodeName = "a1"
	db.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	batch := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "batch-0", OwnerReferences: []metav1.OwnerReference{{Kind: "Job", Name: "batch", Controller: &isTrue}}}}
	batch.Spec.NodeName = "a1"
	s.Pods = []*v1.Pod{db, batch}
	none, one := int32(0), int32(1)
	s.Objects = []runtime.Object{disk, claim, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "batch"}, Spec: batchv1.JobSpec{BackoffLimit: &none, Parallelism: &one}}}
	r, err := simulation.Play(context.Background(), s)
	require.NoError(t, err)
	require.Equal(t, 1, r.PendingAtEnd, "no node is left in the zone of its disk")
	require.Zero(t, r.ReturnedPods, "the Job has failed")
}

// A node whose capacity nobody states takes any number of pods. The report says so where a kubelet would not have taken them.
func TestNodesWithoutCapacityAreNamedOnceTheyAreTooFull(t *testing.T) {
	for pods, want := range map[int][]string{
		8:  nil,
		20: {"node b-000 had 223 pods, because it states no capacity: a kubelet takes 110 unless its maxPods says otherwise, as capacity: {pods: 110} plays"},
	} {
		s := simulation.Scenario{
			Zones:  []simulation.Zone{{Name: "a", Nodes: 10, PodsPerNode: pods}, {Name: "b", Nodes: 1, PodsPerNode: pods, DaemonSetPodsPerNode: 3}},
			Events: []simulation.Event{{At: time.Minute, Fail: &simulation.Nodes{Zone: "a"}}}, Until: 30 * time.Minute,
		}
		done := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "done"}, Spec: v1.PodSpec{NodeName: "b-000"}, Status: v1.PodStatus{Phase: v1.PodSucceeded}}
		s.Pods = []*v1.Pod{done}
		r, err := simulation.Play(context.Background(), s)
		require.NoError(t, err)
		require.Equal(t, want, r.Warnings)
		s.Zones[1].Capacity = map[string]simulation.Quantity{"pods": "113"}
		r, err = simulation.Play(context.Background(), s)
		require.NoError(t, err)
		require.Empty(t, r.Warnings)
		require.Equal(t, max(0, 11*pods-110), r.PendingAtEnd)
	}
}
