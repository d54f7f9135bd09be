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

// Informers returns an informer that somebody else runs, for an example of its objects: a *v1.Node, a *v1.Pod or a
// *coordinationv1.Lease. With controller-runtime it is the GetInformer of its cache.Cache:
//
//	func(ctx context.Context, example clientgo.Object) (clientgo.Informer, error) { return mgr.GetCache().GetInformer(ctx, example) }
//
// The Cluster calls it once for each kind while it runs, and again a second after an error. It may block until the
// informer has synced, but not longer than the context. When Run ends, the informers live on and tell the Cluster nothing more.
type Informers func(ctx context.Context, example Object) (Informer, error)

// Object is controller-runtime's client.Object.
type Object interface {
	metav1.Object
	runtime.Object
}

// Informer is what a Cluster needs of foreign informers; controller-runtime's cache.Informer and client-go's
// cache.SharedIndexInformer implement it. Informers of nodes and pods must also have client-go's method GetIndexer, as
// controller-runtime's have unless they are restricted to a few namespaces.
type Informer interface {
	AddEventHandler(cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error)
	RemoveEventHandler(cache.ResourceEventHandlerRegistration) error
	AddIndexers(cache.Indexers) error
	HasSynced() bool
	IsStopped() bool
}

// reader is the part of cache.Indexer that is read.
type reader interface {
	List() []any
	GetByKey(key string) (any, bool, error)
	ByIndex(name, value string) ([]any, error)
}

// source is an informer as far as a Cluster needs it.
type source interface {
	reader
	// handle adds a handler; the returned function says whether the first list has been delivered to it.
	handle(cache.ResourceEventHandler) (cache.InformerSynced, error)
	HasSynced() bool
	IsStopped() bool
}

// whole is an informer that exists from the beginning.
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

// AddIndexers resolves the ambiguity: both embedded types have it.
func (w whole) AddIndexers(i cache.Indexers) error { return w.SharedIndexInformer.AddIndexers(i) }

// late is an informer of another cache, available only once that cache runs. Until then it is empty and collects
// handlers.
type late struct {
	get     Informers
	example Object
	index   cache.Indexers
	mirrors bool // an informer without GetIndexer will do: only the guard reads it, from a mirror
	link    *link

	mu       sync.Mutex
	informer Informer  // guarded by mu: nil until obtained
	indexer  reader    // guarded by mu: nil until obtained
	waiting  []*handed // guarded by mu: handlers added before that, in order
	told     []func()  // guarded by mu: each removes a handler from the informer
	left     bool      // guarded by mu: Run has ended
}

// handed is a handler that was added before the informer was obtained.
type handed struct {
	handler cache.ResourceEventHandler
	synced  cache.InformerSynced // guarded by late.mu: nil until the informer is obtained
}

// obtain gets the informer, with retries until the context ends. Then the informer, which may live on, tells nobody here.
func (l *late) obtain(ctx context.Context) {
	defer l.leave(true)
	for {
		err := l.try(ctx)
		if ctx.Err() != nil {
			return
		}
		l.link.note(err)
		if err == nil {
			<-ctx.Done()
			return
		}
		l.leave(false)
		if !wait(ctx, reconnectEvery) {
			return
		}
	}
}

// leave removes all handlers from the informer, for good once Run has ended.
func (l *late) leave(ended bool) {
	l.mu.Lock()
	told := l.told
	l.told, l.left = nil, ended
	l.mu.Unlock()
	for _, remove := range told {
		remove()
	}
}

// tell has the informer tell a handler. mu is held.
func (l *late) tell(informer Informer, h cache.ResourceEventHandler) (cache.InformerSynced, error) {
	r, err := informer.AddEventHandler(h)
	if err != nil {
		return nil, err
	}
	l.told = append(l.told, func() { _ = informer.RemoveEventHandler(r) }) // fails only for what another informer returned
	return r.HasSynced, nil
}

func (l *late) try(ctx context.Context) error {
	informer, err := l.get(ctx, l.example)
	if err != nil {
		return err
	}
	if absent(informer) {
		return errors.New("the cache returned a nil informer")
	}
	indexer, mirror, err := l.indexed(informer)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if mirror != nil {
		if _, err := l.tell(informer, mirror); err != nil {
			return err
		}
	}
	for _, h := range l.waiting {
		if h.synced, err = l.tell(informer, h.handler); err != nil {
			return err
		}
	}
	l.informer, l.indexer, l.waiting = informer, indexer, nil
	return nil
}

// indexed returns the informer's index or, if it has none, a mirror and the handler that fills it. A mirror may lag behind
// what other handlers are told.
func (l *late) indexed(informer Informer) (reader, cache.ResourceEventHandler, error) {
	its, ok := informer.(interface{ GetIndexer() cache.Indexer })
	switch {
	case !ok && l.mirrors:
		mirror := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
		return mirror, keeping(mirror), nil
	case !ok:
		return nil, nil, fmt.Errorf("%T has no GetIndexer and cannot be read: is it restricted to a few namespaces?", informer)
	}
	missing := make(cache.Indexers)
	for name, index := range l.index {
		if _, ok := its.GetIndexer().GetIndexers()[name]; !ok { // another Cluster may have added the same index
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

// keeping returns a handler that copies an informer's objects to a store.
func keeping(store cache.Store) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { _ = store.Add(obj) }, // fails only for objects without a key, which informers never have
		UpdateFunc: func(_, obj any) { _ = store.Update(obj) },
		DeleteFunc: func(obj any) { _ = store.Delete(objectOf(obj)) },
	}
}

func (l *late) handle(h cache.ResourceEventHandler) (cache.InformerSynced, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.left:
		return func() bool { return false }, nil
	case l.informer != nil:
		return l.tell(l.informer, h)
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

// had returns the informer and its objects; nil until they are obtained.
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
