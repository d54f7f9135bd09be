//go:build go1.25

package clientgo_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/clientgo/clientgotest"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
)

// story is a cluster of three nodes with a pod each, whose evictor records events.
type story struct {
	t      *testing.T
	client *fake.Clientset
	e      *evictor.Evictor
}

func begin(t *testing.T, options clientgo.Options, change func(*evictor.Config)) *story {
	t.Helper()
	s := &story{t: t}
	var objects []runtime.Object
	for i := range 3 {
		name := fmt.Sprintf("a-%d", i)
		objects = append(objects, node(name), tolerant("shop", "p-"+name, name))
	}
	s.client = clientgotest.NewClientset(objects...)
	cluster, err := clientgo.New(s.client, options)
	require.NoError(t, err)
	config := evictor.DefaultConfig()
	change(&config)
	s.e, err = evictor.New(config, cluster.Clients(), evictor.Options{Observer: cluster.Events(), Gate: gate.Leader(func() error {
		if options.Leads == nil {
			return nil
		}
		return options.Leads()
	})})
	require.NoError(t, err)
	runs(t, s.e.Run)
	kubelets(t, s.client, time.Minute, "a-0", "a-1", "a-2")
	return s
}

// fails lets a-0 be silent.
func (s *story) fails(d time.Duration) { kubelets(s.t, s.client, d, "a-1", "a-2") }

// recorded are the events in the order of their instants.
func recorded(t *testing.T, client kubernetes.Interface) (texts []string) {
	t.Helper()
	list, err := client.CoreV1().Events(v1.NamespaceAll).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	slices.SortStableFunc(list.Items, func(a, b v1.Event) int { return a.FirstTimestamp.Compare(b.FirstTimestamp.Time) })
	for i := range list.Items {
		e := &list.Items[i]
		texts = append(texts, fmt.Sprintf("%s %s: %s", e.Type, e.Reason, e.Message))
	}
	return texts
}

func withTaints(*evictor.Config) {}

func withoutTaints(c *evictor.Config) {
	c.Nodes.TaintBasedEviction, c.Nodes.PodEvictionTimeout = false, time.Minute
}

func TestEventsAreUpstreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, clientgo.Options{}, withTaints)
		require.Equal(t, "Normal RegisteredNode: Node a-0 event: Registered Node a-0 in Controller", recorded(t, s.client)[0])
		s.fails(2 * time.Minute)
		kubelets(t, s.client, 10*time.Second, "a-0", "a-1", "a-2")
		ready := node("a-0")
		before, err := s.client.CoreV1().Nodes().Get(t.Context(), "a-0", metav1.GetOptions{})
		require.NoError(t, err)
		ready.Spec.Taints, ready.ResourceVersion = before.Spec.Taints, before.ResourceVersion
		_, err = s.client.CoreV1().Nodes().Update(t.Context(), ready, metav1.UpdateOptions{})
		require.NoError(t, err)
		kubelets(t, s.client, 30*time.Second, "a-0", "a-1", "a-2")
		require.NoError(t, s.client.CoreV1().Nodes().Delete(t.Context(), "a-0", metav1.DeleteOptions{}))
		kubelets(t, s.client, 10*time.Second, "a-1", "a-2")
		tainted, err := s.client.CoreV1().Nodes().Get(t.Context(), "a-1", metav1.GetOptions{})
		require.NoError(t, err)
		tainted.Spec.Taints = []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoExecute}}
		_, err = s.client.CoreV1().Nodes().Update(t.Context(), tainted, metav1.UpdateOptions{})
		require.NoError(t, err)
		kubelets(t, s.client, 10*time.Second, "a-1", "a-2")
		unready, err := s.client.CoreV1().Nodes().Get(t.Context(), "a-2", metav1.GetOptions{})
		require.NoError(t, err)
		unready.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionFalse}} // its kubelet says so: no event
		_, err = s.client.CoreV1().Nodes().UpdateStatus(t.Context(), unready, metav1.UpdateOptions{})
		require.NoError(t, err)
		kubelets(t, s.client, 10*time.Second, "a-1", "a-2")
		status, _ := s.e.Nodes().Node("a-2")
		require.Equal(t, v1.ConditionFalse, status.Verdict.Ready)
		require.Equal(t, []string{
			"Normal NodeNotReady: Node a-0 status is now: NodeNotReady",
			"Warning NodeNotReady: Node is not ready",
			"Normal TaintManagerEviction: Cancelling deletion of Pod shop/p-a-0",
			"Normal RemovingNode: Node a-0 event: Removing Node a-0 from Controller",
			"Normal TaintManagerEviction: Marking for deletion Pod shop/p-a-1",
		}, recorded(t, s.client)[3:])
	})
}

func TestEventsWithoutTaints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, clientgo.Options{}, withoutTaints)
		s.fails(4 * time.Minute)
		require.ElementsMatch(t, []string{
			"Normal NodeNotReady: Node a-0 status is now: NodeNotReady",
			"Warning NodeNotReady: Node is not ready",
			"Normal NodeControllerEviction: Marking for deletion Pod p-a-0 from Node a-0",
			"Normal DeletingAllPods: Node a-0 event: Deleting all Pods from Node a-0.",
		}, recorded(t, s.client)[3:])
	})
}

// Upstream tells of an eviction before it tries.
func TestAnEvictionThatFailsHasNoEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, clientgo.Options{}, withoutTaints)
		var allowed atomic.Bool
		s.client.PrependReactor("delete", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			return !allowed.Load(), nil, errors.New("not now")
		})
		s.fails(4 * time.Minute)
		require.NotContains(t, strings.Join(recorded(t, s.client), "\n"), "Marking for deletion")
		allowed.Store(true)
		s.fails(4 * time.Minute)
		require.Contains(t, strings.Join(recorded(t, s.client), "\n"), "Marking for deletion Pod p-a-0")
	})
}

func TestNodeWithoutPodsHasNoneDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, clientgo.Options{}, withoutTaints)
		require.NoError(t, s.client.CoreV1().Pods("shop").Delete(t.Context(), "p-a-0", metav1.DeleteOptions{}))
		s.fails(4 * time.Minute)
		require.Equal(t, []string{"Normal NodeNotReady: Node a-0 status is now: NodeNotReady"}, recorded(t, s.client)[3:])
	})
}

// An event is a write too, and the leader records it.
func TestAFollowerRecordsNoEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var leads atomic.Bool
		s := begin(t, clientgo.Options{Leads: func() error {
			if leads.Load() {
				return nil
			}
			return errors.New("another replica leads")
		}}, withTaints)
		s.fails(2 * time.Minute)
		status, _ := s.e.Nodes().Node("a-0")
		require.Equal(t, v1.ConditionUnknown, status.Verdict.Ready)
		require.Empty(t, recorded(t, s.client))
		leads.Store(true)
		s.fails(10 * time.Second)
		require.Equal(t, []string{"Warning NodeNotReady: Node is not ready"}, recorded(t, s.client))
	})
}

func TestNoEventTellsOfAReadyConditionThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, clientgo.Options{}, withTaints)
		n, err := s.client.CoreV1().Nodes().Get(t.Context(), "a-0", metav1.GetOptions{})
		require.NoError(t, err)
		n.Status.Conditions = nil
		_, err = s.client.CoreV1().Nodes().Update(t.Context(), n, metav1.UpdateOptions{})
		require.NoError(t, err)
		kubelets(t, s.client, 5*time.Minute, "a-0", "a-1", "a-2")
		status, _ := s.e.Nodes().Node("a-0")
		require.Empty(t, status.Verdict.Ready)
		require.Len(t, recorded(t, s.client), 3, "that they were registered")
	})
}

// TestEventsGoWhereTheyAreTold: about which object, from which component, by which client.
func TestEventsGoWhereTheyAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, events := fake.NewClientset(), fake.NewClientset()
		cluster, err := clientgo.New(client, clientgo.Options{EventClient: events, Component: "ours"})
		require.NoError(t, err)
		target := cluster.Events()
		target.ObserveNode(nodelifecycle.Decision{Kind: nodelifecycle.NodeRegistered, Node: "early"}) // nobody records yet
		e, err := evictor.New(evictor.DefaultConfig(), cluster.Clients(), evictor.Options{})
		require.NoError(t, err)
		runs(t, e.Run)
		synctest.Wait()
		target.ObserveNode(nodelifecycle.Decision{Kind: nodelifecycle.NodeRemoved, Node: "n", NodeUID: "uid-node"})
		target.ObservePod(tainteviction.Decision{
			Kind: tainteviction.PodEvicted, Pod: evictor.PodRef{PodKey: evictor.PodKey{Namespace: "shop", Name: "p"}, UID: "uid-pod"},
		})
		synctest.Wait()
		list, err := events.CoreV1().Events(v1.NamespaceAll).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		about := make(map[string]v1.ObjectReference)
		for _, event := range list.Items {
			require.Equal(t, "ours", event.Source.Component)
			about[event.Reason] = event.InvolvedObject
		}
		require.Equal(t, map[string]v1.ObjectReference{
			"RemovingNode":         {APIVersion: "v1", Kind: "Node", Name: "n", UID: "uid-node"},
			"TaintManagerEviction": {APIVersion: "v1", Kind: "Pod", Namespace: "shop", Name: "p", UID: "uid-pod"},
		}, about)
		for _, action := range client.Actions() {
			require.NotEqual(t, "events", action.GetResource().Resource)
		}
	})
}

// TestFewEventsAreRemembered: as long as one is, another one like it is counted in it.
func TestFewEventsAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := clientgotest.NewClientset()
		cluster, err := clientgo.New(client, clientgo.Options{})
		require.NoError(t, err)
		e, err := evictor.New(evictor.DefaultConfig(), cluster.Clients(), evictor.Options{})
		require.NoError(t, err)
		runs(t, e.Run)
		synctest.Wait()
		cancelled := func(pods ...int) {
			for _, i := range pods {
				name := fmt.Sprint("cancelled-", i)
				cluster.Events().ObservePod(tainteviction.Decision{
					Kind: tainteviction.EvictionCancelled, Pod: evictor.PodRef{PodKey: evictor.PodKey{Namespace: "shop", Name: name}, UID: types.UID(name)},
				})
				synctest.Wait() // else some are dropped
			}
		}
		counts := func() (counts []int32) {
			list, err := client.CoreV1().Events("shop").List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			for i := range list.Items {
				if e := &list.Items[i]; e.InvolvedObject.Name == "cancelled-0" {
					counts = append(counts, e.Count)
				}
			}
			return counts
		}
		for i := range 1000 {
			cancelled(i)
		}
		cancelled(0)
		require.Equal(t, []int32{2}, counts())
		for i := range 1100 {
			cancelled(1 + i)
		}
		time.Sleep(time.Second) // the name of an event is the time of the first
		cancelled(0)
		require.ElementsMatch(t, []int32{2, 1}, counts())
	})
}
