//go:build go1.25

package clientgo_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/explain"
	"github.com/evictkit/evictkit/evictor/tainteviction"
	"github.com/evictkit/evictkit/taints"
)

// process is the clock of a process that can be suspended: its time stands still, and then jumps.
type process struct {
	*testingclock.FakeClock
	asleep atomic.Bool
}

// startProcess gives a test, within its bubble, such a clock.
func startProcess(t *testing.T) *process {
	t.Helper()
	p := &process{FakeClock: testingclock.NewFakeClock(time.Now())}
	ended := make(chan struct{})
	t.Cleanup(func() { <-ended })
	go func() {
		defer close(ended)
		for t.Context().Err() == nil {
			time.Sleep(100 * time.Millisecond)
			if !p.asleep.Load() {
				p.SetTime(time.Now())
			}
		}
	}()
	return p
}

// sleeps suspends the process for so long.
func (p *process) sleeps(d time.Duration) {
	p.asleep.Store(true)
	time.Sleep(d)
	p.SetTime(time.Now())
	p.asleep.Store(false)
}

// ready is what a kubelet reports when it can again.
func (g *guarded) ready(t *testing.T, name string) {
	t.Helper()
	got, err := g.client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	got.Status.Conditions = node(name).Status.Conditions
	_, err = g.client.CoreV1().Nodes().UpdateStatus(t.Context(), got, metav1.UpdateOptions{})
	require.NoError(t, err)
}

// TestASuspendedProcessHarmsNobody: what it was about to do when it was suspended is old, and when it wakes its
// connections are dead: for 45 seconds until it knows (30 s idle, 15 s for a ping), reads hang and watches are mute.
func TestASuspendedProcessHarmsNobody(t *testing.T) {
	for _, grace := range []time.Duration{30 * time.Second, 40 * time.Second, 50 * time.Second} {
		for _, period := range []time.Duration{0, 5 * time.Second} {
			t.Run(fmt.Sprintf("grace %s, period %s", grace, period), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { sleepAndWake(t, grace, period) })
			})
		}
	}
}

func sleepAndWake(t *testing.T, grace, period time.Duration) {
	t.Helper()
	p := startProcess(t)
	g := startGuardedWith(t, never, clientgo.Options{Clock: p, LeaseSilence: grace * 2 / 5})
	_, err := g.client.CoreV1().Pods("shop").Create(t.Context(), tolerant("shop", "cart", "a-0"), metav1.CreateOptions{})
	require.NoError(t, err)
	cfg := evictor.DefaultConfig()
	cfg.Nodes.NodeMonitorGracePeriod, cfg.Nodes.NodeMonitorPeriod = grace, period
	var woke atomic.Bool
	var done []explain.Entry
	e, err := evictor.New(cfg, g.cluster.Clients(), evictor.Options{Clock: p, Observer: explain.Observer(func(e explain.Entry) {
		if woke.Load() && (e.Kind == "NodeVerdict" || e.Kind == "PodEvicted" || e.Kind == "TaintsWritten" && strings.Contains(e.Text, "added")) {
			done = append(done, e)
		}
	})})
	require.NoError(t, err)
	runs(t, e.Run)

	time.Sleep(time.Minute)
	g.set(func() { g.alive = []string{"a-1"} })
	time.Sleep(3 * time.Minute)
	failed, err := g.client.CoreV1().Nodes().Get(t.Context(), "a-0", metav1.GetOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, failed.Spec.Taints, "its pod would be evicted within the next four minutes")

	g.set(func() { g.blind, g.takes, g.alive = true, time.Hour, []string{"a-0", "a-1"} })
	g.ready(t, "a-0")
	p.sleeps(10 * time.Minute)
	woke.Store(true)
	waking := time.Now()
	time.Sleep(45 * time.Second)
	require.Equal(t, []string{"cart"}, podsOf(t, g.client), "its node came back meanwhile")
	require.Error(t, g.cluster.Health())
	require.Contains(t, g.all()[0], "this process was suspended for 10m")
	require.Less(t, g.at(0).Sub(waking), time.Second, "at once")
	g.watches.end()
	g.set(func() { g.blind, g.takes = false, 0 })
	time.Sleep(2 * time.Second)
	g.ready(t, "a-0")
	time.Sleep(5 * time.Minute)

	require.NoError(t, g.cluster.Health())
	require.Equal(t, []string{"cart"}, podsOf(t, g.client))
	back, err := g.client.CoreV1().Nodes().Get(t.Context(), "a-0", metav1.GetOptions{})
	require.NoError(t, err)
	require.Empty(t, back.Spec.Taints)
	require.Equal(t, v1.ConditionTrue, back.Status.Conditions[0].Status)
	for _, e := range done {
		require.NotContains(t, e.Text, "→ Unknown", "nobody is condemned")
		require.Equal(t, "NodeVerdict", e.Kind, e.Text)
	}
}

// TestWhoAsksAfterASuspensionWaitsUntilAllAreTold: an evictor asks before it decides anything.
func TestWhoAsksAfterASuspensionWaitsUntilAllAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t)
		g := startGuardedWith(t, never, clientgo.Options{Clock: p})
		_, err := g.client.CoreV1().Pods("shop").Create(t.Context(), tolerant("shop", "cart", "a-0"), metav1.CreateOptions{})
		require.NoError(t, err)
		time.Sleep(time.Minute)
		clients := g.cluster.Clients()
		require.Empty(t, clients.Source.Awaits())
		p.sleeps(4 * time.Second)
		require.Empty(t, clients.Source.Awaits())
		require.Empty(t, g.all(), "a short pause is none")
		p.sleeps(6 * time.Second)
		require.Empty(t, clients.Source.Awaits())
		require.Len(t, g.all(), 1)
		require.Contains(t, g.all()[0], "suspended")
		require.Error(t, clients.PodWriter.Evict(t.Context(), evictor.PodRef{PodKey: evictor.PodKey{Namespace: "shop", Name: "cart"}}, taints.Deadline{}),
			"others have noticed already, and it is as old for all")
		require.Equal(t, []string{"cart"}, podsOf(t, g.client))
		time.Sleep(15 * time.Second)
		require.Equal(t, "well", g.all()[1], "its connections live")
	})
}

// held is a target that is told slowly.
type held struct {
	heard
	begun, release chan struct{}
}

func (h *held) SetObserverHealth(err error) {
	if err != nil {
		close(h.begun)
	}
	<-h.release
	h.heard.SetObserverHealth(err)
}

// TestNobodyIsAnsweredWhileOthersAreBeingTold: whoever asks meanwhile would act on what was true before.
func TestNobodyIsAnsweredWhileOthersAreBeingTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, slow := startProcess(t), &held{begun: make(chan struct{}), release: make(chan struct{})}
		g := startGuardedWith(t, never, clientgo.Options{Clock: p})
		require.NoError(t, g.cluster.Feed(slow))
		time.Sleep(time.Minute)
		p.sleeps(6 * time.Second)
		<-slow.begun
		var answered atomic.Bool
		go func() {
			g.cluster.Awaits()
			answered.Store(true)
		}()
		for range 10000 {
			runtime.Gosched() // time stands still, because the goroutine waits for a mutex
		}
		require.False(t, answered.Load())
		close(slow.release)
		synctest.Wait()
		require.True(t, answered.Load())
		time.Sleep(15 * time.Second)
		require.Len(t, slow.all(), 2, "once, however many have asked")
		require.Contains(t, slow.all()[0], "suspended")
	})
}

// tickless is the clock of a process in which whoever looks or asks runs first after a suspension.
type tickless struct{ *process }

func (tickless) NewTicker(time.Duration) clock.Ticker { return noTicker{} }

type noTicker struct{}

func (noTicker) C() <-chan time.Time { return nil }
func (noTicker) Stop()               {}

// TestALookNoticesASuspensionThatItSleptThrough, before it tells that all is well.
func TestALookNoticesASuspensionThatItSleptThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t)
		g := startGuardedWith(t, never, clientgo.Options{Clock: tickless{p}})
		time.Sleep(time.Minute)
		g.set(func() { g.alive, g.mute = nil, true })
		time.Sleep(35 * time.Second)
		require.Len(t, g.all(), 1)
		require.Contains(t, g.all()[0], "none can be read")
		g.set(func() { g.mute, g.takes, g.reads = false, 4*time.Second, 0 })
		for reads := 0; reads == 0; g.set(func() { reads = g.reads }) {
			time.Sleep(100 * time.Millisecond)
		}
		p.sleeps(6 * time.Second)
		time.Sleep(3 * time.Second)
		require.Len(t, g.all(), 1, "what it has read is old")
		g.set(func() { g.takes = 0 })
		time.Sleep(5 * time.Second)
		require.Equal(t, "well", g.all()[1])
	})
}

// TestAPauseBelowASecondIsNone, however short the silence is.
func TestAPauseBelowASecondIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t)
		g := startGuardedWith(t, never, clientgo.Options{Clock: p, LeaseSilence: 2 * time.Second})
		time.Sleep(time.Minute)
		told := len(g.all())
		require.Empty(t, g.cluster.Awaits())
		p.sleeps(700 * time.Millisecond)
		require.Empty(t, g.cluster.Awaits())
		require.Len(t, g.all(), told)
		p.sleeps(1100 * time.Millisecond)
		require.False(t, g.cluster.Awaits() == "" && len(g.all()) == told)
	})
}

// TestWhatWasOnItsWayIsNoSignAfterASuspension: neither events in a buffer nor an answer to what was asked before.
func TestWhatWasOnItsWayIsNoSignAfterASuspension(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t)
		g := startGuardedWith(t, never, clientgo.Options{Clock: p})
		time.Sleep(time.Minute)
		g.set(func() { g.takes = time.Hour })
		p.sleeps(time.Minute)
		time.Sleep(30 * time.Second)
		require.Len(t, g.all(), 1, "renewals were seen, but nothing can be read")
		g.set(func() { g.takes = 0 })
		time.Sleep(15 * time.Second)
		require.Equal(t, "well", g.all()[1])

		g.set(func() { g.takes, g.alive, g.reads = 4*time.Second, nil, 0 })
		for reads := 0; reads == 0; g.set(func() { reads = g.reads }) {
			time.Sleep(100 * time.Millisecond)
		}
		p.sleeps(6 * time.Second)
		time.Sleep(5 * time.Second)
		require.Len(t, g.all(), 3, "two reads have ended, and both were begun by a look before")
		time.Sleep(10 * time.Second)
		require.Equal(t, "well", g.all()[3])
	})
}

// TestASuspendedProcessThatWatchesNoLeases hears once the API server answers.
func TestASuspendedProcessThatWatchesNoLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, told := startProcess(t), &heard{}
		var down atomic.Bool
		client := fake.NewClientset(node("a-0"))
		client.PrependReactor("list", "nodes", func(clienttesting.Action) (bool, apiruntime.Object, error) { return down.Load(), nil, errDown })
		cluster := runPods(t, client, clientgo.Options{Clock: p}, tainteviction.Options{Clock: p})
		require.NoError(t, cluster.Feed(told))
		time.Sleep(time.Minute)
		down.Store(true)
		p.sleeps(time.Minute)
		time.Sleep(time.Minute)
		require.Len(t, told.all(), 1)
		require.ErrorContains(t, cluster.Health(), "no node can be read")
		down.Store(false)
		time.Sleep(3 * time.Second)
		require.Equal(t, "well", told.all()[1])
	})
}

// With a negative LeaseSilence nobody looks whether the cluster is seen, so nothing may find that it is not.
func TestASuspendedProcessThatNeverLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, told := startProcess(t), &heard{}
		cluster := runPods(t, fake.NewClientset(node("a-0")), clientgo.Options{Clock: p, LeaseSilence: -1}, tainteviction.Options{Clock: p})
		require.NoError(t, cluster.Feed(told))
		time.Sleep(time.Minute)
		p.sleeps(time.Minute)
		time.Sleep(time.Minute)
		require.Empty(t, told.all())
		require.NoError(t, cluster.Health())
	})
}

// TestASuspendedProcessThatMayReadNoLeases is not blind for ever.
func TestASuspendedProcessThatMayReadNoLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t)
		g := startGuardedWith(t, never, clientgo.Options{Clock: p})
		g.set(func() { g.forbidden = true })
		time.Sleep(time.Minute)
		p.sleeps(time.Minute)
		time.Sleep(3 * time.Second)
		require.Len(t, g.all(), 2)
		require.Equal(t, "well", g.all()[1])
		g.set(func() { g.blind = true })
		time.Sleep(35 * time.Second)
		require.Len(t, g.all(), 3)
		require.Contains(t, g.all()[2], "none can be read", "but it cannot tell a silent watch from silent nodes")
	})
}

// TestASuspendedProcessThatMayWatchNoNodes sees nothing, although it may list them.
func TestASuspendedProcessThatMayWatchNoNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t)
		g := startGuardedWith(t, never, clientgo.Options{Clock: p})
		time.Sleep(time.Minute)
		refused := func(clienttesting.Action) (bool, watch.Interface, error) {
			return true, nil, apierrors.NewForbidden(v1.Resource("nodes"), "", errDown)
		}
		g.client.PrependWatchReactor("nodes", refused)
		g.watches.end()
		time.Sleep(time.Minute)
		require.Len(t, g.all(), 1)
		require.Contains(t, g.all()[0], "the watch of nodes has been broken")
		p.sleeps(time.Minute)
		time.Sleep(time.Minute)
		require.Len(t, g.all(), 1)
		require.ErrorContains(t, g.cluster.Health(), "the watch of nodes has been broken")
	})
}
