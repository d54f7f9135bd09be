//go:build go1.25

package clientgo_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/evictkit/evictkit/evictor/clientgo"
)

// programs is a cache that a program runs, as controller-runtime's: it makes informers when they are asked for and
// starts them.
type programs struct {
	factory informers.SharedInformerFactory
	stop    <-chan struct{}
	hide    bool // the informers of leases have no index, as those of a few namespaces alone

	mu      sync.Mutex
	refuses error // guarded by mu
	asked   int   // guarded by mu
}

// cached is a cache in a bubble, until the test ends.
func cached(t *testing.T, client *fake.Clientset) *programs {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p := &programs{factory: informers.NewSharedInformerFactory(client, never), stop: ctx.Done()}
	t.Cleanup(func() {
		cancel()
		p.factory.Shutdown()
	})
	return p
}

func (p *programs) refuse(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = err
}

// plain has no more than it must.
type plain struct{ clientgo.Informer }

func (p *programs) GetInformer(_ context.Context, example clientgo.Object) (clientgo.Informer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	if p.refuses != nil {
		return nil, p.refuses
	}
	var informer cache.SharedIndexInformer
	switch example.(type) {
	case *v1.Node:
		informer = p.factory.Core().V1().Nodes().Informer()
	case *v1.Pod:
		informer = p.factory.Core().V1().Pods().Informer()
	case *coordinationv1.Lease:
		informer = p.factory.Coordination().V1().Leases().Informer()
		p.factory.Start(p.stop)
		if p.hide {
			return plain{informer}, nil
		}
	default:
		return nil, fmt.Errorf("%T was not expected", example)
	}
	p.factory.Start(p.stop)
	return informer, nil
}

// TestACacheThatCannotBeHadIsAwaited, with what it says, and tried again.
func TestACacheThatCannotBeHadIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		client := fake.NewClientset(node("a-0"), lease("a-0"))
		p := cached(t, client)
		p.refuse(errors.New("no mapping"))
		cluster, err := clientgo.New(client, clientgo.Options{Informers: p.GetInformer})
		require.NoError(t, err)
		require.Zero(t, p.asked, "New asks nobody")
		require.NoError(t, cluster.Feed(&heard{}))
		ran := make(chan error)
		go func() { ran <- cluster.Run(ctx) }()
		time.Sleep(time.Minute)
		require.False(t, cluster.Synced())
		require.Equal(t, "the first list of nodes, pods, leases; reading nodes fails: no mapping; reading pods fails: no mapping; reading leases fails: no mapping", cluster.Awaits())
		_, ok := cluster.Clients().Nodes.Node("a-0")
		require.False(t, ok)
		p.refuse(nil)
		time.Sleep(2 * time.Second)
		require.True(t, cluster.Synced())
		_, ok = cluster.Clients().Nodes.Node("a-0")
		require.True(t, ok)
		cancel()
		require.NoError(t, <-ran)
	})
}

// TestOneCacheServesTwo: two Clusters read the same informers.
func TestOneCacheServesTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		client := fake.NewClientset(node("a-0"), lease("a-0"), pod("p", "a-0"))
		p := cached(t, client)
		ran := make(chan error)
		var clusters []*clientgo.Cluster
		for range 2 {
			cluster, err := clientgo.New(client, clientgo.Options{Informers: p.GetInformer})
			require.NoError(t, err)
			go func() { ran <- cluster.Run(ctx) }()
			synctest.Wait()
			clusters = append(clusters, cluster)
		}
		for _, cluster := range clusters {
			time.Sleep(time.Second)
			require.True(t, cluster.Synced())
			found := 0
			cluster.Clients().Pods.PodsOnNode("a-0", func(*v1.Pod) bool { found++; return true })
			require.Equal(t, 1, found)
		}
		require.Equal(t, 1, watches(client, "pods"))
		cancel()
		require.NoError(t, <-ran)
		require.NoError(t, <-ran)
	})
}

// counting counts an informer's handlers.
type counting struct {
	cache.SharedIndexInformer
	handlers *atomic.Int32
}

func (c counting) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	c.handlers.Add(1)
	return c.SharedIndexInformer.AddEventHandler(h)
}

func (c counting) RemoveEventHandler(r cache.ResourceEventHandlerRegistration) error {
	c.handlers.Add(-1)
	return c.SharedIndexInformer.RemoveEventHandler(r)
}

// TestACacheTellsNobodyAfterRun: it lives on, and would keep the Clusters of earlier terms with it.
func TestACacheTellsNobodyAfterRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		client := fake.NewClientset(node("a-0"), lease("a-0"), pod("p", "a-0"))
		p := cached(t, client)
		var handlers atomic.Int32
		cluster, err := clientgo.New(client, clientgo.Options{Informers: func(ctx context.Context, example clientgo.Object) (clientgo.Informer, error) {
			informer, err := p.GetInformer(ctx, example)
			return counting{informer.(cache.SharedIndexInformer), &handlers}, err
		}})
		require.NoError(t, err)
		require.NoError(t, cluster.Feed(&heard{}))
		ran := make(chan error)
		go func() { ran <- cluster.Run(ctx) }()
		time.Sleep(time.Second)
		require.True(t, cluster.Synced())
		require.GreaterOrEqual(t, int(handlers.Load()), 3)
		cancel()
		require.NoError(t, <-ran)
		require.NoError(t, cluster.Feed(&heard{}), "too late")
		require.Zero(t, handlers.Load())
	})
}

// TestAnInformerThatCannotBeRead is named where it would be read, that is for nodes and pods; of leases the guard reads
// its own copy.
func TestAnInformerThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		client := fake.NewClientset(node("a-0"), lease("a-0"))
		p := cached(t, client)
		p.hide = true
		cluster, err := clientgo.New(client, clientgo.Options{Informers: func(ctx context.Context, example clientgo.Object) (clientgo.Informer, error) {
			informer, err := p.GetInformer(ctx, example)
			switch example.(type) {
			case *v1.Pod:
				return plain{informer}, err
			case *v1.Node:
				return nil, nil
			}
			return informer, err
		}})
		require.NoError(t, err)
		ran := make(chan error)
		go func() { ran <- cluster.Run(ctx) }()
		time.Sleep(time.Minute)
		require.Equal(t, "the first list of nodes, pods; reading nodes fails: the cache returned a nil informer; "+
			"reading pods fails: clientgo_test.plain has no GetIndexer and cannot be read: is it restricted to a few namespaces?", cluster.Awaits())
		cancel()
		require.NoError(t, <-ran)
	})
}

// TestTheGuardReadsItsOwnCopyOfLeases where their informer cannot be read.
func TestTheGuardReadsItsOwnCopyOfLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		client := fake.NewClientset(node("a-0"), lease("a-0"), lease("gone"))
		p := cached(t, client)
		p.hide = true
		cluster, err := clientgo.New(client, clientgo.Options{Informers: p.GetInformer})
		require.NoError(t, err)
		ran := make(chan error)
		go func() { ran <- cluster.Run(ctx) }()
		time.Sleep(time.Second)
		leases := client.CoordinationV1().Leases(v1.NamespaceNodeLease)
		_, err = leases.Update(ctx, lease("a-0"), metav1.UpdateOptions{})
		require.NoError(t, err)
		require.NoError(t, leases.Delete(ctx, "gone", metav1.DeleteOptions{}))
		time.Sleep(time.Minute)
		require.NoError(t, cluster.Health(), "nobody renews indeed")
		read := make(map[string]bool)
		for _, action := range client.Actions() {
			if get, ok := action.(interface{ GetName() string }); ok && action.GetVerb() == "get" {
				read[get.GetName()] = true
			}
		}
		require.Equal(t, map[string]bool{"a-0": true}, read)
		cancel()
		require.NoError(t, <-ran)
	})
}
