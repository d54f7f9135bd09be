package clientgo

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// NewInformer makes an informer for a cache that is not the Cluster's; use it as Cache.NewInformer in the options of a
// controller-runtime manager. An informer of nodes, pods or leases reads as the Cluster's own do: never from an old
// cache of the API server; in pages, each made small by the transform function before the next; and again within a
// second once the API server is back. The guard sees when it fails. For other kinds it returns client-go's informer.
func (c *Cluster) NewInformer(lw cache.ListerWatcher, example runtime.Object, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
	var what string
	switch example.(type) {
	case *v1.Node:
		what = "nodes"
	case *v1.Pod:
		what = "pods"
	case *coordinationv1.Lease:
		what = "leases"
	default:
		return cache.NewSharedIndexInformer(lw, example, resync, indexers)
	}
	reads := &listerWatcher{streams: streams(lw), link: c.link(what), lists: c.link(what), spread: c.guard.spread}
	informer := &paged{}
	reads.listed = func(ctx context.Context, o metav1.ListOptions) (*metav1.ListMeta, []runtime.Object, error) {
		page, err := listWith(ctx, lw, o)
		if err != nil {
			return nil, nil, err
		}
		return informer.small(page)
	}
	reads.watched = func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return watchWith(ctx, lw, o) }
	informer.SharedIndexInformer = cache.NewSharedIndexInformer(reads, example, resync, indexers)
	reads.has = counted(informer)
	c.linked(reads.link, reads.lists)
	return informer
}

// paged applies the informer's transform function to each page.
type paged struct {
	cache.SharedIndexInformer
	transform cache.TransformFunc
}

// SetTransform implements cache.SharedIndexInformer.
func (p *paged) SetTransform(f cache.TransformFunc) error {
	if err := p.SharedIndexInformer.SetTransform(f); err != nil {
		return err
	}
	p.transform = f
	return nil
}

// small takes a list apart and transforms its items. If the function returns something that is not an object, the item
// stays as it is: the informer calls the function again.
func (p *paged) small(list runtime.Object) (*metav1.ListMeta, []runtime.Object, error) {
	about, err := meta.ListAccessor(list)
	if err != nil {
		return nil, nil, err
	}
	items := make([]runtime.Object, 0, meta.LenList(list))
	err = meta.EachListItemWithAlloc(list, func(item runtime.Object) error { // copies, because one item would keep its whole page alive
		if p.transform != nil {
			made, err := p.transform(item)
			if err != nil {
				return err
			}
			if object, ok := made.(runtime.Object); ok {
				item = object
			}
		}
		items = append(items, item)
		return nil
	})
	return &metav1.ListMeta{ResourceVersion: about.GetResourceVersion(), Continue: about.GetContinue()}, items, err
}

// listWith and watchWith pass the context on if lw takes one, as client-go's do since 0.33.
func listWith(ctx context.Context, lw cache.ListerWatcher, o metav1.ListOptions) (runtime.Object, error) {
	if with, ok := lw.(interface {
		ListWithContext(context.Context, metav1.ListOptions) (runtime.Object, error)
	}); ok {
		return with.ListWithContext(ctx, o)
	}
	return lw.List(o)
}

func watchWith(ctx context.Context, lw cache.ListerWatcher, o metav1.ListOptions) (watch.Interface, error) {
	if with, ok := lw.(interface {
		WatchWithContext(context.Context, metav1.ListOptions) (watch.Interface, error)
	}); ok {
		return with.WatchWithContext(ctx, o)
	}
	return lw.Watch(o)
}
