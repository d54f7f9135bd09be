package evictortest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/gate"
)

// A process that begins lists the leases that exist: a dead node's old lease is no sign of life.
func TestRestartSeesLeasesThatExist(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	c.Start(evictor.DefaultConfig())
	c.Advance(time.Minute)
	c.Fail("a-1")
	for range 30 {
		c.Advance(90 * time.Second)
		c.Restart()
	}
	require.Equal(t, []string{"a-1-p0"}, c.Evicted())
}

// A controller of one's own is told of what exists, as informers tell.
func TestFeedListsWhatExists(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 2), evictortest.PodsPerNode(1))
	c.Advance(time.Minute)
	u := &counting{c: c, told: make(map[string]int)}
	c.Feed(u)
	require.Equal(t, map[string]int{
		"node a-0": 1, "node a-1": 1, "lease a-0": 1, "lease a-1": 1, "pod default/a-0-p0": 1, "pod default/a-1-p0": 1,
	}, u.told)
}

// Programs decide by fields that the evictor never reads.
func TestAPodObjectIsShownAsItWasGiven(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3))
	yes, at := true, metav1.NewTime(evictortest.Epoch.Add(-time.Hour))
	given := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "cart", UID: "7", CreationTimestamp: at, Finalizers: []string{"example.com/drain"}, Labels: map[string]string{"app": "cart"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "cart", UID: "8", Controller: &yes}},
		},
		Spec: v1.PodSpec{
			NodeName: "a-0", PriorityClassName: "high", Containers: []v1.Container{{Name: "main", Image: "cart:1"}, {Name: "side", Image: "side:1"}},
			Volumes: []v1.Volume{{Name: "data"}}, Tolerations: []v1.Toleration{{Operator: v1.TolerationOpExists}},
		},
		Status: v1.PodStatus{Phase: v1.PodRunning, PodIP: "10.0.0.1", Conditions: []v1.PodCondition{
			{Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: at}, {Type: "example.com/Warm", Status: v1.ConditionTrue},
		}},
	}
	c.AddPodObject(given)
	shown := func() *v1.Pod {
		pod, ok := c.Clients().Pods.Pod(evictor.PodKey{Namespace: "shop", Name: "cart"})
		require.True(t, ok)
		return pod
	}
	require.Equal(t, given, shown())
	for pod := range podsOn(c, "a-0") {
		require.Equal(t, given, pod)
	}

	c.SetPodReady("shop/cart", false)
	c.Tolerate("shop/cart")
	c.LabelPod("shop/cart", nil)
	want := given.DeepCopy()
	want.Labels, want.Spec.Tolerations = nil, nil
	want.Status.Conditions[0] = v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionFalse}
	require.Equal(t, want, shown())
	c.Fail("a-0")
	c.DeletePod("shop/cart")
	require.Equal(t, evictortest.Epoch, shown().DeletionTimestamp.Time)
}

// podsOn are the pods of a node as the store visits them.
func podsOn(c *evictortest.Cluster, node string) func(func(*v1.Pod) bool) {
	return func(visit func(*v1.Pod) bool) { c.Clients().Pods.PodsOnNode(node, visit) }
}

// A panic of the test's functions fails the test, unless it says what to do about one.
func TestAPanicFailsTheTest(t *testing.T) {
	for name, options := range map[string]evictor.Options{
		"Observer": {Observer: evictor.Observe(func(evictor.NodeDecision) { panic("boom") }, nil)},
		"Gate":     {Gate: gate.Func(func(context.Context, gate.Act) error { panic("boom") })},
		"Hold":     {Hold: func(*v1.Node) (string, bool) { panic("boom") }},
	} {
		t.Run(name, func(t *testing.T) {
			failed := func(options evictor.Options) (message any) {
				defer func() { message = recover() }()
				c := evictortest.New(fatal{}, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
				c.Start(evictor.DefaultConfig(), options)
				c.Fail("a-0")
				c.Advance(10 * time.Minute)
				return nil
			}
			require.Contains(t, failed(options), "evictortest: a function of the test panicked")
			require.Contains(t, failed(options), "boom")
			told := 0
			options.OnPanic = func(any, any, []byte) { told++ }
			require.Nil(t, failed(options))
			require.NotZero(t, told)
		})
	}
}
