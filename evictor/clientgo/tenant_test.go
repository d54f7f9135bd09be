//go:build go1.25

package clientgo_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/clientgo/clientgotest"
)

// twoBudgets is the API server's answer to the eviction of a pod that two disruption budgets select. It has no reason.
var twoBudgets = &apierrors.StatusError{ErrStatus: metav1.Status{
	Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
	Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
}}

// answering is a client whose evictions are answered by a function.
type answering struct {
	kubernetes.Interface
	answer func(context.Context) error
}

type answeringCore struct {
	corev1.CoreV1Interface
	answer func(context.Context) error
}

type answeringPods struct {
	corev1.PodInterface
	answer func(context.Context) error
}

func (c answering) CoreV1() corev1.CoreV1Interface {
	return answeringCore{c.Interface.CoreV1(), c.answer}
}

func (c answeringCore) Pods(namespace string) corev1.PodInterface {
	return answeringPods{c.CoreV1Interface.Pods(namespace), c.answer}
}

func (p answeringPods) EvictV1(ctx context.Context, _ *policyv1.Eviction) error {
	return p.answer(ctx)
}

// repaired is a kubelet's report that its node is ready again.
func repaired(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	_, err := client.CoreV1().Nodes().Patch(t.Context(), name, types.StrategicMergePatchType, []byte(`{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
}

// TestATenantsPodsDoNotDeposeTheLeader: in three outages of ten minutes nothing is written but evictions of 21 pods of one
// tenant, none of which succeeds. The lease is not given up for a moment.
func TestATenantsPodsDoNotDeposeTheLeader(t *testing.T) {
	pods := v1.Resource("pods")
	for name, answer := range map[string]func(context.Context) error{
		"two disruption budgets": func(context.Context) error { return twoBudgets },
		"an admission refuses": func(context.Context) error {
			return apierrors.NewForbidden(pods, "p", errors.New(`admission webhook "keep.example.com" denied the request`))
		},
		"a webhook fails": func(context.Context) error {
			return apierrors.NewInternalError(errors.New(`failed calling webhook "keep.example.com": failed to call webhook: connection refused`))
		},
		"a webhook hangs": func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := clientgotest.NewClientset(node("a-0"), node("a-1"), node("a-2"), node("a-3"))
				for i := range 21 {
					p := tolerant("tenant", fmt.Sprintf("p-%d", i), "a-0")
					p.UID = types.UID(p.Name)
					_, err := client.CoreV1().Pods(p.Namespace).Create(t.Context(), p, metav1.CreateOptions{})
					require.NoError(t, err)
				}
				var asked atomic.Int32
				cluster, err := clientgo.New(client, clientgo.Options{EvictionAPI: true, EvictionClient: answering{client, func(ctx context.Context) error {
					asked.Add(1)
					return answer(ctx)
				}}})
				require.NoError(t, err)
				runOn(t, cluster, evictor.Options{})
				kubelets(t, client, time.Minute, "a-0", "a-1", "a-2", "a-3")
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					for range 36 * 60 * 2 {
						if err := cluster.MayLead(); err != nil {
							t.Errorf("at %s: %v", time.Now(), err)
							return
						}
						time.Sleep(time.Second / 2)
					}
				}()
				for range 3 {
					before := asked.Load()
					kubelets(t, client, 10*time.Minute, "a-1", "a-2", "a-3")
					require.Greater(t, asked.Load(), before+20)
					repaired(t, client, "a-0")
					kubelets(t, client, 2*time.Minute, "a-0", "a-1", "a-2", "a-3")
				}
				<-ended
				require.Len(t, podsOf(t, client), 21)
			})
		})
	}
}
