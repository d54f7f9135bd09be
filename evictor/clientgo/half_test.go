//go:build go1.25

package clientgo_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
)

// runOn runs an evictor on that cluster until the test ends.
func runOn(t *testing.T, cluster *clientgo.Cluster, options evictor.Options) *evictor.Evictor {
	t.Helper()
	e, err := evictor.New(evictor.DefaultConfig(), cluster.Clients(), options)
	require.NoError(t, err)
	runs(t, e.Run)
	return e
}

// runs runs it until the test ends.
func runs(t *testing.T, run func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error)
	go func() { ran <- run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-ran, context.Canceled)
	})
}

// runPods runs the half that evicts on a cluster for it.
func runPods(t *testing.T, client *fake.Clientset, how clientgo.Options, options tainteviction.Options) *clientgo.Cluster {
	t.Helper()
	how.Half = clientgo.TaintEviction
	cluster, err := clientgo.New(client, how)
	require.NoError(t, err)
	pods, err := tainteviction.New(tainteviction.DefaultConfig(), cluster.TaintEviction(), options)
	require.NoError(t, err)
	runs(t, pods.Run)
	return cluster
}

func TestAHalfNeedsLess(t *testing.T) {
	require.Equal(t, []string{
		"list nodes", "watch nodes", "list pods", "watch pods", "patch pods/status", "delete pods", "create events", "patch events",
	}, permissions(clientgo.Options{Half: clientgo.TaintEviction}))
	require.Equal(t, []string{
		"list nodes", "watch nodes", "list pods", "watch pods", "patch pods/status", "create pods/eviction", "create events", "patch events",
	}, permissions(clientgo.Options{Half: clientgo.TaintEviction, EvictionAPI: true}))
	require.Equal(t, slices.DeleteFunc(permissions(clientgo.Options{}), func(p string) bool { return p == "delete pods" }),
		permissions(clientgo.Options{Half: clientgo.Lifecycle, EvictionAPI: true}))
}

// TestTaintEvictionTouchesNeitherLeasesNorNodes: pods leave, and nothing is asked that the permissions of this half do not name.
func TestTaintEvictionTouchesNeitherLeasesNorNodes(t *testing.T) {
	for name, share := range map[string]bool{"OwnInformers": false, "SharedInformers": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tainted := node("a-0")
				tainted.Spec.Taints = []v1.Taint{{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute}}
				client := fake.NewClientset(tainted, node("a-1"), pod("leaves", "a-0"), pod("stays", "a-1"))
				options := clientgo.Options{Half: clientgo.TaintEviction}
				if share {
					options.Informers = cached(t, client).GetInformer
				}
				cluster := runPods(t, client, options, tainteviction.Options{})
				for range 60 {
					time.Sleep(10 * time.Second)
					require.NoError(t, cluster.MayLead(), "no lease is missed")
				}
				left, err := client.CoreV1().Pods("shop").List(t.Context(), metav1.ListOptions{})
				require.NoError(t, err)
				require.Len(t, left.Items, 1)
				require.Equal(t, "stays", left.Items[0].Name)
				allowed := permissions(options)
				for _, action := range client.Actions() {
					asked := clientgo.Permission{Verb: action.GetVerb(), Resource: action.GetResource().Resource, Subresource: action.GetSubresource()}
					require.Contains(t, allowed, asked.String())
				}
			})
		})
	}
}

// TestWithoutLeasesABrokenWatchIsNoticed: the guard has the watches of nodes and pods to go by.
func TestWithoutLeasesABrokenWatchIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(node("a-0"))
		var mu sync.Mutex
		down, stop := false, func() {}
		client.PrependWatchReactor("pods", func(action clienttesting.Action) (bool, watch.Interface, error) {
			mu.Lock()
			defer mu.Unlock()
			if down {
				return true, nil, errDown
			}
			w, err := client.Tracker().Watch(action.GetResource(), action.GetNamespace())
			if err == nil {
				stop = w.Stop
			}
			return true, w, err
		})
		set := func(to bool) {
			mu.Lock()
			defer mu.Unlock()
			down = to
			stop()
		}
		cluster := runPods(t, client, clientgo.Options{}, tainteviction.Options{})
		time.Sleep(time.Minute)
		require.NoError(t, cluster.MayLead())
		set(true)
		time.Sleep(time.Minute)
		require.ErrorContains(t, cluster.MayLead(), "watches: the watch of pods has been broken for ")
		set(false)
		time.Sleep(2 * time.Minute)
		require.NoError(t, cluster.MayLead())
	})
}

// TestWhoWritesNoNodesTriesAPod, to know whether writes succeed again.
func TestWhoWritesNoNodesTriesAPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tainted := node("a-1")
		tainted.Spec.Taints = []v1.Taint{{Key: "drain", Effect: v1.TaintEffectNoExecute}}
		client := fake.NewClientset(node("a-0"), tainted, pod("p", "a-1"))
		var broken atomic.Bool
		broken.Store(true)
		client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			return broken.Load(), nil, apierrors.NewInternalError(errors.New("a webhook is gone"))
		})
		may := atomic.Bool{}
		may.Store(true)
		cluster := runPods(t, client, clientgo.Options{}, tainteviction.Options{Gate: gate.Leader(func() error {
			if may.Load() {
				return nil
			}
			return errDown
		})})
		time.Sleep(time.Minute)
		require.ErrorContains(t, cluster.MayLead(), "writes: every write has failed for ")
		may.Store(false)
		time.Sleep(time.Minute)
		before := len(client.Actions())
		time.Sleep(time.Minute)
		require.Error(t, cluster.MayLead())
		tries := client.Actions()[before:]
		require.NotEmpty(t, tries)
		for _, action := range tries {
			patch, ok := action.(clienttesting.PatchActionImpl)
			require.True(t, ok, action)
			require.Equal(t, "pods", patch.Resource.Resource)
			require.Equal(t, "status", patch.Subresource)
			require.Equal(t, []string{metav1.DryRunAll}, patch.PatchOptions.DryRun)
		}
		broken.Store(false)
		time.Sleep(5 * time.Second)
		require.NoError(t, cluster.MayLead())
	})
}

// TestAHalfServesNoMore: a controller that needs what is not watched or permitted is refused where it is made.
func TestAHalfServesNoMore(t *testing.T) {
	made := map[string]func(c *clientgo.Cluster) error{
		"Both": func(c *clientgo.Cluster) error {
			_, err := evictor.New(evictor.DefaultConfig(), c.Clients(), evictor.Options{})
			return err
		},
		"Lifecycle": func(c *clientgo.Cluster) error {
			_, err := nodelifecycle.New(nodelifecycle.DefaultConfig(), c.Lifecycle(), nodelifecycle.Options{})
			return err
		},
		"TaintEviction": func(c *clientgo.Cluster) error {
			_, err := tainteviction.New(tainteviction.DefaultConfig(), c.TaintEviction(), tainteviction.Options{})
			return err
		},
	}
	for _, half := range []clientgo.Half{clientgo.Both, clientgo.Lifecycle, clientgo.TaintEviction} {
		for name, make := range made {
			cluster, err := clientgo.New(fake.NewClientset(), clientgo.Options{Half: half})
			require.NoError(t, err)
			err = make(cluster)
			if half == clientgo.Both || half.String() == name {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, `clientgo: half: Invalid value: "`+half.String()+`": is not enough for this controller`)
			}
		}
	}
}
