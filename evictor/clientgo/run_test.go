//go:build go1.25

package clientgo_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
)

// TestTenLines is the wiring of the package's page, with a node that fails and comes back.
func TestTenLines(t *testing.T) {
	for name, watching := range map[string]func(*testing.T, *fake.Clientset) clientgo.Options{
		"OwnInformers": func(*testing.T, *fake.Clientset) clientgo.Options { return clientgo.Options{} },
		"InformersOfTheProgram": func(t *testing.T, client *fake.Clientset) clientgo.Options {
			return clientgo.Options{Informers: cached(t, client).GetInformer}
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { tenLines(t, watching) }) })
	}
}

func tenLines(t *testing.T, watching func(*testing.T, *fake.Clientset) clientgo.Options) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stays := pod("stays", "a-0")
	stays.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
	soon, thirty := pod("p", "a-0"), int64(30) // not at once: events of one instant would have one name
	soon.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists, TolerationSeconds: &thirty}}
	client := fake.NewClientset([]runtime.Object{node("a-0"), node("a-1"), node("a-2"), soon, pod("elsewhere", "a-1"), stays, lease("a-0")}...)
	failed := false
	renew := func() {
		for _, name := range []string{"a-0", "a-1", "a-2"} {
			if name == "a-0" && failed {
				continue
			}
			_, err := client.CoordinationV1().Leases(v1.NamespaceNodeLease).Update(ctx, lease(name), metav1.UpdateOptions{})
			if apierrors.IsNotFound(err) {
				_, err = client.CoordinationV1().Leases(v1.NamespaceNodeLease).Create(ctx, lease(name), metav1.CreateOptions{})
			}
			require.NoError(t, err)
		}
	}
	pass := func(d time.Duration) {
		for ; d > 0; d -= 10 * time.Second {
			renew()
			time.Sleep(10 * time.Second)
		}
		synctest.Wait()
	}

	cluster, err := clientgo.New(client, watching(t, client))
	require.NoError(t, err)
	e, err := evictor.New(evictor.DefaultConfig(), cluster.Clients(), evictor.Options{Observer: cluster.Events()})
	require.NoError(t, err)
	require.False(t, cluster.Synced())
	ran := make(chan error)
	go func() { ran <- e.Run(ctx) }()

	pass(2 * time.Minute)
	failed = true
	pass(3 * time.Minute)
	n, err := client.CoreV1().Nodes().Get(ctx, "a-0", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, v1.ConditionUnknown, n.Status.Conditions[0].Status)
	require.Len(t, n.Spec.Taints, 2)
	_, err = client.CoreV1().Pods("shop").Get(ctx, "p", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "it tolerates 30 s")
	left, err := client.CoreV1().Pods("shop").List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, left.Items, 2)
	require.Equal(t, map[string]string{
		"RegisteredNode": "node-controller", "NodeNotReady": "node-controller", "TaintManagerEviction": "taint-eviction-controller",
	}, sources(t, client))

	failed = false
	ready := node("a-0")
	ready.Spec.Taints = n.Spec.Taints
	_, err = client.CoreV1().Nodes().Update(ctx, ready, metav1.UpdateOptions{})
	require.NoError(t, err)
	pass(time.Minute)
	n, err = client.CoreV1().Nodes().Get(ctx, "a-0", metav1.GetOptions{})
	require.NoError(t, err)
	require.Empty(t, n.Spec.Taints)
	cancel()
	require.ErrorIs(t, <-ran, context.Canceled)
	require.False(t, cluster.Synced(), "nobody tells it anything any more")
	for _, kind := range []string{"nodes", "pods", "leases"} {
		require.Equal(t, 1, watches(client, kind), kind)
	}
}

// watches is how many watches of that kind were begun.
func watches(client *fake.Clientset, kind string) (n int) {
	for _, action := range client.Actions() {
		if action.GetVerb() == "watch" && action.GetResource().Resource == kind {
			n++
		}
	}
	return n
}

// sources are the components that recorded events, by reason.
func sources(t *testing.T, client *fake.Clientset) map[string]string {
	t.Helper()
	events, err := client.CoreV1().Events(v1.NamespaceAll).List(context.Background(), metav1.ListOptions{})
	require.NoError(t, err)
	by := make(map[string]string)
	for _, event := range events.Items {
		by[event.Reason] = event.Source.Component
	}
	return by
}
