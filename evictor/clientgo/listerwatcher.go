package clientgo

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
)

// listerWatcher lists in pages, makes each page small before it asks for the next, and notes whether the API answers.
type listerWatcher struct {
	listed  func(context.Context, metav1.ListOptions) (*metav1.ListMeta, []runtime.Object, error) // one page
	watched func(context.Context, metav1.ListOptions) (watch.Interface, error)
	streams bool                 // whether a watch may begin with the objects there are (watch-list)
	link    *link                // of watches
	lists   *link                // of lists; separate, because a list that works says nothing of the watch
	spread  func() time.Duration // how long a list after the first may be put off
	has     func() int           // how many objects the informer has: none before the first list
}

// pageSize is in objects.
const pageSize = 500

// IsWatchListSemanticsUnSupported passes on what a fake clientset says about itself.
func (l *listerWatcher) IsWatchListSemanticsUnSupported() bool { return !l.streams }

// streams says whether a client supports watch-lists; fake clientsets do not, and say so.
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

// ListWithContext lists the current state in pages, whatever resourceVersion the informer asks for. For version 0 the API
// server would ignore the limit and answer with everything at once, perhaps out of an old cache. For any other version
// it would answer with the state at that version, which may again and again be too old to watch from. Every list but the
// first is put off at random (takeTurn), because the replicas of a program lose their watches together.
func (l *listerWatcher) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	l.takeTurn(ctx)
	o.ResourceVersion, o.ResourceVersionMatch, o.Continue, o.Limit = "", "", "", pageSize
	all := &metainternalversion.List{}
	for {
		var about *metav1.ListMeta
		items, err := reconnect(ctx, l.lists.note, func() (page []runtime.Object, err error) {
			about, page, err = l.listed(ctx, o)
			return page, err
		})
		if o.Continue != "" && apierrors.IsResourceExpired(err) { // the list took so long that etcd has compacted its version
			o.Continue, o.Limit, all.Items = "", 0, nil
			continue
		}
		if err != nil {
			return nil, err
		}
		all.Items = append(all.Items, items...)
		if o.Continue = about.Continue; o.Continue == "" {
			all.ResourceVersion = about.ResourceVersion
			return all, nil
		}
	}
}

// takeTurn waits for a random time before more than a page is read again, so that replicas do not read together.
func (l *listerWatcher) takeTurn(ctx context.Context) {
	if l.has() > pageSize {
		wait(ctx, rand.N(max(l.spread(), 1)))
	}
}

// WatchWithContext begins a watch. A watch-list costs the API server as much as a list, so it is put off in the same way;
// a watch that resumes is not.
func (l *listerWatcher) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	note := l.link.note
	if o.SendInitialEvents != nil && *o.SendInitialEvents {
		l.takeTurn(ctx)
		note = l.link.fails
	}
	w, err := reconnect(ctx, note, func() (watch.Interface, error) { return l.watched(ctx, o) })
	if err != nil {
		return nil, err
	}
	return l.heard(w), nil
}

// heard passes on what a watch says, and notes it: one that goes on from what the API server has forgotten begins well, and says
// so in an error; a watch-list is well once it has brought what there is.
func (l *listerWatcher) heard(w watch.Interface) watch.Interface {
	events := make(chan watch.Event)
	proxy := watch.NewProxyWatcher(events)
	go func() {
		defer close(events)
		defer w.Stop()
		l.pass(w.ResultChan(), events, proxy.StopChan())
	}()
	return proxy
}

// mostWait is how many events may wait for their reader, so that who makes them need not.
const mostWait = 100

func (l *listerWatcher) pass(from <-chan watch.Event, events chan<- watch.Event, stop <-chan struct{}) {
	var queue []watch.Event
	for more := true; more || len(queue) > 0; {
		in, out, next := from, events, watch.Event{}
		if !more || len(queue) == mostWait {
			in = nil
		}
		if len(queue) == 0 {
			out = nil
		} else {
			next = queue[0]
		}
		var e watch.Event
		select {
		case <-stop:
			return
		case e, more = <-in:
			if e.Type == watch.Error {
				l.link.note(apierrors.FromObject(e.Object))
			}
			if more {
				queue = append(queue, e)
			}
		case out <- next:
			queue = queue[1:]
			if next.Type == watch.Bookmark && endsList(next.Object) {
				l.link.note(nil)
				l.lists.note(nil)
			}
		}
	}
}

// endsList says whether a bookmark comes after all that a watch-list has brought.
func endsList(bookmark runtime.Object) bool {
	about, err := meta.Accessor(bookmark)
	return err == nil && about.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}

// link holds the error of an informer's last list or watch, and since when there has been one.
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
		l.logger.Warn("reading fails, retrying", "what", l.what, "error", err)
	case err == nil && l.err != nil:
		l.logger.Info("reading works again", "what", l.what, "after", now.Sub(l.since).Round(time.Second))
	}
	l.err = err
}

// fails is note for who does not know yet whether all is well.
func (l *link) fails(err error) {
	if err != nil {
		l.note(err)
	}
}

// broken returns the error, and for how long there has been one.
func (l *link) broken(now time.Time) (time.Duration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		return 0, nil
	}
	return now.Sub(l.since), l.err
}
