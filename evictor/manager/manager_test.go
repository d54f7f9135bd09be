//go:build go1.25

package manager_test

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/explain"
	"github.com/evictkit/evictkit/evictor/manager"
)

// TestMain takes client-go's handlers of errors away: the last of them sleeps by a clock that it shares with all
// bubbles.
func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = nil
	ctrl.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

func node(name string) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid-node", Labels: map[string]string{v1.LabelTopologyZone: "a"}, CreationTimestamp: metav1.Now()},
		Status:     v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, LastHeartbeatTime: metav1.Now()}}},
	}
}

// pod tolerates what the evictor taints for five minutes, as all do that an API server admits.
func pod(name, node string) *v1.Pod {
	seconds := int64(300)
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: "uid-pod"},
		Spec:       v1.PodSpec{NodeName: node, Tolerations: []v1.Toleration{{Key: v1.TaintNodeUnreachable, Operator: v1.TolerationOpExists, TolerationSeconds: &seconds}}},
		Status:     v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}},
	}
}

func lease(node string) *coordinationv1.Lease {
	now := metav1.NowMicro()
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: v1.NamespaceNodeLease, Name: node}, Spec: coordinationv1.LeaseSpec{RenewTime: &now}}
}

// renew lets so much time pass, in which the kubelets of these nodes renew their leases.
func renew(t *testing.T, a *api, d time.Duration, nodes ...string) {
	t.Helper()
	for ; d > 0; d -= 10 * time.Second {
		for _, name := range nodes {
			_, err := a.client.CoordinationV1().Leases(v1.NamespaceNodeLease).Update(t.Context(), lease(name), metav1.UpdateOptions{})
			require.NoError(t, err)
		}
		time.Sleep(10 * time.Second)
	}
	synctest.Wait()
}

func pods(t *testing.T, a *api) (names []string) {
	t.Helper()
	list, err := a.client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

// TestAManagerWatchesOnce, its evictor and its reconcilers together; a node goes silent, and its pod leaves five
// minutes after it was tainted.
func TestAManagerWatchesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		a := newAPI(node("a-0"), node("a-1"), node("a-2"), lease("a-0"), lease("a-1"), lease("a-2"), pod("cart", "a-0"), pod("till", "a-1"))
		why := explain.New(1000)
		mgr, _, err := manager.New(a.config(), ctrl.Options{
			LeaderElection: true, LeaderElectionID: "l", LeaderElectionNamespace: "kube-system", LeaderElectionReleaseOnCancel: true, Metrics: server.Options{BindAddress: "0"},
		}, evictor.DefaultConfig(), manager.Options{Registerer: prometheus.NewRegistry(), Evictor: evictor.Options{Observer: why}})
		require.NoError(t, err)
		again := true // a name is taken for the life of a process, which may run this test twice
		nothing := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, nil })
		require.NoError(t, ctrl.NewControllerManagedBy(mgr).For(&v1.Pod{}).Watches(&v1.Node{}, &handler.EnqueueRequestForObject{}).
			WithOptions(controller.Options{SkipNameValidation: &again}).Complete(nothing))
		ran := make(chan error)
		go func() { ran <- mgr.Start(ctx) }()
		all := []string{"a-0", "a-1", "a-2"}
		renew(t, a, 2*time.Minute, all...)
		require.Len(t, pods(t, a), 2)
		renew(t, a, 5*time.Minute, all[1:]...)
		require.Len(t, pods(t, a), 2)
		renew(t, a, 90*time.Second, all[1:]...)
		require.Equal(t, []string{"till"}, pods(t, a))
		require.Contains(t, why.Explain("shop/cart")[0].String(), "no decisions yet")
		requests := a.requests()
		for _, kind := range []string{"nodes", "pods", "leases"} {
			require.Equal(t, 1, requests["watch "+kind]-requests["stream "+kind], kind)
			require.Equal(t, 1, requests["list "+kind], kind)
		}
		require.Zero(t, a.old)
		cancel()
		require.NoError(t, <-ran)
		time.Sleep(time.Second) // client-go's queues look twice a second whether they may end
	})
}

// TestAReplicaThatDoesNotLeadWritesNothing, and sees everything.
func TestAReplicaThatDoesNotLeadWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		another, now, seconds := "another", metav1.NowMicro(), int32(3600)
		taken := &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "l"},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &another, RenewTime: &now, AcquireTime: &now, LeaseDurationSeconds: &seconds},
		}
		a := newAPI(node("a-0"), node("a-1"), node("a-2"), lease("a-0"), lease("a-1"), lease("a-2"), pod("cart", "a-0"), taken)
		mgr, e, err := manager.New(a.config(), ctrl.Options{
			LeaderElection: true, LeaderElectionID: "l", LeaderElectionNamespace: "kube-system", Metrics: server.Options{BindAddress: "0"},
		}, evictor.DefaultConfig(), manager.Options{Registerer: prometheus.NewRegistry()})
		require.NoError(t, err)
		ran := make(chan error, 1)
		go func() { ran <- mgr.Start(ctx) }()
		renew(t, a, time.Minute, "a-0", "a-1", "a-2")
		renew(t, a, 10*time.Minute, "a-1", "a-2")
		require.Equal(t, []string{"cart"}, pods(t, a))
		seen, known := e.Nodes().Node("a-0")
		require.True(t, known)
		require.Equal(t, v1.ConditionUnknown, seen.Verdict.Ready)
		for verb, n := range a.requests() {
			require.NotContains(t, verb, "patch", n)
			require.NotContains(t, verb, "post", n)
		}
		cancel()
		require.NoError(t, <-ran)
		time.Sleep(time.Second)
	})
}

// TestAManagerChecksItsAPIServer before its evictor runs, and ends with what is missing. An API server that does not say which
// version it is, is a warning.
func TestAManagerChecksItsAPIServer(t *testing.T) {
	forbid := func(resource, verb string) func(*authorizationv1.ResourceAttributes) bool {
		return func(asked *authorizationv1.ResourceAttributes) bool {
			return asked.Resource == resource && asked.Verb == verb
		}
	}
	narrow := cache.Options{ByObject: map[client.Object]cache.ByObject{&coordinationv1.Lease{}: {Namespaces: map[string]cache.Config{v1.NamespaceNodeLease: {}}}}}
	for name, row := range map[string]struct {
		version string
		denied  func(*authorizationv1.ResourceAttributes) bool
		cache   cache.Options
		dryRun  bool
		ends    string // with that; or does not
		warns   string
	}{
		"all is well":    {version: "v1.36.3"},
		"too old":        {version: "v1.18.6", ends: "the API server is v1.18.6, which is too old: the oldest supported version is 1.22"},
		"no version":     {version: "v0.0.0-master+abc", warns: "the API server does not report its version"},
		"may not delete": {version: "v1.36.3", denied: forbid("pods", "delete"), ends: "no permission to delete pods"},
		"need not":       {version: "v1.36.3", denied: forbid("pods", "delete"), dryRun: true},
		"may not list":   {version: "v1.36.3", denied: forbid("leases", "list"), ends: "no permission to list leases.coordination.k8s.io"},
		"where it lists": {version: "v1.36.3", denied: forbid("leases", "list"), cache: narrow, ends: "no permission to list leases.coordination.k8s.io in kube-node-lease"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				a := newAPI(node("a-0"), lease("a-0"))
				a.gitVersion, a.denied = row.version, row.denied
				var said strings.Builder
				more := manager.Options{Registerer: prometheus.NewRegistry(), DryRun: row.dryRun}
				more.Cluster.Logger = slog.New(slog.NewTextHandler(&said, nil))
				mgr, e, err := manager.New(a.config(), ctrl.Options{Metrics: server.Options{BindAddress: "0"}, Cache: row.cache}, evictor.DefaultConfig(), more)
				require.NoError(t, err)
				ran := make(chan error, 1)
				go func() { ran <- mgr.Start(ctx) }()
				time.Sleep(time.Minute)
				_, decides := e.Nodes().Node("a-0")
				require.Equal(t, row.ends == "", decides)
				cancel()
				if err := <-ran; row.ends == "" {
					require.NoError(t, err)
				} else {
					require.EqualError(t, err, row.ends)
				}
				require.Contains(t, said.String(), row.warns)
				time.Sleep(time.Second) // client-go's queues look twice a second whether they may end
			})
		})
	}
}
