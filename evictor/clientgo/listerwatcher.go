package clientgo

import (
	"context"
	"log/slog"
	"sync"
	"time"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
)

// listerWatcher lists in pages, each made small before the next, and notes whether the API answers.
type listerWatcher[T any] struct {
	client  kubernetes.Interface
	slim    func(*T) runtime.Object
	listed  func(context.Context, metav1.ListOptions) (*metav1.ListMeta, []T, error)
	watched func(context.Context, metav1.ListOptions) (watch.Interface, error)
	link    *link // of watches
	lists   *link // apart, for a list that can be had does not make well a watch that cannot
}

// IsWatchListSemanticsUnSupported passes on what a fake clientset says of itself.
func (l *listerWatcher[T]) IsWatchListSemanticsUnSupported() bool {
	fake, ok := l.client.(interface{ IsWatchListSemanticsUnSupported() bool })
	return ok && fake.IsWatchListSemanticsUnSupported()
}

// List is ListWithContext for informers of client-go before 0.33.
func (l *listerWatcher[T]) List(o metav1.ListOptions) (runtime.Object, error) {
	return l.ListWithContext(context.Background(), o)
}

// Watch is WatchWithContext for informers of client-go before 0.33.
func (l *listerWatcher[T]) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return l.WatchWithContext(context.Background(), o)
}

// ListWithContext reads one page. The API server answers resourceVersion 0 with everything at once, in
// spite of the limit; a consistent read comes in pages.
func (l *listerWatcher[T]) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	if o.ResourceVersion == "0" {
		o.ResourceVersion, o.ResourceVersionMatch = "", ""
	}
	var page []T
	about, err := reconnect(ctx, l.lists, func() (about *metav1.ListMeta, err error) {
		about, page, err = l.listed(ctx, o)
		return about, err
	})
	if err != nil {
		return nil, err
	}
	list := &metainternalversion.List{ListMeta: *about, Items: make([]runtime.Object, len(page))}
	for i := range page {
		list.Items[i] = l.slim(&page[i])
	}
	return list, nil
}

// WatchWithContext begins a watch.
func (l *listerWatcher[T]) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	w, err := reconnect(ctx, l.link, func() (watch.Interface, error) { return l.watched(ctx, o) })
	if err == nil {
		l.lists.note(nil) // a watch-list needs none
	}
	return w, err
}

// link is how it stands between an informer and the API: the error of the last list or watch, and since when there has
// been one.
type link struct {
	what   string
	clock  clock.PassiveClock
	logger *slog.Logger

	mu    sync.Mutex
	err   error     // guarded by mu
	since time.Time // guarded by mu; set while err is
}

func (l *link) note(err error) {
	now := l.clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil && l.err == nil:
		l.since = now
		l.logger.Warn("reading fails, and is tried again", "what", l.what, "error", err)
	case err == nil && l.err != nil:
		l.logger.Info("reading goes on", "what", l.what, "after", now.Sub(l.since).Round(time.Second))
	}
	l.err = err
}

// broken returns the error and for how long there has been one.
func (l *link) broken(now time.Time) (time.Duration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		return 0, nil
	}
	return now.Sub(l.since), l.err
}
