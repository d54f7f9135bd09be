package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/evictkit/evictkit/evictor"
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
	mgr, err := ctrl.NewManager(&rest.Config{Host: "http://127.0.0.1:1"}, ctrl.Options{Metrics: server.Options{BindAddress: "0"}})
	require.NoError(t, err)
	require.NoError(t, addEvictor(mgr, evictor.DefaultConfig()))
}
