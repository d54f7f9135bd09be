//go:build go1.25

package clientgo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// book is an API server of so many nodes, in pages, which writes down what it is asked.
type book struct {
	mu      sync.Mutex
	nodes   int
	asked   []string
	lists   []time.Time // when the first page of each was asked for
	expires bool        // the next page after the first has been forgotten
	streams bool        // it serves watch-lists
	watches []*watch.RaceFreeFakeWatcher
	full    []*watch.FakeWatcher // those that brought what there is
}

// forget ends the last watch with the word that the API server has forgotten what it was to go on from.
func (b *book) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	expired := &apierrors.NewResourceExpired("too old").ErrStatus
	if n := len(b.full); n > 0 {
		b.full[n-1].Error(expired)
		return
	}
	b.watches[len(b.watches)-1].Error(expired)
}

func (b *book) page(_ context.Context, o metav1.ListOptions) (*metav1.ListMeta, []runtime.Object, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, fmt.Sprintf("list version %q, %d after %q", o.ResourceVersion, o.Limit, o.Continue))
	from := 0
	if o.Continue == "" {
		b.lists = append(b.lists, time.Now())
	} else {
		if b.expires {
			return nil, nil, apierrors.NewResourceExpired("forgotten")
		}
		var err error
		if from, err = strconv.Atoi(o.Continue); err != nil {
			return nil, nil, err
		}
	}
	about, to := &metav1.ListMeta{ResourceVersion: "99"}, b.nodes
	if o.Limit > 0 && from+int(o.Limit) < b.nodes {
		to = from + int(o.Limit)
		about.Continue = strconv.Itoa(to)
	}
	var items []runtime.Object
	for i := from; i < to; i++ {
		items = append(items, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i), ResourceVersion: "1"}})
	}
	return about, items, nil
}

func (b *book) watch(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := watch.NewRaceFreeFake()
	b.watches = append(b.watches, w)
	if o.SendInitialEvents == nil || !*o.SendInitialEvents {
		b.asked = append(b.asked, fmt.Sprintf("watch version %q", o.ResourceVersion))
		return w, nil
	}
	b.asked, b.lists = append(b.asked, "watch-list"), append(b.lists, time.Now())
	full := watch.NewFakeWithChanSize(b.nodes+1, false)
	for i := range b.nodes {
		full.Add(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i), ResourceVersion: "1"}})
	}
	full.Action(watch.Bookmark, &v1.Node{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "99", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}})
	b.full = append(b.full, full)
	return full, nil
}

// since are the requests from that one on.
func (b *book) since(n int) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.asked[n:])
}

func (b *book) reader(spread time.Duration) *listerWatcher {
	to := func() *link {
		return &link{what: "nodes", clock: clock.RealClock{}, logger: slog.New(slog.DiscardHandler)}
	}
	return &listerWatcher{listed: b.page, watched: b.watch, streams: b.streams, link: to(), lists: to(), spread: func() time.Duration { return spread }, has: func() int { return 0 }}
}

// TestAListIsReadAsOfNow, in pages, whatever the informer asks for: neither out of an old cache (0) nor as of a version
// that its watch was just too old for.
func TestAListIsReadAsOfNow(t *testing.T) {
	for _, asked := range []metav1.ListOptions{{ResourceVersion: "0", Limit: 500}, {ResourceVersion: "77"}, {ResourceVersion: "77", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}} {
		b := &book{nodes: 1200}
		l, err := b.reader(0).ListWithContext(t.Context(), asked)
		require.NoError(t, err)
		require.Equal(t, []string{`list version "", 500 after ""`, `list version "", 500 after "500"`, `list version "", 500 after "1000"`}, b.asked)
		require.Equal(t, 1200, meta.LenList(l))
		about, err := meta.ListAccessor(l)
		require.NoError(t, err)
		require.Equal(t, "99", about.GetResourceVersion())
		require.Empty(t, about.GetContinue(), "or the informer would read on")
	}
}

// TestAListThatTakesTooLongIsReadAtOnce: what its pages were of is forgotten meanwhile.
func TestAListThatTakesTooLongIsReadAtOnce(t *testing.T) {
	b := &book{nodes: 1200, expires: true}
	l, err := b.reader(0).ListWithContext(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, b.asked, 3)
	require.Equal(t, `list version "", 0 after ""`, b.asked[2])
	require.Equal(t, 1200, meta.LenList(l), "each once")
}

// TestARelistCostsItsPagesAndAWatch, or one watch-list where client-go asks for that, once: counted at the API, through
// client-go's own informer.
func TestARelistCostsItsPagesAndAWatch(t *testing.T) {
	paged := []string{`list version "", 500 after ""`, `list version "", 500 after "500"`, `list version "", 500 after "1000"`, `watch version "99"`}
	for _, streams := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			b := &book{nodes: 1200, streams: streams}
			l := b.reader(5 * time.Second)
			informer := cache.NewSharedIndexInformer(l, &v1.Node{}, noResync, cache.Indexers{})
			l.has = counted(informer)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				informer.Run(ctx.Done())
			}()
			time.Sleep(time.Minute)
			require.True(t, informer.HasSynced())
			first := b.since(0)
			if len(first) > 1 { // client-go before 0.35 asks for no watch-list
				require.Equal(t, paged, first)
			} else {
				require.Equal(t, []string{"watch-list"}, first)
				require.True(t, streams)
			}
			for range 3 {
				b.forget()
				before := len(b.since(0))
				time.Sleep(time.Minute)
				require.Equal(t, first, b.since(before))
			}
			cancel()
			<-ended
		})
	}
}

// TestReplicasDoNotRelistTogether: those that lost their watches at one instant read what is large each after a while of its own,
// in pages or by a watch-list, and what is small, or for the first time, at once. A watch that goes on where it was never waits.
func TestReplicasDoNotRelistTogether(t *testing.T) {
	const replicas, spread = 20, 5 * time.Second
	list := func(ctx context.Context, l *listerWatcher) error {
		_, err := l.ListWithContext(ctx, metav1.ListOptions{})
		return err
	}
	stream := func(initial bool) func(context.Context, *listerWatcher) error {
		return func(ctx context.Context, l *listerWatcher) error {
			w, err := l.WatchWithContext(ctx, metav1.ListOptions{SendInitialEvents: &initial})
			w.Stop()
			return err
		}
	}
	for name, row := range map[string]struct {
		has   int
		read  func(context.Context, *listerWatcher) error
		waits bool
	}{
		"pages":                  {1200, list, true},
		"one page":               {500, list, false},
		"pages, the first time":  {0, list, false},
		"watch-list":             {1200, stream(true), true},
		"small watch-list":       {500, stream(true), false},
		"watch-list, first time": {0, stream(true), false},
		"watch":                  {1200, stream(false), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &book{nodes: 1200}
				began, took := time.Now(), make(chan time.Duration, replicas)
				for range replicas {
					go func() {
						l := b.reader(spread)
						l.has = func() int { return row.has }
						require.NoError(t, row.read(t.Context(), l))
						took <- time.Since(began)
					}()
				}
				at := make(map[time.Duration]int)
				for range replicas {
					after := <-took
					at[after]++
					require.LessOrEqual(t, after, spread)
				}
				if row.waits {
					require.Len(t, at, replicas)
				} else {
					require.Equal(t, map[time.Duration]int{0: replicas}, at)
				}
			})
		})
	}
}

// TestAWatchListIsWellOnceItHasCome: what was broken stays so while it brings what there is. Nothing is left of one that nobody
// reads any more.
func TestAWatchListIsWellOnceItHasCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, lists := &book{nodes: 3}, true
		l := b.reader(0)
		l.link.note(errors.New("forgotten"))
		l.lists.note(errors.New("down"))
		w, err := l.WatchWithContext(t.Context(), metav1.ListOptions{SendInitialEvents: &lists})
		require.NoError(t, err)
		broken := func() int {
			synctest.Wait()
			_, watch := l.link.broken(time.Now())
			_, list := l.lists.broken(time.Now())
			return len(slices.DeleteFunc([]error{watch, list}, func(err error) bool { return err == nil }))
		}
		for range 3 {
			<-w.ResultChan()
			require.Equal(t, 2, broken())
		}
		<-w.ResultChan()
		require.Zero(t, broken())
		b.full[0].Modify(&v1.Node{})
		b.full[0].Modify(&v1.Node{})
		synctest.Wait()
		w.Stop()
	})
}

// pagesOnly is of an API server without watch-lists.
type pagesOnly struct{ *cache.ListWatch }

func (pagesOnly) IsWatchListSemanticsUnSupported() bool { return true }

// TestAnInformerOfOthersReadsLikeOurs: pages, made small as it is told to, and a link that the guard asks.
func TestAnInformerOfOthersReadsLikeOurs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := &Cluster{opts: Options{Clock: clock.RealClock{}, Logger: slog.New(slog.DiscardHandler)}}
		c.guard = newGuard(c)
		b := &book{nodes: 1200}
		lw := &cache.ListWatch{
			ListFunc: func(o metav1.ListOptions) (runtime.Object, error) {
				about, items, err := b.page(ctx, o)
				if err != nil {
					return nil, err
				}
				list := &v1.NodeList{ListMeta: *about}
				for _, item := range items {
					n := item.(*v1.Node)
					n.Annotations = map[string]string{"large": "text"}
					list.Items = append(list.Items, *n)
				}
				return list, nil
			},
			WatchFunc: func(metav1.ListOptions) (watch.Interface, error) { return nil, errors.New("refused") },
		}
		informer := c.NewInformer(pagesOnly{lw}, &v1.Node{}, noResync, cache.Indexers{})
		require.NoError(t, informer.SetTransform(Keep{}.Slim))
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			informer.Run(ctx.Done())
		}()
		time.Sleep(30 * time.Second)
		require.Equal(t, []string{`list version "", 500 after ""`, `list version "", 500 after "500"`, `list version "", 500 after "1000"`}, b.since(0)[:3])
		require.Len(t, informer.GetStore().List(), 1200)
		n, ok, err := informer.GetStore().GetByKey("n700")
		require.NoError(t, err)
		require.True(t, ok)
		require.Empty(t, n.(*v1.Node).Annotations)
		require.Len(t, c.allLinks(), 2)
		require.ErrorContains(t, c.guard.look(ctx), "the watch of nodes has been broken")
		cancel()
		<-ended
	})
	require.IsType(t, cache.NewSharedIndexInformer(nil, &v1.Secret{}, 0, nil), (&Cluster{}).NewInformer(nil, &v1.Secret{}, 0, nil), "others are client-go's")
}
