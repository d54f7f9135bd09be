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
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/zone"
)

func configOf(half evictor.Half) evictor.Config {
	config := evictor.DefaultConfig()
	config.Half = half
	return config
}

// runWith is runEvictor on a cluster with options.
func runWith(t *testing.T, client *fake.Clientset, how clientgo.Options, config evictor.Config, options evictor.Options) *clientgo.Cluster {
	t.Helper()
	cluster, err := clientgo.New(client, how)
	require.NoError(t, err)
	runOn(t, cluster, config, options)
	return cluster
}

// runOn is runEvictor on that cluster.
func runOn(t *testing.T, cluster *clientgo.Cluster, config evictor.Config, options evictor.Options) *evictor.Evictor {
	t.Helper()
	e, err := evictor.New(config, cluster.Clients(), options)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error)
	go func() { ran <- e.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-ran, context.Canceled)
	})
	return e
}

func permissions(o clientgo.Options) (all []string) {
	for _, p := range o.Permissions() {
		all = append(all, p.String())
	}
	return all
}

func TestAHalfNeedsLess(t *testing.T) {
	require.Equal(t, []string{
		"list nodes", "watch nodes", "list pods", "watch pods", "patch pods/status", "delete pods", "create events", "patch events",
	}, permissions(clientgo.Options{Half: evictor.TaintEviction}))
	require.Equal(t, []string{
		"list nodes", "watch nodes", "list pods", "watch pods", "patch pods/status", "create pods/eviction", "create events", "patch events",
	}, permissions(clientgo.Options{Half: evictor.TaintEviction, EvictionAPI: true}))
	require.Equal(t, slices.DeleteFunc(permissions(clientgo.Options{}), func(p string) bool { return p == "delete pods" }),
		permissions(clientgo.Options{Half: evictor.Lifecycle, EvictionAPI: true}))
}

// TestTaintEvictionTouchesNeitherLeasesNorNodes: pods leave, and nothing is asked that the permissions of this half do not name.
func TestTaintEvictionTouchesNeitherLeasesNorNodes(t *testing.T) {
	for name, share := range map[string]bool{"OwnInformers": false, "SharedInformers": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tainted := node("a-0")
				tainted.Spec.Taints = []v1.Taint{{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute}}
				client := fake.NewClientset(tainted, node("a-1"), pod("leaves", "a-0"), pod("stays", "a-1"))
				options := clientgo.Options{Half: evictor.TaintEviction}
				if share {
					options.Factory = informers.NewSharedInformerFactory(client, never)
				}
				cluster := runWith(t, client, options, configOf(evictor.TaintEviction), evictor.Options{})
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
		cluster := runWith(t, client, clientgo.Options{Half: evictor.TaintEviction}, configOf(evictor.TaintEviction), evictor.Options{})
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
		cluster := runWith(t, client, clientgo.Options{Half: evictor.TaintEviction}, configOf(evictor.TaintEviction), evictor.Options{MayWrite: func() error {
			if may.Load() {
				return nil
			}
			return errDown
		}})
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

// TestAHalfServesNoMore: an evictor that needs what is not watched or permitted is refused where it is made.
func TestAHalfServesNoMore(t *testing.T) {
	halves := []evictor.Half{evictor.Both, evictor.Lifecycle, evictor.TaintEviction}
	for _, watched := range halves {
		for _, half := range halves {
			for _, taints := range []bool{true, false} {
				cluster, err := clientgo.New(fake.NewClientset(), clientgo.Options{Half: watched})
				require.NoError(t, err)
				config := configOf(half)
				config.TaintBasedEviction = taints
				_, err = evictor.New(config, cluster.Clients(), evictor.Options{})
				enough := watched == evictor.Both || watched == half && (half == evictor.TaintEviction || taints)
				require.Equal(t, enough, err == nil, "%d %d %v: %v", watched, half, taints, err)
				if err != nil {
					require.ErrorContains(t, err, "half: Invalid value: \"")
				}
			}
		}
	}
}

// TestAnUnusedGraceIsNoReasonToRefuse: without verdicts the guard need not notice before one.
func TestAnUnusedGraceIsNoReasonToRefuse(t *testing.T) {
	cluster, err := clientgo.New(fake.NewClientset(), clientgo.Options{Half: evictor.TaintEviction, LeaseSilence: time.Minute})
	require.NoError(t, err)
	_, err = evictor.New(configOf(evictor.TaintEviction), cluster.Clients(), evictor.Options{})
	require.NoError(t, err)
}

// TestADomainOfTheProgramsOwn sees all labels.
func TestADomainOfTheProgramsOwn(t *testing.T) {
	const pool, spare = "example.com/pool", "example.com/spare"
	synctest.Test(t, func(t *testing.T) {
		first, second := node("a-0"), node("a-1")
		first.Labels[pool], second.Labels[pool], second.Labels[spare] = "blue", "blue", "yes"
		client := fake.NewClientset(first, second)
		cluster, err := clientgo.New(client, clientgo.Options{})
		require.NoError(t, err)
		e := runOn(t, cluster, evictor.DefaultConfig(), evictor.Options{
			Domain:   func(n *v1.Node) zone.Key { return zone.Key{Zone: n.Labels[pool]} },
			Excluded: func(n *v1.Node) bool { return n.Labels[spare] != "" },
		})
		time.Sleep(time.Minute)
		zones := e.Zones()
		require.Len(t, zones, 1)
		require.Equal(t, zone.Key{Zone: "blue"}, zones[0].Zone)
		require.Equal(t, zone.Counts{Total: 1, Bad: 1}, zones[0].Counts, "one of them is spare")
	})
}
