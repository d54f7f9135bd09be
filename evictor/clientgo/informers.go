package clientgo

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// The slots of the factory, which keeps one informer for each type of object: types of our own keep ours apart from those that
// others get from the same factory.
type (
	nodeSlot       struct{ runtime.Object }
	podSlot        struct{ runtime.Object }
	leaseSlot      struct{ runtime.Object }
	daemonSetSlot  struct{ runtime.Object }
	backgroundSlot struct{ runtime.Object }
)

// indexByNode is the name of the index of pods by the node they are bound to.
const indexByNode = "evictkit/node"

// sources are the informers that a Cluster reads; daemonSets may be nil.
type sources struct {
	nodes, pods, leases, daemonSets cache.SharedIndexInformer
	links                           []*link
}

// informers makes them in the factory.
func (c *Cluster) informers(factory informers.SharedInformerFactory) (sources, error) {
	var s sources
	fresh := true
	own := func(slot runtime.Object, make func(resync time.Duration) cache.SharedIndexInformer) cache.SharedIndexInformer {
		made := false
		informer := factory.InformerFor(slot, func(_ kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
			made = true
			return make(resync)
		})
		fresh = fresh && made
		return informer
	}
	if c.opts.ShareInformers {
		s.nodes = factory.Core().V1().Nodes().Informer()
		s.pods = factory.Core().V1().Pods().Informer()
		s.leases = factory.Coordination().V1().Leases().Informer()
		if err := s.pods.AddIndexers(cache.Indexers{indexByNode: nodeOf}); err != nil {
			return s, fmt.Errorf("clientgo: the informer of pods: %w", err)
		}
	} else {
		s.nodes = own(nodeSlot{}, func(resync time.Duration) cache.SharedIndexInformer {
			nodes := c.client.CoreV1().Nodes()
			return watched(c, &s, resync, "nodes", &v1.Node{}, func(whole *v1.Node) runtime.Object { return c.slimNode(whole) }, nil, nodes.Watch, func(ctx context.Context, o metav1.ListOptions) (*metav1.ListMeta, []v1.Node, error) {
				list, err := nodes.List(ctx, o)
				if err != nil {
					return nil, nil, err
				}
				return &list.ListMeta, list.Items, nil
			})
		})
		s.pods = own(podSlot{}, func(resync time.Duration) cache.SharedIndexInformer {
			pods := c.client.CoreV1().Pods(metav1.NamespaceAll)
			index := cache.Indexers{indexByNode: nodeOf}
			return watched(c, &s, resync, "pods", &v1.Pod{}, c.slimPod, index, pods.Watch, func(ctx context.Context, o metav1.ListOptions) (*metav1.ListMeta, []v1.Pod, error) {
				list, err := pods.List(ctx, o)
				if err != nil {
					return nil, nil, err
				}
				return &list.ListMeta, list.Items, nil
			})
		})
		s.leases = own(leaseSlot{}, func(resync time.Duration) cache.SharedIndexInformer {
			leases := c.client.CoordinationV1().Leases(v1.NamespaceNodeLease)
			return watched(c, &s, resync, "leases in kube-node-lease", &coordinationv1.Lease{}, slimLease, nil, leases.Watch, func(ctx context.Context, o metav1.ListOptions) (*metav1.ListMeta, []coordinationv1.Lease, error) {
				list, err := leases.List(ctx, o)
				if err != nil {
					return nil, nil, err
				}
				return &list.ListMeta, list.Items, nil
			})
		})
	}
	if c.opts.DaemonSets {
		s.daemonSets = own(daemonSetSlot{}, func(resync time.Duration) cache.SharedIndexInformer {
			sets := c.client.AppsV1().DaemonSets(metav1.NamespaceAll)
			index := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
			return watched(c, &s, resync, "daemonsets", &appsv1.DaemonSet{}, slimDaemonSet, index, sets.Watch, func(ctx context.Context, o metav1.ListOptions) (*metav1.ListMeta, []appsv1.DaemonSet, error) {
				list, err := sets.List(ctx, o)
				if err != nil {
					return nil, nil, err
				}
				return &list.ListMeta, list.Items, nil
			})
		})
	}
	c.background = &background{SharedIndexInformer: s.leases, opts: c.opts, guard: c.guard}
	own(backgroundSlot{}, func(time.Duration) cache.SharedIndexInformer { return c.background })
	if !fresh {
		return s, fmt.Errorf("clientgo: the factory serves another Cluster already; make one factory for each")
	}
	return s, nil
}

// settled is an informer whose transform is settled: that of the factory, made for others, does not replace it.
type settled struct{ cache.SharedIndexInformer }

func (settled) SetTransform(cache.TransformFunc) error { return nil }

// watched makes an informer that keeps what slim leaves of each object.
func watched[T any](c *Cluster, s *sources, resync time.Duration, what string, example runtime.Object, slim func(*T) runtime.Object, index cache.Indexers,
	watch func(context.Context, metav1.ListOptions) (watch.Interface, error),
	list func(context.Context, metav1.ListOptions) (*metav1.ListMeta, []T, error),
) cache.SharedIndexInformer {
	to := func() *link { return &link{what: what, clock: c.opts.Clock, logger: c.opts.Logger} }
	lw := &listerWatcher[T]{client: c.client, slim: slim, listed: list, watched: watch, link: to(), lists: to()}
	s.links = append(s.links, lw.link, lw.lists)
	if index == nil {
		index = cache.Indexers{}
	}
	informer := cache.NewSharedIndexInformer(lw, example, resync, index)
	err := informer.SetTransform(func(obj any) (any, error) {
		if whole, ok := obj.(*T); ok {
			return slim(whole), nil
		}
		return obj, nil // it is slim already: from a page, or seen before
	})
	if err != nil {
		c.opts.Logger.Error("clientgo: objects are kept whole", "what", what, "error", err) // a started one; this is not
	}
	return settled{informer}
}

// nodeOf is the index function of pods.
func nodeOf(obj any) ([]string, error) {
	switch p := obj.(type) {
	case *pod:
		if node := p.node.Value(); node != "" {
			return []string{node}, nil
		}
	case *v1.Pod:
		if p.Spec.NodeName != "" {
			return []string{p.Spec.NodeName}, nil
		}
	}
	return nil, nil
}
