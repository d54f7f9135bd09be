package clientgo

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
)

// listerWatcher lists in pages, each made small before the next, and notes whether the API answers.
type listerWatcher struct {
	listed  func(context.Context, metav1.ListOptions) (*metav1.ListMeta, []runtime.Object, error) // one page
	watched func(context.Context, metav1.ListOptions) (watch.Interface, error)
	streams bool                 // false: list, and do not watch what there is
	link    *link                // of watches
	lists   *link                // apart, for a list that can be had does not make well a watch that cannot
	spread  func() time.Duration // how long a list after the first may wait
	large   bool                 // the last list had several pages; of the goroutine that lists alone
}

// pageSize is in objects.
const pageSize = 500

// IsWatchListSemanticsUnSupported passes on what a fake clientset says of itself.
func (l *listerWatcher) IsWatchListSemanticsUnSupported() bool { return !l.streams }

// streams says whether what is asked can begin a watch with what there is; fake clientsets cannot, and say so.
func streams(asked any) bool {
	fake, ok := asked.(interface{ IsWatchListSemanticsUnSupported() bool })
	return !ok || !fake.IsWatchListSemanticsUnSupported()
}

// List is ListWithContext for informers of client-go before 0.33.
func (l *listerWatcher) List(o metav1.ListOptions) (runtime.Object, error) {
	return l.ListWithContext(context.Background(), o)
}

// Watch is WatchWithContext for informers of client-go before 0.33.
func (l *listerWatcher) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return l.WatchWithContext(context.Background(), o)
}

// ListWithContext reads everything as it is now, in pages, whatever resourceVersion the informer asks for: the API
// server answers 0 with everything at once, in spite of the limit and perhaps out of an old cache, and another one with
// a limit by what was there then, which a watch may be too old for, again and again. After the first time, the replicas
// of a program lost their watches together: each waits for a while of its own before it reads more than a page.
func (l *listerWatcher) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	if l.large {
		wait(ctx, rand.N(max(l.spread(), 1)))
	}
	o.ResourceVersion, o.ResourceVersionMatch, o.Continue, o.Limit = "", "", "", pageSize
	all := &metainternalversion.List{}
	for pages := 1; ; pages++ {
		about, items, err := l.page(ctx, o)
		if o.Continue != "" && apierrors.IsResourceExpired(err) { // it took so long that the etcd has forgotten what was then
			o.Continue, o.Limit, all.Items = "", 0, nil
			continue
		}
		if err != nil {
			return nil, err
		}
		all.Items = append(all.Items, items...)
		if o.Continue = about.Continue; o.Continue == "" {
			all.ResourceVersion, l.large = about.ResourceVersion, pages > 1
			return all, nil
		}
	}
}

// page reads one.
func (l *listerWatcher) page(ctx context.Context, o metav1.ListOptions) (about *metav1.ListMeta, items []runtime.Object, err error) {
	items, err = reconnect(ctx, l.lists, func() (page []runtime.Object, err error) {
		about, page, err = l.listed(ctx, o)
		return page, err
	})
	return about, items, err
}

// WatchWithContext begins a watch.
func (l *listerWatcher) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
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
