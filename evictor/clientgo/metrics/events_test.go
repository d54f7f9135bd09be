//go:build go1.25

package metrics_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/clientgo/metrics"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
)

// A role without events shows: client-go itself only logs it.
func TestRefusedEventsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		client.PrependReactor("create", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(v1.Resource("events"), "", nil)
		})
		cluster, err := clientgo.New(client, clientgo.Options{})
		require.NoError(t, err)
		m := metrics.New(metrics.Options{})
		m.Clients(cluster.Clients())
		ctx, stop := context.WithCancel(t.Context())
		ran := make(chan error)
		go func() { ran <- cluster.Run(ctx) }()
		synctest.Wait()
		for _, node := range []string{"a", "b"} {
			cluster.Events().ObserveNode(nodelifecycle.Decision{Kind: nodelifecycle.NodeRegistered, Node: node})
		}
		synctest.Wait()
		expect(t, gathered(t, m), `evictkit_event_errors_total{reason="Forbidden"} 2`, "evictkit_event_errors_total")
		stop()
		require.NoError(t, <-ran)
		time.Sleep(time.Second) // client-go's queues look twice a second whether they may end
	})
}
