//go:build go1.25

package clientgo_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/explain"
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

	p.asleep.Store(true)
	g.set(func() { g.blind, g.takes, g.alive = true, time.Hour, []string{"a-0", "a-1"} })
	g.ready(t, "a-0")
	time.Sleep(10 * time.Minute)
	woke.Store(true)
	waking := time.Now()
	p.asleep.Store(false)
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
