//go:build go1.25

package clientgo_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/explain"
	"github.com/evictkit/evictkit/internal/misuse"
)

// taintsOf are the taints of all nodes.
func taintsOf(t *testing.T, client kubernetes.Interface) (all []v1.Taint) {
	t.Helper()
	nodes, err := client.CoreV1().Nodes().List(context.Background(), metav1.ListOptions{})
	require.NoError(t, err)
	for i := range nodes.Items {
		all = append(all, nodes.Items[i].Spec.Taints...)
	}
	return all
}

// TestTheShortestProgramSeesTheLiving: nothing of it can be left out, for it has nothing but the constructions and Run.
func TestTheShortestProgramSeesTheLiving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		client := fake.NewClientset([]runtime.Object{node("a-0"), node("a-1"), lease("a-0"), lease("a-1")}...)
		cluster, err := clientgo.New(client, clientgo.Options{})
		require.NoError(t, err)
		e, err := evictor.New(evictor.DefaultConfig(), cluster.Clients(), evictor.Options{})
		require.NoError(t, err)
		ran := make(chan error)
		go func() { ran <- e.Run(ctx) }()
		for range 60 {
			time.Sleep(10 * time.Second)
			for _, name := range []string{"a-0", "a-1"} {
				_, err := client.CoordinationV1().Leases(v1.NamespaceNodeLease).Update(ctx, lease(name), metav1.UpdateOptions{})
				require.NoError(t, err)
			}
		}
		require.Empty(t, taintsOf(t, client))
		cancel()
		require.ErrorIs(t, <-ran, context.Canceled)
		require.ErrorContains(t, e.Run(t.Context()), "make another Cluster", "a second Run would see nothing")
	})
}

// TestAClusterThatDoesNotRunIsAwaited, by name: who steps an evictor runs the Cluster himself.
func TestAClusterThatDoesNotRunIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(node("a-0"), lease("a-0"))
		cluster, err := clientgo.New(client, clientgo.Options{})
		require.NoError(t, err)
		why := explain.New(1000)
		e, err := evictor.New(evictor.DefaultConfig(), cluster.Clients(), evictor.Options{Observer: why})
		require.NoError(t, err)
		for range 60 {
			_, err := e.Step(t.Context())
			require.NoError(t, err)
			time.Sleep(5 * time.Second)
		}
		told := why.Explain("a-0")
		require.Len(t, told, 1)
		require.Contains(t, told[0].String(), "no decisions yet, waiting for its Cluster to run")
		require.Empty(t, client.Actions())
	})
}

// TestWhatCannotBeListedIsNamed: a program without a permission waits, and says so.
func TestWhatCannotBeListedIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		client := fake.NewClientset(node("a-0"), lease("a-0"))
		client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(v1.Resource("pods"), "", errors.New("no rights"))
		})
		cluster, err := clientgo.New(client, clientgo.Options{})
		require.NoError(t, err)
		ran := make(chan error)
		go func() { ran <- cluster.Run(ctx) }()
		time.Sleep(time.Minute)
		require.False(t, cluster.Synced())
		require.Contains(t, cluster.Awaits(), "the first list of pods; reading pods fails: pods is forbidden: no rights")
		cancel()
		require.NoError(t, <-ran)
		require.Contains(t, cluster.Awaits(), "another Cluster")
	})
}

// TestSeveralRunsAreOne: the last to end ends it, and then it sees nothing and says so.
func TestSeveralRunsAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(node("a-0"), lease("a-0"))
		cluster, err := clientgo.New(client, clientgo.Options{})
		require.NoError(t, err)
		ran := make(chan error)
		run := func() context.CancelFunc {
			ctx, cancel := context.WithCancel(t.Context())
			go func() { ran <- cluster.Run(ctx) }()
			synctest.Wait()
			return cancel
		}
		first, second := run(), run()
		first()
		require.NoError(t, <-ran)
		require.True(t, cluster.Synced())
		second()
		require.NoError(t, <-ran)
		require.False(t, cluster.Synced())
		defer run()()
		require.Error(t, <-ran)
	})
}

func TestWrongUseIsAnswered(t *testing.T) {
	var (
		noClient *kubernetes.Clientset
		noClock  *clocktesting.FakeClock
		noTarget *evictor.Evictor
	)
	background := context.Background()
	cluster := func(o clientgo.Options) *clientgo.Cluster {
		c, err := clientgo.New(fake.NewClientset(), o)
		require.NoError(t, err)
		return c
	}
	made := func(o clientgo.Options) func() error {
		return func() error { return misuse.Said(clientgo.New(fake.NewClientset(), o)) }
	}
	misuse.Check(t, []struct {
		Wrong  string
		Use    func() error
		Answer string
	}{
		{"no client", func() error { return misuse.Said(clientgo.New(nil, clientgo.Options{})) },
			"clientgo: client: Required value: such as kubernetes.NewForConfig makes one"},
		{"a nil pointer as the client", func() error { return misuse.Said(clientgo.New(noClient, clientgo.Options{})) }, "client: Required value"},
		{"no config", func() error { return misuse.Said(clientgo.NewForConfig(nil, clientgo.Options{})) },
			"clientgo: config: Required value: how to reach the API server, such as rest.InClusterConfig returns it"},
		{"a config of no address", func() error {
			return misuse.Said(clientgo.NewForConfig(&rest.Config{Host: "http://[::1"}, clientgo.Options{}))
		},
			"clientgo: the client for nodes: host must be a URL or a host:port pair"},
		{"nil pointers in the options", made(clientgo.Options{EventClient: noClient, EvictionClient: noClient, Clock: clock.WithTicker(noClock)}),
			`[clock: Invalid value: "*testing.FakeClock(nil)": is a nil pointer within an interface; leave the field unset for the default, eventClient: Invalid value: "*kubernetes.Clientset(nil)": ` +
				`is a nil pointer within an interface; leave the field unset for the default, evictionClient: Invalid value: "*kubernetes.Clientset(nil)"`},
		{"a half that is none", made(clientgo.Options{Half: clientgo.TaintEviction + 1}), "half: Invalid value: 3: must be Both, Lifecycle or TaintEviction"},
		{"DaemonSets for a half that deletes no pods", made(clientgo.Options{Half: clientgo.Lifecycle, DaemonSets: true}),
			"daemonSets: Invalid value: true: has no effect unless half is Both: otherwise no pods of failed nodes are deleted"},
		{"what to keep of somebody else's objects", made(clientgo.Options{Informers: new(programs).GetInformer, Keep: clientgo.Keep{Owners: true}}),
			"has no effect with informers, which keep what their transform functions leave: Keep.Slim is one"},
		{"nobody to feed", func() error { return cluster(clientgo.Options{}).Feed(nil) },
			"clientgo: Feed needs a target, such as an evictor, not nil"},
		{"a nil pointer to feed", func() error { return cluster(clientgo.Options{}).Feed(noTarget) }, "clientgo: Feed needs a target"},
		{"a zero Cluster", func() error { return new(clientgo.Cluster).Run(background) }, "clientgo: Run of a zero Cluster: make one with New or NewForConfig"},
		{"Run without a context", func() error { return cluster(clientgo.Options{}).Run(nil) }, "clientgo: Run needs a context, not nil"}, //nolint:staticcheck // it is wrong
		{"Run again, after a context that ended early", func() error {
			c := cluster(clientgo.Options{})
			ended, end := context.WithCancel(background)
			end()
			if err := c.Run(ended); err != nil {
				return err
			}
			return c.Run(background)
		}, "clientgo: this Cluster's Run has ended and cannot be repeated; make another Cluster"},
		{"Step before Run", func() error { return errors.New(cluster(clientgo.Options{}).Awaits()) }, "its Cluster to run (Cluster.Run, which Evictor.Run does)"},
	})
}

// TestEachSortOfRequestHasItsOwnRate: events do not hold evictions up, nor these the lifting of taints.
func TestEachSortOfRequestHasItsOwnRate(t *testing.T) {
	for asked, want := range map[float32]float32{0: 20, 5: 5} {
		config := &rest.Config{Host: "http://127.0.0.1:1", QPS: asked, Burst: 7, RateLimiter: flowcontrol.NewFakeAlwaysRateLimiter()}
		cluster, err := clientgo.NewForConfig(config, clientgo.Options{})
		require.NoError(t, err)
		limiters := make(map[flowcontrol.RateLimiter]bool)
		for _, client := range clientgo.ClientsOf(cluster) {
			limiters[client.CoreV1().RESTClient().GetRateLimiter()] = true
		}
		require.Len(t, limiters, 3)
		for limiter := range limiters {
			require.Equal(t, want, limiter.QPS())
		}
	}
}
