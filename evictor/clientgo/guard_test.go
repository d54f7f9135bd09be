//go:build go1.25

package clientgo_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/clientgo/clientgotest"
)

// TestMain takes client-go's handlers of errors away: the last of them sleeps by a clock that it shares with all bubbles.
func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = nil
	os.Exit(m.Run())
}

// heard is a Target that keeps what it was told of the observer.
type heard struct {
	mu     sync.Mutex
	health []string
	times  []time.Time // when
}

func (*heard) NodeChanged(string)                      {}
func (*heard) PodChanged(evictor.PodKey)               {}
func (*heard) LeaseObserved(string, time.Time, string) {}
func (h *heard) SetObserverHealth(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	text := "well"
	if err != nil {
		text = err.Error()
	}
	h.health, h.times = append(h.health, text), append(h.times, time.Now())
}

// at returns when it was told the i-th time.
func (h *heard) at(i int) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.times[i]
}

func (h *heard) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.health)
}

// guarded plays a cluster of two nodes in a bubble; kubelets of the nodes named by alive renew every ten seconds.
type guarded struct {
	evictions *evictions
	*heard
	client  *fake.Clientset
	cluster *clientgo.Cluster
	watches shownWatches

	mu    sync.Mutex
	alive []string
	// blind: what is written is not told to watches. mute: reads fail.
	blind, mute bool
	forbidden   bool          // no single lease may be read
	takes       time.Duration // how long it takes to read a lease
	reads       int           // how many reads of a lease have begun
}

func (g *guarded) set(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
}

func (g *guarded) is(what *bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return *what
}

func (g *guarded) latency() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reads++
	return g.takes
}

// never is no resync; 0 makes client-go before 0.35 wait on a channel from outside the bubble.
const never = 1000 * time.Hour

var errDown = apierrors.NewServiceUnavailable("down")

// shownWatch passes on the events that may be seen, until it is stopped.
type shownWatch struct {
	watch.Interface
	events  <-chan watch.Event
	stopped <-chan struct{}
	stop    func()
}

func (w *shownWatch) ResultChan() <-chan watch.Event { return w.events }

func (w *shownWatch) Stop() {
	w.Interface.Stop()
	w.stop()
}

func (w *shownWatch) forward(to chan<- watch.Event, seen func() bool) {
	defer close(to)
	for event := range w.Interface.ResultChan() {
		if !seen() {
			continue
		}
		select {
		case to <- event:
		case <-w.stopped:
			return
		}
	}
}

// startGuarded gives a test, within its bubble, a cluster once everything is synced.
func startGuarded(t *testing.T, resync time.Duration) *guarded {
	t.Helper()
	return startGuardedWith(t, resync, clientgo.Options{})
}

func startGuardedWith(t *testing.T, resync time.Duration, o clientgo.Options) *guarded {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	g := &guarded{heard: &heard{}, client: clientgotest.NewClientset(node("a-0"), node("a-1"), lease("a-0"), lease("a-1")), alive: []string{"a-0", "a-1"}}
	shown := func(action clienttesting.Action) (bool, watch.Interface, error) {
		if g.is(&g.mute) {
			return true, nil, errDown
		}
		real, err := g.client.Tracker().Watch(action.GetResource(), action.GetNamespace())
		if err != nil {
			return true, nil, err
		}
		seen := watch.NewProxyWatcher(make(chan watch.Event))
		forwarded := make(chan watch.Event)
		shown := &shownWatch{Interface: real, events: forwarded, stopped: seen.StopChan(), stop: seen.Stop}
		g.watches.add(shown)
		go shown.forward(forwarded, func() bool { return !g.is(&g.blind) })
		return true, shown, nil
	}
	g.evictions = answerEvictions(g.client)
	g.client.PrependWatchReactor("leases", shown)
	g.client.PrependWatchReactor("nodes", shown)
	g.client.PrependReactor("*", "leases", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if g.is(&g.mute) && action.GetVerb() != "update" {
			return true, nil, errDown
		}
		if g.is(&g.forbidden) && action.GetVerb() == "get" {
			return true, nil, apierrors.NewForbidden(v1.Resource("leases"), "", errDown)
		}
		return false, nil, nil
	})
	if resync != never {
		p := cached(t, g.client)
		p.factory = informers.NewSharedInformerFactory(g.client, resync)
		o.Informers = p.GetInformer
	}
	var err error
	g.cluster, err = clientgo.New(slowClient{g.client, g.latency}, o)
	require.NoError(t, err)
	require.NoError(t, g.cluster.Feed(g))
	ran := make(chan error)
	go func() { ran <- g.cluster.Run(ctx) }()
	synctest.Wait()
	require.True(t, g.cluster.Synced())
	go func() {
		for ctx.Err() == nil {
			g.mu.Lock()
			alive := slices.Clone(g.alive)
			g.mu.Unlock()
			for _, name := range alive {
				_, err := g.client.CoordinationV1().Leases(v1.NamespaceNodeLease).Update(ctx, lease(name), metav1.UpdateOptions{})
				if err != nil && ctx.Err() == nil {
					t.Errorf("renewing: %v", err)
				}
			}
			select {
			case <-time.After(10 * time.Second):
			case <-ctx.Done():
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ran)
	})
	return g
}

func TestAQuietClusterIsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := startGuarded(t, never)
		time.Sleep(10 * time.Minute)
		g.set(func() { g.alive = []string{"a-1"} })
		time.Sleep(10 * time.Minute)
		require.Empty(t, g.all(), "one that lives is enough")
		for _, action := range g.client.Actions() {
			require.NotEqual(t, "get", action.GetVerb(), "nothing is read live while something is seen")
		}
	})
}

// TestLeasesThatAreGoneTellNothing: those renewed last may be of nodes that were removed, unseen too.
func TestLeasesThatAreGoneTellNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := startGuarded(t, never)
		time.Sleep(61 * time.Second)
		leases := g.client.CoordinationV1().Leases(v1.NamespaceNodeLease)
		var removed []string
		for i := range 20 {
			removed = append(removed, fmt.Sprintf("b-%02d", i))
		}
		for _, name := range removed {
			_, err := leases.Create(t.Context(), lease(name), metav1.CreateOptions{})
			require.NoError(t, err)
		}
		time.Sleep(time.Second)
		g.set(func() { g.blind = true })
		for _, name := range removed {
			require.NoError(t, leases.Delete(t.Context(), name, metav1.DeleteOptions{}))
		}
		looks := 0
		for range 350 {
			time.Sleep(100 * time.Millisecond)
			reads := 0
			g.set(func() { reads, g.reads = g.reads, 0 })
			require.LessOrEqual(t, reads, 16, "in one look")
			looks += min(reads, 1)
		}
		require.Greater(t, looks, 3)
		require.Len(t, g.all(), 1)
		require.Contains(t, g.all()[0], "node a-0 renewed its lease unseen")
	})
}

// TestSilenceCountsFromTheFirstList, if nobody has renewed a lease since.
func TestSilenceCountsFromTheFirstList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := clientgotest.NewClientset(node("a-0"), lease("a-0"))
		client.PrependReactor("get", "leases", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errDown })
		cluster, err := clientgo.New(client, clientgo.Options{})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { require.NoError(t, cluster.Run(ctx)) }()
		time.Sleep(19 * time.Second)
		require.NoError(t, cluster.Health())
		time.Sleep(4 * time.Second)
		require.ErrorContains(t, cluster.Health(), "no lease has advanced for 2")
	})
}

// TestHowLongAPauseMayBe: a quarter of the silence, or of the default without a guard.
func TestHowLongAPauseMayBe(t *testing.T) {
	for silence, spread := range map[time.Duration]time.Duration{0: 5 * time.Second, 8 * time.Second: 2 * time.Second, -1: 5 * time.Second} {
		cluster, err := clientgo.New(fake.NewClientset(), clientgo.Options{LeaseSilence: silence})
		require.NoError(t, err)
		require.Equal(t, spread, clientgo.SpreadOf(cluster), silence)
	}
}

// TestLeasesOfTheDeadTellNothingOfTheLiving: a zone that fails as the watch does may have renewed last.
func TestLeasesOfTheDeadTellNothingOfTheLiving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := startGuarded(t, never)
		for _, name := range []string{"c-0", "c-1", "c-2"} {
			_, err := g.client.CoordinationV1().Leases(v1.NamespaceNodeLease).Create(t.Context(), lease(name), metav1.CreateOptions{})
			require.NoError(t, err)
		}
		time.Sleep(61 * time.Second)
		for _, name := range []string{"b-0", "b-1", "b-2", "b-3"} {
			_, err := g.client.CoordinationV1().Leases(v1.NamespaceNodeLease).Create(t.Context(), lease(name), metav1.CreateOptions{})
			require.NoError(t, err)
		}
		time.Sleep(time.Second)
		g.set(func() { g.blind = true })
		time.Sleep(35 * time.Second)
		require.Len(t, g.all(), 1)
		require.Contains(t, g.all()[0], "node a-0 renewed its lease unseen")
		time.Sleep(5 * time.Minute)
		require.Len(t, g.all(), 1, "once")
		g.set(func() { g.blind = false })
		time.Sleep(time.Minute)
		require.Equal(t, "well", g.all()[1])
		g.set(func() { g.blind = true })
		time.Sleep(23 * time.Second)
		require.Len(t, g.all(), 3, "it begins anew, with those that have renewed last")
	})
}

// TestAWatchThatGoesOnWhileLeasesAreRead shows the renewal that was read before. That the last one of a node that has died
// was lost says nothing.
func TestAWatchThatGoesOnWhileLeasesAreRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := startGuarded(t, never)
		time.Sleep(61 * time.Second)
		g.set(func() { g.blind, g.takes = true, 4*time.Second })
		time.Sleep(20 * time.Second)
		g.set(func() { g.alive = []string{"a-0"} })
		time.Sleep(4 * time.Second)
		g.set(func() { g.blind = false })
		time.Sleep(time.Minute)
		require.Empty(t, g.all())
	})
}

// TestWhatWasReadBeforeSaysNothingLater, once the watch has shown anything: the guard reads anew, and looks twice.
func TestWhatWasReadBeforeSaysNothingLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := startGuarded(t, never)
		time.Sleep(61 * time.Second)
		g.set(func() { g.blind = true })
		time.Sleep(24 * time.Second)
		require.Len(t, g.all(), 1)
		g.set(func() { g.alive, g.blind = []string{"a-1"}, false }) // the watch never shows the last renewal of a-0
		time.Sleep(16 * time.Second)
		require.Len(t, g.all(), 2)
		g.set(func() { g.blind = true })
		time.Sleep(20 * time.Second)
		require.Len(t, g.all(), 2, "one look, which has read a renewal of a-1")
		time.Sleep(2 * time.Second)
		require.Len(t, g.all(), 3)
	})
}

// TestARenewalOfALeaseThatIsGone cannot be seen any more, and nobody waits for it.
func TestARenewalOfALeaseThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := startGuarded(t, never)
		time.Sleep(time.Minute)
		g.set(func() { g.blind = true })
		time.Sleep(35 * time.Second)
		require.Len(t, g.all(), 1)
		g.set(func() { g.alive, g.blind = nil, false })
		time.Sleep(time.Second)
		for _, name := range []string{"a-0", "a-1"} {
			require.NoError(t, g.client.CoordinationV1().Leases(v1.NamespaceNodeLease).Delete(t.Context(), name, metav1.DeleteOptions{}))
		}
		time.Sleep(15 * time.Second)
		require.NoError(t, g.cluster.Health())
	})
}

// TestFewAreRead: the guard asks again and again while nobody renews.
func TestFewAreRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := startGuarded(t, never)
		for _, name := range []string{"b-0", "b-1", "b-2"} {
			_, err := g.client.CoordinationV1().Leases(v1.NamespaceNodeLease).Create(t.Context(), lease(name), metav1.CreateOptions{})
			require.NoError(t, err)
		}
		g.set(func() { g.alive = nil })
		time.Sleep(time.Minute)
		read := make(map[string]int)
		for _, action := range g.client.Actions() {
			if get, ok := action.(clienttesting.GetAction); ok && action.GetVerb() == "get" {
				read[get.GetName()]++
			}
		}
		require.Len(t, read, 5, "others each time")
		const looks = 16 // one each 2.5 s, from 20 s on
		total := 0
		for _, times := range read {
			total += times
		}
		require.InDelta(t, 3*looks, total, 3)
	})
}

// TestAResyncIsNoRenewal: what the informer has is told again and again.
func TestAResyncIsNoRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := startGuarded(t, 3*time.Second)
		time.Sleep(time.Minute)
		g.set(func() { g.blind = true })
		time.Sleep(35 * time.Second)
		require.Len(t, g.all(), 1)
	})
}

func TestAnAPIThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := startGuarded(t, never)
		time.Sleep(time.Minute)
		g.set(func() { g.blind, g.mute = true, true })
		time.Sleep(35 * time.Second)
		told := g.all()
		require.Len(t, told, 1)
		require.Contains(t, told[0], "none can be read")
		g.set(func() { g.blind, g.mute = false, false })
		time.Sleep(15 * time.Second)
		require.Equal(t, "well", g.all()[1])
		g.set(func() { g.alive, g.takes = nil, time.Hour })
		time.Sleep(35 * time.Second)
		require.Contains(t, g.all()[2], "no answer within 10s")
	})
}

// TestAnOutageIsToldOnceItIsLong: watches have ended and nothing can be read, for 5 s, for two minutes, and from the middle of a
// look on. client-go tries again within a minute.
func TestAnOutageIsToldOnceItIsLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := startGuarded(t, never)
		down := func(lasts time.Duration) {
			g.set(func() { g.mute = true })
			g.watches.end()
			time.Sleep(lasts)
			g.set(func() { g.mute = false })
		}
		time.Sleep(61 * time.Second)
		down(5 * time.Second)
		time.Sleep(2 * time.Minute)
		require.Empty(t, g.all())
		down(2 * time.Minute)
		require.Len(t, g.all(), 1)
		time.Sleep(62500 * time.Millisecond)
		require.Equal(t, "well", g.all()[1])

		g.set(func() { g.alive, g.takes = nil, time.Second })
		time.Sleep(35 * time.Second)
		require.Len(t, g.all(), 2, "they stand still there, too")
		g.set(func() { g.mute = true })
		time.Sleep(5 * time.Second)
		require.Len(t, g.all(), 3)
		require.Contains(t, g.all()[2], "none can be read")
	})
}

func TestOneWhoIsFedLaterIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := startGuarded(t, never)
		g.set(func() { g.blind, g.mute = true, true })
		time.Sleep(35 * time.Second)
		later := &heard{}
		require.NoError(t, g.cluster.Feed(later))
		require.Len(t, later.all(), 1)
		require.Contains(t, later.all()[0], "none can be read")
	})
}

// TestAWatchThatCannotBeHad: without pods nothing is known of who would be evicted.
func TestAWatchThatCannotBeHad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		client := fake.NewClientset()
		var mu sync.Mutex
		var broken error
		var watches []*watch.RaceFreeFakeWatcher
		client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			mu.Lock()
			defer mu.Unlock()
			return broken != nil, nil, broken
		})
		client.PrependWatchReactor("pods", func(clienttesting.Action) (bool, watch.Interface, error) {
			mu.Lock()
			defer mu.Unlock()
			w := watch.NewRaceFreeFake()
			watches = append(watches, w)
			return true, w, broken
		})
		cluster, err := clientgo.New(client, clientgo.Options{})
		require.NoError(t, err)
		go func() { require.NoError(t, cluster.Run(ctx)) }()
		time.Sleep(time.Minute)
		require.NoError(t, cluster.Health())
		mu.Lock()
		broken = apierrors.NewForbidden(v1.Resource("pods"), "", errors.New(`User "evictor" cannot watch resource "pods"`))
		for _, w := range watches {
			w.Stop()
		}
		mu.Unlock()
		time.Sleep(10 * time.Second)
		require.NoError(t, cluster.Health(), "it may come back")
		time.Sleep(50 * time.Second)
		require.ErrorContains(t, cluster.Health(), `the watch of pods has been broken`)
		require.ErrorContains(t, cluster.Health(), `cannot watch resource "pods"`)
		mu.Lock()
		broken = nil
		mu.Unlock()
		time.Sleep(2 * time.Minute)
		require.NoError(t, cluster.Health())
	})
}

// TestAWatchThatIsTooOld begins well after an outage, and says at once that the API server has forgotten where it was. The
// cluster can be seen once it was listed again.
func TestAWatchThatIsTooOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		client := fake.NewClientset()
		var mu sync.Mutex
		var down, forgotten bool
		var last *watch.RaceFreeFakeWatcher
		client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			mu.Lock()
			defer mu.Unlock()
			return forgotten, nil, apierrors.NewServiceUnavailable("not yet")
		})
		client.PrependWatchReactor("pods", func(clienttesting.Action) (bool, watch.Interface, error) {
			mu.Lock()
			defer mu.Unlock()
			if down {
				return true, nil, errors.New("connection refused")
			}
			if last = watch.NewRaceFreeFake(); forgotten {
				last.Error(&apierrors.NewResourceExpired("too old resource version").ErrStatus)
			}
			return true, last, nil
		})
		cluster, err := clientgo.New(client, clientgo.Options{})
		require.NoError(t, err)
		go func() { require.NoError(t, cluster.Run(ctx)) }()
		time.Sleep(time.Minute)
		mu.Lock()
		down = true
		last.Stop()
		mu.Unlock()
		time.Sleep(time.Minute)
		require.Error(t, cluster.Health())
		mu.Lock()
		down, forgotten = false, true
		mu.Unlock()
		for range 60 {
			time.Sleep(time.Second)
			require.Error(t, cluster.Health())
		}
		mu.Lock()
		forgotten = false
		mu.Unlock()
		time.Sleep(2 * time.Minute)
		require.NoError(t, cluster.Health())
	})
}

// TestAWatchThatIsRefusedWhileListsAreNot: a list now and then is no watch, and does not make it well again.
func TestAWatchThatIsRefusedWhileListsAreNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		client := fake.NewClientset()
		client.PrependWatchReactor("pods", func(clienttesting.Action) (bool, watch.Interface, error) {
			return true, nil, apierrors.NewForbidden(v1.Resource("pods"), "", errors.New(`User "evictor" cannot watch resource "pods"`))
		})
		cluster, err := clientgo.New(client, clientgo.Options{})
		require.NoError(t, err)
		go func() { require.NoError(t, cluster.Run(ctx)) }()
		time.Sleep(30 * time.Second)
		for range 300 {
			require.ErrorContains(t, cluster.Health(), `cannot watch resource "pods"`)
			time.Sleep(time.Second)
		}
	})
}
