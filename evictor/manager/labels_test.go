//go:build go1.25

package manager_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/manager"
)

// TestAHoldByALabelHolds in a manager, whether its cache has whole objects or slim ones: 5 of 20 fail, of which 3 are held.
// Pods have their labels, and what is named.
func TestAHoldByALabelHolds(t *testing.T) {
	for name, transform := range map[string]toolscache.TransformFunc{"whole": nil, "slim": clientgo.Keep{PodAnnotations: []string{"gang"}, Owners: true}.Slim} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var objects []runtime.Object
				var live []string
				for i := range 20 {
					n := node(fmt.Sprintf("a-%02d", i))
					n.Labels["pool"] = "gpu"
					if objects = append(objects, n, lease(n.Name)); i >= 5 {
						live = append(live, n.Name)
					} else if i >= 2 {
						n.Labels["pool"] = "held"
					}
				}
				whole := pod("cart", "a-10")
				whole.Labels, whole.Annotations = map[string]string{"job": "train"}, map[string]string{"gang": "g"}
				whole.OwnerReferences = []metav1.OwnerReference{{APIVersion: "scheduling.example/v1", Kind: "PodGroup", Name: "g", UID: "1"}}
				a := newAPI(append(objects, whole)...)
				holds := evictor.Options{Hold: func(n *v1.Node) (string, bool) { return "pool", n.Labels["pool"] == "held" }}
				options := ctrl.Options{Metrics: server.Options{BindAddress: "0"}}
				options.Cache.DefaultTransform = transform
				mgr, _, err := manager.New(a.config(), options, evictor.DefaultConfig(), manager.Options{Registerer: prometheus.NewRegistry(), Evictor: holds})
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				ran := make(chan error, 1)
				go func() { ran <- mgr.Start(ctx) }()
				renew(t, a, 10*time.Minute, live...)

				tainted := 0
				list, err := a.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
				require.NoError(t, err)
				for i := range list.Items {
					for _, taint := range list.Items[i].Spec.Taints {
						if taint.Key == v1.TaintNodeUnreachable && taint.Effect == v1.TaintEffectNoExecute {
							tainted++
						}
					}
				}
				require.Equal(t, 2, tainted)
				var kept v1.Pod
				require.NoError(t, mgr.GetCache().Get(ctx, client.ObjectKeyFromObject(whole), &kept))
				require.Equal(t, whole.Labels, kept.Labels)
				require.Equal(t, whole.Annotations, kept.Annotations)
				require.Equal(t, whole.OwnerReferences, kept.OwnerReferences)
				cancel()
				require.NoError(t, <-ran)
				time.Sleep(time.Second) // client-go's queues look twice a second whether they may end
			})
		})
	}
}
