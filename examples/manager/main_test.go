package main

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// TestTheManagerIsProbed: it is alive, but not ready while it cannot see the cluster. It ends when interrupted.
func TestTheManagerIsProbed(t *testing.T) {
	before := metrics.Registry
	metrics.Registry = prometheus.NewRegistry()
	defer func() { metrics.Registry = before }()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	options := ctrl.Options{HealthProbeBindAddress: address, Metrics: server.Options{BindAddress: "0"}}
	go func() { ended <- run(ctx, &rest.Config{Host: "http://127.0.0.1:1"}, options) }()
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

// TestTheProgramIsShort: it has at most 40 lines, leadership, health and errors included.
func TestTheProgramIsShort(t *testing.T) {
	program, err := os.ReadFile("main.go")
	require.NoError(t, err)
	require.LessOrEqual(t, bytes.Count(program, []byte("\n")), 40)
}
