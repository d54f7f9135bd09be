//go:build go1.25

package nodepressure_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	. "github.com/evictkit/evictkit/evictor/nodepressure"
)

// world is a node whose memory is what its pods use, in the virtual time of a bubble.
type world struct {
	t      *testing.T
	began  time.Time
	mu     sync.Mutex // guards what follows
	signal Signal
	pods   []Pod
	left   int64 // what is available
	log    []string

	statsErr, reclaimErr, killErr error
	onKill                        func(ctx context.Context, e Eviction)
	onReclaim                     func()
	cleanup                       time.Duration // how long a dead pod holds what it held
	died                          map[string]time.Time
}

func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, fmt.Sprintf("%s ", time.Since(w.began))+fmt.Sprintf(format, args...))
}

func (w *world) set(available int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = available
}

// aboveLimits puts pods in the place of all that exceed the size of their volume.
func (w *world) aboveLimits() {
	w.mu.Lock()
	defer w.mu.Unlock()
	above := make([]Pod, len(w.pods))
	for i, pod := range w.pods {
		above[i] = build(pod.Name, mid, diskUse("0", "0", "2Gi"), sized("1Gi", ""))
	}
	w.pods = above
}

func (w *world) Stats(context.Context) (Stats, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Stats{Pods: w.pods, Signals: map[Signal]Sample{w.signal: {Available: w.left, Capacity: 1000, Time: time.Now()}}}, w.statsErr
}

func (w *world) Reclaim(_ context.Context, what Reclaim) error {
	w.note("reclaim %s", what)
	if w.onReclaim != nil {
		w.onReclaim()
	}
	return w.reclaimErr
}

func (w *world) Kill(ctx context.Context, e Eviction) error {
	w.note("kill %s %ds", e.Pod.Name, e.GracePeriodSeconds)
	if w.onKill != nil {
		w.onKill(ctx, e)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.died[e.Pod.Name] = time.Now()
	return w.killErr
}

func (w *world) CleanedUp(pod *v1.Pod) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.died[pod.Name]) >= w.cleanup
}

// during runs a manager over the world for a while, then play, and returns what was done and reported.
func during(t *testing.T, config Config, clients func(*world) Clients, setup func(*world, *Manager), play func(*world, *Manager)) (log []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, began: time.Now(), signal: MemoryAvailable, left: 1000, died: map[string]time.Time{}, pods: []Pod{build("a", low), build("b", mid)}}
		machine, err := New(config)
		require.NoError(t, err)
		managing := DefaultManagerConfig()
		managing.OnError = func(err error) { w.note("error: %s", err) }
		c := Clients{StatsProvider: w, Reclaimer: w, Killer: w}
		if clients != nil {
			c = clients(w)
		}
		m, err := NewManager(machine, c, managing)
		require.NoError(t, err)
		setup(w, m)
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		play(w, m)
		synctest.Wait()
		stop()
		require.ErrorIs(t, <-done, context.Canceled)
		log = w.log
	})
	return log
}

func wait(d time.Duration) func(*world, *Manager) {
	return func(*world, *Manager) { time.Sleep(d) }
}
