//go:build go1.25

package clientgo_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/clientgo/clientgotest"
)

// TestAHoldByALabelHolds without any option, whoever keeps the nodes: 5 of 20 fail, of which 3 are held. Pods have their
// labels too, and what is named.
func TestAHoldByALabelHolds(t *testing.T) {
	keep := clientgo.Keep{NodeAnnotations: []string{"repair"}, PodAnnotations: []string{"gang"}, Owners: true}
	for name, row := range map[string]struct {
		options func(t *testing.T, client *fake.Clientset) clientgo.Options
		named   bool // whether what Keep names is kept, and nothing else
	}{
		"own informers":             {func(*testing.T, *fake.Clientset) clientgo.Options { return clientgo.Options{} }, false},
		"own informers, more named": {func(*testing.T, *fake.Clientset) clientgo.Options { return clientgo.Options{Keep: keep} }, true},
		"a cache": {func(t *testing.T, client *fake.Clientset) clientgo.Options {
			return clientgo.Options{Informers: cached(t, client).GetInformer}
		}, false},
		"a slim cache": {func(t *testing.T, client *fake.Clientset) clientgo.Options {
			p := cached(t, client)
			p.factory = informers.NewSharedInformerFactoryWithOptions(client, never, informers.WithTransform(keep.Slim))
			return clientgo.Options{Informers: p.GetInformer}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var objects []runtime.Object
				var live []string
				yes := true
				owners := []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "train", UID: "1", Controller: &yes}}
				for i := range 20 {
					n := node(fmt.Sprintf("n-%02d", i))
					n.Labels["pool"], n.Annotations = "gpu", map[string]string{"repair": "no", "other": "text"}
					p := pod("p-"+n.Name, n.Name)
					p.Labels, p.Annotations, p.OwnerReferences = map[string]string{"job": "train"}, map[string]string{"gang": "g", "other": "text"}, owners
					if objects = append(objects, n, p); i >= 5 {
						live = append(live, n.Name)
					} else if i >= 2 {
						n.Labels["pool"] = "held"
					}
				}
				client := clientgotest.NewClientset(objects...)
				cluster, err := clientgo.New(client, row.options(t, client))
				require.NoError(t, err)
				runOn(t, cluster, evictor.Options{Hold: func(n *v1.Node) (string, bool) { return "pool", n.Labels["pool"] == "held" }})
				kubelets(t, client, 10*time.Minute, live...)

				tainted := 0
				list, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
				require.NoError(t, err)
				for i := range list.Items {
					for _, taint := range list.Items[i].Spec.Taints {
						if taint.Key == v1.TaintNodeUnreachable && taint.Effect == v1.TaintEffectNoExecute {
							tainted++
						}
					}
				}
				require.Equal(t, 2, tainted)
				p, ok := cluster.Clients().Pods.Pod(evictor.PodKey{Namespace: "shop", Name: "p-n-10"})
				require.True(t, ok)
				require.Equal(t, map[string]string{"job": "train"}, p.Labels)
				n, ok := cluster.Clients().Nodes.Node("n-10")
				require.True(t, ok)
				require.Equal(t, "gpu", n.Labels["pool"])
				if row.named {
					require.Equal(t, map[string]string{"gang": "g"}, p.Annotations)
					require.Equal(t, owners, p.OwnerReferences)
					require.Equal(t, map[string]string{"repair": "no"}, n.Annotations)
				}
			})
		})
	}
}
