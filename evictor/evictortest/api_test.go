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
