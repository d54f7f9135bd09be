package nodepressure_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	. "github.com/evictkit/evictkit/evictor/nodepressure"
)

var hardMemory = thresholds(hardly(MemoryAvailable, "100"))

// world is a node whose memory is what its pods use.
type world struct {
	clock  clock.PassiveClock
	began  time.Time
	mu     sync.Mutex // guards what follows
	signal Signal
	pods   []Pod
	left   int64 // what is available
	log    []string

	statsErr, reclaimErr, killErr error
	onKill                        func(ctx context.Context, e Eviction)
	onReclaim                     func()
	cleanup                       time.Duration // how long a dead pod keeps what it used
	died                          map[string]time.Time
}

// newWorld has plenty of memory and two pods, of which a goes first.
func newWorld(c clock.PassiveClock) *world {
	return &world{clock: c, began: c.Now(), signal: MemoryAvailable, left: 1000, died: map[string]time.Time{}, pods: []Pod{build("a", low), build("b", mid)}}
}

func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, fmt.Sprintf("%s ", w.clock.Since(w.began))+fmt.Sprintf(format, args...))
}

func (w *world) set(available int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = available
}

// aboveLimits replaces all pods by pods that exceed the size limit of their volume.
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
	return Stats{Pods: w.pods, Signals: map[Signal]Sample{w.signal: {Available: w.left, Capacity: 1000, Time: w.clock.Now()}}}, w.statsErr
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
	w.died[e.Pod.Name] = w.clock.Now()
	return w.killErr
}

func (w *world) CleanedUp(pod *v1.Pod) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	died, dead := w.died[pod.Name]
	return dead && w.clock.Since(died) >= w.cleanup
}
