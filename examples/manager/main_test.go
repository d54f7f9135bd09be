package main

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
)

func TestOnlyTheLeaderWrites(t *testing.T) {
	elected := make(chan struct{})
	may := leading(elected)
	require.Error(t, may())
	close(elected)
	require.NoError(t, may())
	require.False(t, everywhere(nil).NeedLeaderElection(), "the others watch")
}

// The evictor fits into a manager and its registry of metrics; nothing is asked of the API server before the start.
func TestEvictorIsAdded(t *testing.T) {
	before := metrics.Registry
	metrics.Registry = prometheus.NewRegistry()
	defer func() { metrics.Registry = before }()
	mgr, err := ctrl.NewManager(&rest.Config{Host: "http://127.0.0.1:1"}, ctrl.Options{Metrics: server.Options{BindAddress: "0"}})
	require.NoError(t, err)
	require.NoError(t, addEvictor(mgr, evictor.DefaultConfig()))
}

func TestAReplicaIsReadyWithCompleteLists(t *testing.T) {
	client := fake.NewClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	cluster, err := clientgo.New(client, factory, clientgo.Options{})
	require.NoError(t, err)
	require.Error(t, ready(cluster)(nil))
	ctx, cancel := context.WithCancel(context.Background())
	factory.Start(ctx.Done())
	require.Eventually(t, func() bool { return ready(cluster)(nil) == nil }, time.Minute, time.Millisecond)
	cancel()
	factory.Shutdown()
}

// TestTheManagerIsProbed: without a check of its own there is no /healthz.
func TestTheManagerIsProbed(t *testing.T) {
	before := metrics.Registry
	metrics.Registry = prometheus.NewRegistry()
	defer func() { metrics.Registry = before }()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	mgr, err := ctrl.NewManager(&rest.Config{Host: "http://127.0.0.1:1"}, ctrl.Options{HealthProbeBindAddress: address, Metrics: server.Options{BindAddress: "0"}})
	require.NoError(t, err)
	require.NoError(t, addEvictor(mgr, evictor.DefaultConfig()))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	code := func(path string) int {
		response, err := http.Get("http://" + address + path)
		if err != nil {
			return 0
		}
		defer response.Body.Close()
		return response.StatusCode
	}
	require.Eventually(t, func() bool { return code("/readyz") == http.StatusInternalServerError }, time.Minute, 10*time.Millisecond)
	require.Equal(t, http.StatusOK, code("/healthz"))
	cancel()
	require.NoError(t, <-ended)
}
