package evictortest_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/zone"
)

// As with an API server, a status that was read before the kubelet's last report is not written over it.
func TestConditionsOfAnOldReadConflict(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 1))
	clients := c.Clients()
	old, _ := clients.Nodes.Node("a-0")
	c.Condition("a-0", v1.NodeDiskPressure, v1.ConditionTrue)
	unknown := []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionUnknown}}
	require.True(t, apierrors.IsConflict(clients.NodeWriter.UpdateConditions(context.Background(), old, unknown)))
	fresh, _ := clients.Nodes.Node("a-0")
	require.NoError(t, clients.NodeWriter.UpdateConditions(context.Background(), fresh, unknown))
	node, _ := clients.Nodes.Node("a-0")
	for _, condition := range node.Status.Conditions {
		want := map[v1.NodeConditionType]v1.ConditionStatus{v1.NodeDiskPressure: v1.ConditionTrue, v1.NodeReady: v1.ConditionUnknown}[condition.Type]
		if want != "" {
			require.Equal(t, want, condition.Status, condition.Type)
		}
	}
}

func TestAKubeletThatReportsDuringAWriteIsNotOverwritten(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	c.Start(evictor.DefaultConfig())
	c.Fail("a-0")
	c.FailWrites(func(write, _ string) error {
		if write == "conditions" {
			c.Recover("a-0") // just before the write
			c.FailWrites(nil)
		}
		return nil
	})
	c.Advance(2 * time.Minute)
	node, _ := c.Clients().Nodes.Node("a-0")
	for _, condition := range node.Status.Conditions {
		if condition.Type == v1.NodeReady {
			require.Equal(t, v1.ConditionTrue, condition.Status)
		}
	}
}

func TestAPodObjectWithoutANamespaceIsInDefault(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 1))
	c.AddPodObject(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Spec: v1.PodSpec{NodeName: "a-0"}})
	c.DeletePod("x")
	_, ok := c.Clients().Pods.Pod(evictor.PodKey{Namespace: "default", Name: "x"})
	require.False(t, ok)
}

// A pod object tolerates what the API server's admission lets it, but for the taints that it says something about itself.
func TestAPodObjectToleratesAsAdmissionLetsIt(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3))
	c.Start(evictor.DefaultConfig())
	pod := func(name string, tolerations ...v1.Toleration) {
		c.AddPodObject(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PodSpec{NodeName: "a-0", Tolerations: tolerations}})
	}
	pod("usual")
	pod("own", evictortest.TolerateFor(v1.TaintNodeUnreachable, 60))
	pod("ever", v1.Toleration{Operator: v1.TolerationOpExists})
	c.Fail("a-0")
	c.Advance(2 * time.Minute)
	require.Equal(t, []string{"own"}, c.EvictedFrom("a-0"))
	c.Advance(4 * time.Minute)
	require.Equal(t, []string{"own", "usual"}, c.EvictedFrom("a-0"))
	require.Empty(t, c.EvictedFrom("a-1"))
	c.DeleteNode("a-1")
	require.Empty(t, c.EvictedFrom("a-1"), "it was there")
}

// Deadlines count from when a pod was bound, and programs decide by annotations.
func TestAPodObjectHasATimeAndItsAnnotations(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3))
	c.Start(evictor.DefaultConfig())
	c.Advance(time.Minute)
	c.AddPodObject(&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "x", Annotations: map[string]string{"keep": "true"}},
		Spec:       v1.PodSpec{NodeName: "a-0", Tolerations: []v1.Toleration{evictortest.TolerateFor(v1.TaintNodeUnreachable, 300)}},
	})
	pod, _ := c.Clients().Pods.Pod(evictor.PodKey{Namespace: "default", Name: "x"})
	require.Equal(t, evictortest.Epoch.Add(time.Minute), pod.CreationTimestamp.Time)
	require.Equal(t, map[string]string{"keep": "true"}, pod.Annotations)
	c.Fail("a-0")
	c.Advance(3 * time.Minute)
	due := c.Evictor().Pods().Evictions()[0].Due
	c.Restart()
	c.Advance(2 * time.Minute)
	require.Equal(t, due, c.Evictor().Pods().Evictions()[0].Due)
}

func TestPeriodsOfZeroAreRefused(t *testing.T) {
	for _, periods := range [][2]time.Duration{{0, time.Minute}, {time.Second, 0}, {-1, -1}} {
		require.PanicsWithValue(t, "evictortest: the periods of kubelets must be positive", func() {
			evictortest.New(fatal{}, evictortest.Zone("a", 1), evictortest.Heartbeats(periods[0], periods[1]))
		})
	}
}

func TestMethodsSideBySide(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	c.Start(evictor.DefaultConfig())
	var all sync.WaitGroup
	for range 2 {
		for _, do := range []func(){
			func() { _ = c.Evictor() },
			func() { c.Fail("a-0"); c.Recover("a-0") },
			func() { _, _, _, _ = c.Timeline(), c.Evicted(), c.Taints("a-0"), c.HasNoExecute("a-0") },
		} {
			all.Add(1)
			go func() {
				defer all.Done()
				for range 20 {
					do()
				}
			}()
		}
	}
	for range 20 {
		c.Advance(time.Minute)
		c.Restart()
		c.Start(evictor.DefaultConfig())
	}
	all.Wait()
}

func TestAPodOnASilentNodeIsTerminatingSinceItWasDeleted(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 1), evictortest.PodsPerNode(1))
	c.Fail("a-0")
	c.Advance(5 * time.Minute)
	c.DeletePod("a-0-p0")
	c.Advance(time.Minute)
	c.DeletePod("a-0-p0") // again, which changes nothing
	pod, ok := c.Clients().Pods.Pod(evictor.PodKey{Namespace: "default", Name: "a-0-p0"})
	require.True(t, ok)
	require.Equal(t, evictortest.Epoch.Add(5*time.Minute), pod.DeletionTimestamp.Time)
	c.Recover("a-0")
	_, ok = c.Clients().Pods.Pod(evictor.PodKey{Namespace: "default", Name: "a-0-p0"})
	require.False(t, ok)
}

// TestLabels are given to nodes and pods as they are laid out and while they run, and a Gate reads those of nodes: two of a pool may
// be tainted.
func TestLabels(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("r:a", 20), evictortest.PodsPerNode(1),
		evictortest.NodeLabels(func(string) map[string]string { return map[string]string{"pool": "gpu"} }),
		evictortest.PodLabels(func(pod string) map[string]string { return map[string]string{"of": pod} }))
	turns := 0
	c.Start(evictor.DefaultConfig(), evictor.Options{Gate: gate.Func(func(_ context.Context, act gate.Act) error {
		if act.Do != gate.Turn {
			return nil
		}
		if node, _ := c.Clients().Nodes.Node(act.Node); node.Labels["pool"] == "" {
			return nil
		}
		if turns == 2 {
			return &gate.Refused{Reason: "two are enough"}
		}
		turns++
		return nil
	})})
	failed := []string{"a-0", "a-1", "a-2", "a-3", "a-4"}
	c.Fail(failed...)
	tainted := func() (n int) {
		c.Advance(10 * time.Minute)
		for _, name := range failed {
			if c.HasNoExecute(name) {
				n++
			}
		}
		return n
	}
	require.Equal(t, 2, tainted())
	clients := c.Clients()
	node := func(name string) map[string]string {
		n, ok := clients.Nodes.Node(name)
		require.True(t, ok)
		return n.Labels
	}
	before := node("a-4")
	require.Equal(t, "gpu", before["pool"])
	c.LabelNode("a-4", map[string]string{"rack": "7"})
	require.Equal(t, "gpu", before["pool"], "what was handed out stays as it is")
	require.NotContains(t, node("a-4"), "pool")
	require.Equal(t, 3, tainted(), "the node has left the pool")
	c.Relabel("a-4", zone.Key{Zone: "b"})
	require.Equal(t, []string{"7", "b", ""}, []string{node("a-4")["rack"], node("a-4")[v1.LabelTopologyZone], node("a-4")[v1.LabelTopologyRegion]})

	pod := func() map[string]string {
		p, ok := clients.Pods.Pod(evictor.PodKey{Namespace: "default", Name: "a-5-p0"})
		require.True(t, ok)
		return p.Labels
	}
	require.Equal(t, map[string]string{"of": "a-5-p0"}, pod())
	c.LabelPod("a-5-p0", map[string]string{"gang": "g"})
	require.Equal(t, map[string]string{"gang": "g"}, pod())
	c.LabelPod("a-5-p0", nil)
	require.Empty(t, pod())
}
