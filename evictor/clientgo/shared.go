package clientgo

import (
	"context"
	"errors"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// Informers gives informers that somebody else runs by an example of what they bring: a *v1.Node, a *v1.Pod and a
// *coordinationv1.Lease. It is the GetInformer of controller-runtime's cache.Cache, as
//
//	func(ctx context.Context, example clientgo.Object) (clientgo.Informer, error) { return mgr.GetCache().GetInformer(ctx, example) }
//
// It is asked while the Cluster runs, once for each kind, and again a second after an error; it may wait until the
// informer has everything, no longer than the context.
type Informers func(ctx context.Context, example Object) (Informer, error)

// Object is controller-runtime's client.Object.
type Object interface {
	metav1.Object
	runtime.Object
}

// Informer is what is asked of an informer of others: controller-runtime's cache.Informer and client-go's
// cache.SharedIndexInformer are such. Those of nodes and pods must also have client-go's method GetIndexer, which
// controller-runtime's have unless they are of a few namespaces alone.
type Informer interface {
	AddEventHandler(cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error)
	AddIndexers(cache.Indexers) error
	HasSynced() bool
	IsStopped() bool
}

// reader is what is read of a cache.Indexer.
type reader interface {
	List() []any
	GetByKey(key string) (any, bool, error)
	ByIndex(name, value string) ([]any, error)
}

// source is an informer as far as a Cluster needs it.
type source interface {
	reader
	// handle adds a handler; the function returned says whether it has been told of everything.
	handle(cache.ResourceEventHandler) (cache.InformerSynced, error)
	HasSynced() bool
	IsStopped() bool
}

// whole is an informer that is there from the beginning.
type whole struct {
	cache.Indexer
	cache.SharedIndexInformer
}

func sourceOf(informer cache.SharedIndexInformer) source {
	return whole{informer.GetIndexer(), informer}
}

func (w whole) handle(h cache.ResourceEventHandler) (cache.InformerSynced, error) {
	r, err := w.AddEventHandler(h)
	if err != nil {
		return nil, err
	}
	return r.HasSynced, nil
}

// AddIndexers is in both.
func (w whole) AddIndexers(i cache.Indexers) error { return w.SharedIndexInformer.AddIndexers(i) }

// late is an informer of others, which is to be had only once their cache runs. Until then it is empty and keeps its
// handlers.
type late struct {
	get     Informers
	example Object
	index   cache.Indexers
	mirrors bool // an informer without an index will do: only the guard reads
	link    *link

	mu       sync.Mutex
	informer Informer  // guarded by mu: nil until it is had
	indexer  reader    // guarded by mu: likewise
	waiting  []*handed // guarded by mu: for it, in their order
}

// handed is a handler that was handed in early.
type handed struct {
	handler cache.ResourceEventHandler
	synced  cache.InformerSynced // guarded by late.mu: nil until the informer is had
}

// obtain gets the informer, unless the context ends.
func (l *late) obtain(ctx context.Context) {
	for {
		err := l.try(ctx)
		if ctx.Err() != nil {
			return
		}
		l.link.note(err)
		if err == nil || !wait(ctx, reconnectEvery) {
			return
		}
	}
}

func (l *late) try(ctx context.Context) error {
	informer, err := l.get(ctx, l.example)
	if err != nil {
		return err
	}
	if absent(informer) {
		return errors.New("the cache gives nil for an informer")
	}
	indexer, mirror, err := l.indexed(informer)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if mirror != nil {
		if _, err := informer.AddEventHandler(mirror); err != nil {
			return err
		}
	}
	for _, h := range l.waiting {
		r, err := informer.AddEventHandler(h.handler)
		if err != nil {
			return err
		}
		h.synced = r.HasSynced
	}
	l.informer, l.indexer, l.waiting = informer, indexer, nil
	return nil
}

// indexed is where the informer keeps what it has, or a mirror of it and the handler that keeps that. A mirror may lag
// behind what other handlers are told.
func (l *late) indexed(informer Informer) (reader, cache.ResourceEventHandler, error) {
	its, ok := informer.(interface{ GetIndexer() cache.Indexer })
	switch {
	case !ok && l.mirrors:
		mirror := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
		return mirror, keeping(mirror), nil
	case !ok:
		return nil, nil, fmt.Errorf("%T cannot be read (GetIndexer): is it of a few namespaces alone?", informer)
	}
	missing := make(cache.Indexers)
	for name, index := range l.index {
		if _, ok := its.GetIndexer().GetIndexers()[name]; !ok { // another Cluster's is the same
			missing[name] = index
		}
	}
	if len(missing) > 0 {
		if err := informer.AddIndexers(missing); err != nil {
			return nil, nil, err
		}
	}
	return its.GetIndexer(), nil, nil
}

// keeping is a handler that lets a store have what an informer has.
func keeping(store cache.Store) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { _ = store.Add(obj) }, // of objects with a key it cannot fail, and informers have no others
		UpdateFunc: func(_, obj any) { _ = store.Update(obj) },
		DeleteFunc: func(obj any) { _ = store.Delete(objectOf(obj)) },
	}
}

func (l *late) handle(h cache.ResourceEventHandler) (cache.InformerSynced, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.informer != nil {
		r, err := l.informer.AddEventHandler(h)
		if err != nil {
			return nil, err
		}
		return r.HasSynced, nil
	}
	early := &handed{handler: h}
	l.waiting = append(l.waiting, early)
	return func() bool {
		l.mu.Lock()
		synced := early.synced
		l.mu.Unlock()
		return synced != nil && synced()
	}, nil
}

// had is the informer and what it has, nil until there is one.
func (l *late) had() (Informer, reader) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.informer, l.indexer
}

// HasSynced implements source.
func (l *late) HasSynced() bool {
	informer, _ := l.had()
	return informer != nil && informer.HasSynced()
}

// IsStopped implements source.
func (l *late) IsStopped() bool {
	informer, _ := l.had()
	return informer != nil && informer.IsStopped()
}

// List implements reader.
func (l *late) List() []any {
	if _, has := l.had(); has != nil {
		return has.List()
	}
	return nil
}

// GetByKey implements reader.
func (l *late) GetByKey(key string) (any, bool, error) {
	if _, has := l.had(); has != nil {
		return has.GetByKey(key)
	}
	return nil, false, nil
}

// ByIndex implements reader.
func (l *late) ByIndex(name, value string) ([]any, error) {
	if _, has := l.had(); has != nil {
		return has.ByIndex(name, value)
	}
	return nil, nil
}
