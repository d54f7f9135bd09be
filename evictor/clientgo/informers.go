package clientgo

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/evictkit/evictkit/evictor/clientgo/internal/slim"
)

// indexByNode is the name of the index of pods by the node they are bound to.
const indexByNode = "evictkit/node"

// sources are the informers that a Cluster reads. leases and daemonSets may be nil.
type sources struct {
	nodes, pods, leases source
	daemonSets          cache.SharedIndexInformer
	own                 []cache.SharedIndexInformer // those that the Cluster runs
	late                []*late
	links               []*link
}

// noResync means never. 0 would too, but with it informers of client-go before 0.35 wait on a global channel, which stops
// the time of a synctest bubble.
const noResync = 1000 * time.Hour

// informers makes the Cluster's own informers, or uses those of Options.Informers.
func (c *Cluster) informers() (s sources) {
	if c.opts.Informers != nil {
		s.nodes = c.lateSource(&s, "nodes", &v1.Node{}, nil)
		s.pods = c.lateSource(&s, "pods", &v1.Pod{}, cache.Indexers{indexByNode: nodeOf})
		if c.opts.lifecycle() {
			s.leases = c.lateSource(&s, "leases", &coordinationv1.Lease{}, nil)
		}
	} else {
		kept := c.opts.kept()
		nodes := c.client.CoreV1().Nodes()
		s.nodes = sourceOf(watched(c, &s, "nodes", &v1.Node{}, func(whole *v1.Node) runtime.Object { return kept.Node(whole) }, nil, nodes.Watch,
			listed(nodes.List, func(l *v1.NodeList) (*metav1.ListMeta, []v1.Node) { return &l.ListMeta, l.Items })))
		pods := c.client.CoreV1().Pods(metav1.NamespaceAll)
		s.pods = sourceOf(watched(c, &s, "pods", &v1.Pod{}, func(whole *v1.Pod) runtime.Object { return kept.Pod(whole) }, cache.Indexers{indexByNode: nodeOf}, pods.Watch,
			listed(pods.List, func(l *v1.PodList) (*metav1.ListMeta, []v1.Pod) { return &l.ListMeta, l.Items })))
		if c.opts.lifecycle() {
			leases := c.client.CoordinationV1().Leases(v1.NamespaceNodeLease)
			s.leases = sourceOf(watched(c, &s, "leases in kube-node-lease", &coordinationv1.Lease{}, slim.Lease, nil, leases.Watch,
				listed(leases.List, func(l *coordinationv1.LeaseList) (*metav1.ListMeta, []coordinationv1.Lease) {
					return &l.ListMeta, l.Items
				})))
		}
	}
	if c.opts.DaemonSets {
		sets := c.client.AppsV1().DaemonSets(metav1.NamespaceAll)
		s.daemonSets = watched(c, &s, "daemonsets", &appsv1.DaemonSet{}, slim.DaemonSet, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}, sets.Watch,
			listed(sets.List, func(l *appsv1.DaemonSetList) (*metav1.ListMeta, []appsv1.DaemonSet) { return &l.ListMeta, l.Items }))
	}
	return s
}

// lateSource is an informer from Options.Informers.
func (c *Cluster) lateSource(s *sources, what string, example Object, index cache.Indexers) source {
	_, lease := example.(*coordinationv1.Lease)
	l := &late{get: c.opts.Informers, example: example, index: index, mirrors: lease, link: c.link(what)}
	s.late, s.links = append(s.late, l), append(s.links, l.link)
	return l
}

func (c *Cluster) link(what string) *link {
	return &link{what: what, clock: c.opts.Clock, logger: c.opts.Logger}
}

// listed turns a typed list function into one that returns the list's metadata and its items apart.
func listed[L, T any](list func(context.Context, metav1.ListOptions) (*L, error), parts func(*L) (*metav1.ListMeta, []T)) func(context.Context, metav1.ListOptions) (*metav1.ListMeta, []T, error) {
	return func(ctx context.Context, o metav1.ListOptions) (*metav1.ListMeta, []T, error) {
		l, err := list(ctx, o)
		if err != nil {
			return nil, nil, err
		}
		about, items := parts(l)
		return about, items, nil
	}
}

// watched makes an informer of the Cluster's own. It keeps of each object what smaller returns.
func watched[T any](c *Cluster, s *sources, what string, example runtime.Object, smaller func(*T) runtime.Object, index cache.Indexers,
	watch func(context.Context, metav1.ListOptions) (watch.Interface, error),
	list func(context.Context, metav1.ListOptions) (*metav1.ListMeta, []T, error),
) cache.SharedIndexInformer {
	lw := &listerWatcher{watched: watch, streams: streams(c.client), link: c.link(what), lists: c.link(what), spread: c.guard.spread}
	lw.listed = func(ctx context.Context, o metav1.ListOptions) (*metav1.ListMeta, []runtime.Object, error) {
		about, page, err := list(ctx, o)
		small := make([]runtime.Object, len(page))
		for i := range page {
			small[i] = smaller(&page[i])
		}
		return about, small, err
	}
	s.links = append(s.links, lw.link, lw.lists)
	if index == nil {
		index = cache.Indexers{}
	}
	informer := cache.NewSharedIndexInformer(lw, example, noResync, index)
	lw.has = counted(informer)
	err := informer.SetTransform(func(obj any) (any, error) {
		if whole, ok := obj.(*T); ok {
			return smaller(whole), nil
		}
		return obj, nil // slim already
	})
	if err != nil {
		c.opts.Logger.Error("clientgo: the informer keeps whole objects", "what", what, "error", err) // fails only after a start
	}
	s.own = append(s.own, informer)
	return informer
}

// counted returns a function that counts the informer's objects.
func counted(informer cache.SharedIndexInformer) func() int {
	return func() int { return len(informer.GetStore().ListKeys()) }
}

// nodeOf is the index function of pods by node.
func nodeOf(obj any) ([]string, error) {
	switch p := obj.(type) {
	case *slim.Pod:
		if node := p.Node(); node != "" {
			return []string{node}, nil
		}
	case *v1.Pod:
		if p.Spec.NodeName != "" {
			return []string{p.Spec.NodeName}, nil
		}
	}
	return nil, nil
}
