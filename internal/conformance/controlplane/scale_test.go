package controlplane

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// A hundred thousand nodes and a million pods, twenty times what Kubernetes supports: what the controller needs while
// nothing fails, with a made-up API. It takes some minutes, so it must be requested:
//
//	EVICTKIT_SIZE=1 go test -run TestHundredThousandNodes -v -count=1
func TestHundredThousandNodes(t *testing.T) {
	if os.Getenv("EVICTKIT_SIZE") == "" {
		t.Skip("EVICTKIT_SIZE is not set")
	}
	api := &MadeUp{Zones: 3, Nodes: 100_000, PodsPerNode: 10, Renewal: 10 * time.Second}
	server := httptest.NewServer(api)
	defer server.CloseClientConnections()
	plane := &Plane{dir: t.TempDir()}
	controller, err := plane.BuildExample(context.Background(), "evictord")
	require.NoError(t, err)
	kubeconfig := filepath.Join(plane.dir, "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: server.URL}},
		Contexts:       map[string]*clientcmdapi.Context{"c": {Cluster: "c"}},
		CurrentContext: "c",
	}, kubeconfig))
	s := startSized(t, plane, controller, kubeconfig)
	s.waitReady(t, 20*time.Minute)
	require.Eventually(t, func() bool { // a pass ends the start
		text, err := get("http://" + s.metrics + "/metrics")
		return err == nil && !strings.Contains(text, "update_all_nodes_health_duration_seconds_count 0")
	}, 5*time.Minute, time.Second/4)
	starting := s.status(t).peak
	s.quiet(t, &api.Renewals, func(d time.Duration) { <-time.After(d) })
	_, inUse := heap(t, s.debug)
	t.Logf("memory of the process while starting: %.1f MiB at most, %.2f times what is in use afterwards", mib(starting), starting/inUse)
	require.Less(t, starting, 1.5*inUse)
	require.Less(t, mib(s.status(t).peak), 1.8*1024)
	text, err := get("http://" + s.metrics + "/metrics")
	require.NoError(t, err)
	for z := range api.Zones {
		require.True(t, strings.Contains(text, fmt.Sprintf("node_collector_unhealthy_nodes_in_zone{zone=\"region:\x00:zone-%d\"} 0\n", z)), "all nodes are well")
	}
}
