//go:build go1.25

package clientgo_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/tainteviction"
)

// evictions answers them as an API server does in which a budget protects the pods of a controller.
type evictions struct {
	client *fake.Clientset

	mu      sync.Mutex
	permits int   // how many the budget still permits
	broken  error // what every eviction fails with
	asked   map[string]int
	gone    []time.Time // when protected pods left
}

func answerEvictions(client *fake.Clientset) *evictions {
	e := &evictions{client: client, asked: make(map[string]int)}
	client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "eviction" {
			return false, nil, nil
		}
		eviction, _ := action.(clienttesting.CreateAction).GetObject().(*policyv1.Eviction)
		return true, nil, e.answer(eviction)
	})
	return e
}

func (e *evictions) answer(eviction *policyv1.Eviction) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	pods := v1.SchemeGroupVersion.WithResource("pods")
	object, err := e.client.Tracker().Get(pods, eviction.Namespace, eviction.Name)
	if err != nil {
		return err
	}
	protected := len(object.(*v1.Pod).OwnerReferences) > 0
	kind := map[bool]string{true: "protected", false: "free"}[protected]
	e.asked[kind]++
	switch {
	case e.broken != nil:
		return e.broken
	case protected && e.permits == 0:
		answer := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
		answer.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget web needs 300 healthy pods and has 300 currently"}}
		return answer
	case protected:
		e.permits--
		e.gone = append(e.gone, time.Now())
	}
	return e.client.Tracker().Delete(pods, eviction.Namespace, eviction.Name)
}

// is changes or reads it.
func (e *evictions) is(what func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	what()
}

// drained are pods on a node that are to leave it: many that a budget protects, and some that are free.
func drained(protected, free int) (objects []runtime.Object) {
	tainted, yes := node("a-0"), true
	tainted.Spec.Taints = []v1.Taint{{Key: "drain", Effect: v1.TaintEffectNoExecute}}
	objects = append(objects, tainted, node("a-1"))
	for i := range protected + free {
		p := pod(fmt.Sprintf("p-%d", i), "a-0")
		p.UID = types.UID(p.Name)
		if i < protected {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web", Controller: &yes}}
		}
		objects = append(objects, p)
	}
	return objects
}

// TestThePodsOfOneBudgetAreNotAskedAboutOneByOne: 300 pods whose budget permits none cost as many requests as one, and those
// that are free leave at once. When the budget permits some, they leave within its next minute, and when it permits all, all do.
func TestThePodsOfOneBudgetAreNotAskedAboutOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(drained(300, 50)...)
		e := answerEvictions(client)
		_ = runPods(t, client, clientgo.Options{EvictionAPI: true}, tainteviction.Options{})
		time.Sleep(2 * time.Second) // client-go 0.37 sometimes needs one to start
		require.Len(t, podsOf(t, client), 300)
		time.Sleep(time.Hour)
		e.is(func() {
			require.Equal(t, 50, e.asked["free"])
			require.LessOrEqual(t, e.asked["protected"], tainteviction.DefaultConfig().PodWorkers+66)
			e.permits = 20
		})
		time.Sleep(time.Minute + 2*time.Second)
		e.is(func() {
			require.Len(t, e.gone, 20)
			require.Less(t, e.gone[19].Sub(e.gone[0]), 3*time.Second, "at once, when one has left")
			e.permits = 280
		})
		time.Sleep(time.Minute + 2*time.Second)
		require.Empty(t, podsOf(t, client))
	})
}

// TestWhenTheAPIIsBackAllThatWaitsIsTriedWithinAPass: what failed, what the overloaded API refused and what a budget refused
// before, however long they were to wait.
func TestWhenTheAPIIsBackAllThatWaitsIsTriedWithinAPass(t *testing.T) {
	for name, broken := range map[string]error{
		"it fails":         apierrors.NewServiceUnavailable("down"),
		"it is overloaded": apierrors.NewTooManyRequests("slow down", 3600),
		"a budget refuses": nil,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := startGuardedWith(t, never, clientgo.Options{EvictionAPI: true})
				e := g.evictions
				if e.broken = broken; broken == nil {
					e.permits = 0
				} else {
					e.permits = 300
				}
				runOn(t, g.cluster, evictor.Options{})
				time.Sleep(time.Minute)
				for _, object := range drained(300, 0)[2:] {
					_, err := g.client.CoreV1().Pods("shop").Create(t.Context(), object.(*v1.Pod), metav1.CreateOptions{})
					require.NoError(t, err)
				}
				tainted, err := g.client.CoreV1().Nodes().Get(t.Context(), "a-0", metav1.GetOptions{})
				require.NoError(t, err)
				tainted.Spec.Taints = []v1.Taint{{Key: "drain", Effect: v1.TaintEffectNoExecute}}
				_, err = g.client.CoreV1().Nodes().Update(t.Context(), tainted, metav1.UpdateOptions{})
				require.NoError(t, err)
				time.Sleep(2*time.Minute + 10*time.Second) // each now waits for up to a minute

				g.set(func() { g.mute = true })
				g.watches.end()
				time.Sleep(25 * time.Second) // none of them would be tried within the next ten
				require.Len(t, podsOf(t, g.client), 300)
				require.Error(t, g.cluster.Health())

				e.is(func() { e.broken, e.permits = nil, 300 })
				g.set(func() { g.mute = false })
				for len(g.all()) < 2 {
					time.Sleep(100 * time.Millisecond)
				}
				require.Equal(t, "well", g.all()[1])
				time.Sleep(evictor.DefaultConfig().Nodes.NodeMonitorPeriod)
				require.Empty(t, podsOf(t, g.client))
			})
		})
	}
}
