package clientgo_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
)

// node is a node whose kubelet reported Ready.
func node(name string) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid-node", Labels: map[string]string{v1.LabelTopologyZone: "a"}, CreationTimestamp: metav1.Now()},
		Status:     v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, LastHeartbeatTime: metav1.Now()}}},
	}
}

func pod(name, node string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: "uid-pod"},
		Spec:       v1.PodSpec{NodeName: node},
		Status: v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{
			{Type: v1.PodReady, Status: v1.ConditionTrue}, {Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: metav1.Now()},
		}},
	}
}

func lease(node string) *coordinationv1.Lease {
	now := metav1.NowMicro()
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: v1.NamespaceNodeLease, Name: node}, Spec: coordinationv1.LeaseSpec{RenewTime: &now}}
}

func TestTenLines(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	client := fake.NewClientset([]runtime.Object{node("a-0"), node("a-1"), pod("p", "a-0"), lease("a-0"), lease("a-1")}...)
	factory := informers.NewSharedInformerFactory(client, 0)
	cluster, err := clientgo.New(client, factory, clientgo.Options{LeaseSilence: -1})
	require.NoError(t, err)
	config := evictor.DefaultConfig()
	config.NodeMonitorPeriod, config.NodeMonitorGracePeriod, config.NodeEvictionRate = 0, time.Second, 100
	e, err := evictor.New(config, cluster.Clients(), evictor.Options{})
	require.NoError(t, err)
	require.NoError(t, cluster.Feed(e))
	w, err := client.CoreV1().Pods("shop").Watch(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	factory.Start(ctx.Done())
	go func() {
		for event := range w.ResultChan() {
			if event.Type == "DELETED" {
				cancel()
			}
		}
	}()
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(300 * time.Millisecond):
				_, _ = client.CoordinationV1().Leases(v1.NamespaceNodeLease).Update(ctx, lease("a-1"), metav1.UpdateOptions{})
			}
		}
	}()
	require.ErrorIs(t, e.Run(ctx), context.Canceled)
	n, err := client.CoreV1().Nodes().Get(context.Background(), "a-0", metav1.GetOptions{})
	require.NoError(t, err)
	t.Log(n.Spec.Taints, n.Status.Conditions)
	for _, d := range e.Explain("shop/p") {
		t.Log(d)
	}
}
