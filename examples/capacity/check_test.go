package capacity_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/explain"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/tainteviction"
	"github.com/evictkit/evictkit/examples/capacity"
)

func cpus(n string) v1.ResourceList { return v1.ResourceList{v1.ResourceCPU: resource.MustParse(n)} }

func node(name string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodeStatus{Allocatable: cpus("4")}}
}

func pod(name, on string) *v1.Pod {
	isTrue := true
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PodSpec{NodeName: on}}
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", Controller: &isTrue}}
	pod.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: cpus("2")}}}
	return pod
}

// scenario: node a fails at 0:05 when there is room for one of its two pods, and a node is added at 0:30. Node b needs
// maintenance at 1:10, when there is again room for one pod, and another node is added at 2:30.
func scenario() simulation.Scenario {
	b := simulation.Nodes{Names: []string{"b"}}
	return simulation.Scenario{
		Nodes: []*v1.Node{node("a"), node("b"), node("c")},
		Pods:  []*v1.Pod{pod("a1", "a"), pod("a2", "a"), pod("b1", "b"), pod("b2", "b"), pod("c1", "c")},
		Events: []simulation.Event{
			{At: 5 * time.Minute, Fail: &simulation.Nodes{Names: []string{"a"}}},
			{At: 30 * time.Minute, AddNode: &simulation.AddNode{Node: node("d")}},
			{At: 70 * time.Minute, Taint: &simulation.Taint{Nodes: b, NodeTaint: simulation.NodeTaint{Key: "maintenance", Effect: v1.TaintEffectNoExecute}}},
			{At: 150 * time.Minute, AddNode: &simulation.AddNode{Node: node("e")}},
		},
		Until: 3 * time.Hour,
	}
}

// Of each two pods one leaves at once, and the other when a node is added. Maintenance waits for two o'clock.
func TestAPodLeavesOnceThereIsRoomAndTheHourPermits(t *testing.T) {
	var lines []string
	_, err := simulation.Play(context.Background(), scenario(), func(w *simulation.World) (simulation.Controller, error) {
		check := capacity.New(w.Clients().Nodes, w.Clients().Pods, w.Clock())
		return w.NewEvictor(evictor.Options{Gate: check, Observer: evictor.Observe(nil, func(d evictor.PodDecision) {
			if d.Kind == tainteviction.EvictionDelayed || d.Kind == tainteviction.PodEvicted {
				lines = append(lines, explain.Pod(d).String())
			}
		})})
	})
	require.NoError(t, err)
	require.Equal(t, []string{
		"00:05:45 pod default/a2: evicted from node a: does not tolerate node.kubernetes.io/unreachable:NoExecute",
		"00:05:45 pod default/a1: eviction held back: no room elsewhere",
		"00:30:48 pod default/a1: evicted from node a: does not tolerate node.kubernetes.io/unreachable:NoExecute",
		"01:10:00 pod default/b2: eviction held back: the nightly batch runs",
		"01:10:00 pod default/b1: eviction held back: the nightly batch runs",
		"02:00:00 pod default/b2: evicted from node b: does not tolerate maintenance:NoExecute",
		"02:00:00 pod default/b1: eviction held back: no room elsewhere",
		"02:30:02 pod default/b1: evicted from node b: does not tolerate maintenance:NoExecute",
	}, lines)
}

// Two pods ask for the same room before either has moved: one gets it. Whoever asks again gives back what it was promised.
func TestRoomIsPromisedOnce(t *testing.T) {
	s := scenario()
	s.Until = time.Second
	_, err := simulation.Play(context.Background(), s, func(w *simulation.World) (simulation.Controller, error) {
		clock := testingclock.NewFakePassiveClock(w.Clock().Now())
		check := capacity.New(w.Clients().Nodes, w.Clients().Pods, clock)
		return simulation.StepFunc(func(ctx context.Context) (time.Time, error) {
			ask := func(name string) error {
				pod, _ := w.Clients().Pods.Pod(evictor.PodKey{Namespace: "default", Name: name})
				return check.May(ctx, gate.Act{Do: gate.Evict, Pod: pod})
			}
			require.NoError(t, ask("a1"))
			require.NoError(t, ask("a1"))
			require.ErrorContains(t, ask("a2"), "no room")
			clock.SetTime(clock.Now().Add(2 * time.Minute))
			require.NoError(t, ask("a2"), "the promise has expired")
			return time.Time{}, nil
		}), nil
	})
	require.NoError(t, err)
}
