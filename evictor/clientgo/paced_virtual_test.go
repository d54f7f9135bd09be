//go:build go1.25

package clientgo_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/clientgo/clientgotest"
)

// TestPodsLeaveInTheOrderInWhichTheyAreDue at the limit of the client, whatever nodes they are on: 1,700 pods of one node
// hold up the pod of the next. Each costs two requests. As few are in flight as there are workers, so that the first ones
// leave at once.
func TestPodsLeaveInTheOrderInWhichTheyAreDue(t *testing.T) {
	const many = 1700
	synctest.Test(t, func(t *testing.T) {
		nodes := []string{"a-0", "a-1"}
		objects := []runtime.Object{node(nodes[0]), node(nodes[1])}
		for i := range many + 1 {
			p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: fmt.Sprint("p-", i), UID: types.UID(fmt.Sprint("p-", i))}}
			p.Spec.NodeName, p.Status.Phase = nodes[i/many], v1.PodRunning
			objects = append(objects, p)
		}
		client, evictions := clientgotest.NewClientset(objects...), &deletions{at: map[string]time.Time{}}
		limited, err := kubernetes.NewForConfig(&rest.Config{Host: "http://api", Transport: evictions, QPS: 20, Burst: 30})
		require.NoError(t, err)
		cluster, err := clientgo.New(client, clientgo.Options{EvictionClient: limited})
		require.NoError(t, err)
		e, err := evictor.New(evictor.DefaultConfig(), cluster.Clients(), evictor.Options{})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ran := make(chan error)
		go func() { ran <- e.Run(ctx) }()
		require.NoError(t, clientgotest.Renew(t.Context(), client, nodes...))
		time.Sleep(5 * time.Second)
		var due [2]time.Time
		for i := range due {
			due[i] = time.Now()
			_, err := client.CoreV1().Nodes().Patch(t.Context(), nodes[i], types.MergePatchType, []byte(`{"spec":{"taints":[{"key":"k","effect":"NoExecute"}]}}`), metav1.PatchOptions{})
			require.NoError(t, err)
			time.Sleep(time.Second)
		}
		kubelets(t, client, 5*time.Minute, nodes...)
		stop()
		require.ErrorIs(t, <-ran, context.Canceled)
		require.Len(t, evictions.at, many+1)
		require.Less(t, evictions.first.Sub(due[0]), time.Second)
		require.InDelta(t, 2*time.Minute+48*time.Second, evictions.at[fmt.Sprint("p-", many)].Sub(due[1]), float64(2*time.Second))
	})
}

// deletions are when pods were deleted by an API server that answers at once.
type deletions struct {
	mu    sync.Mutex
	first time.Time
	at    map[string]time.Time
}

// RoundTrip implements http.RoundTripper.
func (d *deletions) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodDelete {
		d.mu.Lock()
		defer d.mu.Unlock()
		if len(d.at) == 0 {
			d.first = time.Now()
		}
		d.at[r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]] = time.Now()
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(`{"kind":"Status","apiVersion":"v1","status":"Success"}`)), Request: r}, nil
}
