//go:build go1.25

package manager_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/explain"
	"github.com/evictkit/evictkit/evictor/manager"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
)

// oneHalf runs what build makes for eight minutes, in which a-0 is silent and somebody taints a-1.
func oneHalf(t *testing.T, build func(a *api, options ctrl.Options, more manager.Options) (ctrl.Manager, error)) (a *api, why *explain.Ring) {
	ctx, cancel := context.WithCancel(t.Context())
	a, why = newAPI(node("a-0"), node("a-1"), node("a-2"), lease("a-0"), lease("a-1"), lease("a-2"), pod("cart", "a-0"), pod("till", "a-1")), explain.New(1000)
	mgr, err := build(a, ctrl.Options{Metrics: server.Options{BindAddress: "0"}}, manager.Options{Registerer: prometheus.NewRegistry(), Evictor: evictor.Options{Observer: why}})
	require.NoError(t, err)
	ran := running(func() error { return mgr.Start(ctx) })
	renew(t, a, time.Minute, "a-0", "a-1", "a-2")
	tainted, err := a.client.CoreV1().Nodes().Get(ctx, "a-1", metav1.GetOptions{})
	require.NoError(t, err)
	tainted.Spec.Taints = append(tainted.Spec.Taints, v1.Taint{Key: "broken", Effect: v1.TaintEffectNoExecute})
	_, err = a.client.CoreV1().Nodes().Update(ctx, tainted, metav1.UpdateOptions{})
	require.NoError(t, err)
	renew(t, a, 8*time.Minute, "a-1", "a-2")
	cancel()
	require.NoError(t, <-ran)
	time.Sleep(time.Second) // client-go's queues look twice a second whether they may end
	return a, why
}

// running runs a function and returns its answer.
func running(run func() error) chan error {
	ran := make(chan error, 1)
	go func() { ran <- run() }()
	return ran
}

// Either half runs in a manager alone, and does what is its own: nodes are tainted, or pods leave tainted nodes.
func TestOneHalf(t *testing.T) {
	t.Run("lifecycle", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a, why := oneHalf(t, func(a *api, options ctrl.Options, more manager.Options) (ctrl.Manager, error) {
				mgr, nodes, err := manager.NewLifecycle(a.config(), options, nodelifecycle.DefaultConfig(), more)
				require.NotNil(t, nodes)
				return mgr, err
			})
			silent, err := a.client.CoreV1().Nodes().Get(t.Context(), "a-0", metav1.GetOptions{})
			require.NoError(t, err)
			require.Len(t, silent.Spec.Taints, 2)
			require.Equal(t, []string{"cart", "till"}, pods(t, a))
			require.NotEmpty(t, why.Explain("a-0"))
		})
	})
	t.Run("taint eviction", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a, why := oneHalf(t, func(a *api, options ctrl.Options, more manager.Options) (ctrl.Manager, error) {
				mgr, pods, err := manager.NewTaintEviction(a.config(), options, tainteviction.DefaultConfig(), more)
				require.NotNil(t, pods)
				return mgr, err
			})
			silent, err := a.client.CoreV1().Nodes().Get(t.Context(), "a-0", metav1.GetOptions{})
			require.NoError(t, err)
			require.Empty(t, silent.Spec.Taints)
			require.Equal(t, []string{"cart"}, pods(t, a))
			require.NotEmpty(t, why.Explain("shop/till"))
			require.Zero(t, a.requests()["watch leases"])
		})
	})
	t.Run("lifecycle without taints deletes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			config := nodelifecycle.DefaultConfig()
			config.TaintBasedEviction = false
			a, _ := oneHalf(t, func(a *api, options ctrl.Options, more manager.Options) (ctrl.Manager, error) {
				mgr, _, err := manager.NewLifecycle(a.config(), options, config, more)
				return mgr, err
			})
			require.Equal(t, []string{"till"}, pods(t, a))
		})
	})
}
