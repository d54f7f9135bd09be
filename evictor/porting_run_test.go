//go:build go1.25

package evictor_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/zone"
)

// turns records when writes that cost a turn begin, and makes them take time.
type turns struct {
	evictor.NodeWriter
	evictor.PodWriter
	begin func(node string)
}

func (w turns) UpdateTaints(ctx context.Context, node *v1.Node, change taints.Change) error {
	for i := range change.Add {
		if taints.OwnNoExecute(&change.Add[i]) {
			w.begin(node.Name)
		}
	}
	return w.NodeWriter.UpdateTaints(ctx, node, change)
}

func (w turns) Evict(ctx context.Context, pod evictor.PodRef, why evictor.Decision) error {
	w.begin(pod.Node)
	return w.PodWriter.Evict(ctx, pod, why)
}

// Karmada, under Run: six workers whose writes take up to five seconds, or all hang for a minute and then succeed.
func TestSixWorkersThatTakeTimeStayWithinTheRate(t *testing.T) {
	for name, takes := range map[string]func(since time.Duration, n int) time.Duration{
		"some seconds": func(_ time.Duration, n int) time.Duration { return time.Duration(n%6) * time.Second },
		"hanging":      func(since time.Duration, _ int) time.Duration { return 100*time.Second - since },
	} {
		for _, taintBased := range []bool{true, false} {
			t.Run(fmt.Sprint(name, taintBased), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { sixWorkersTakeTime(t, taintBased, takes) })
			})
		}
	}
}

func sixWorkersTakeTime(t *testing.T, taintBased bool, takes func(since time.Duration, n int) time.Duration) {
	c := evictortest.New(t, evictortest.Zone("a", 60), evictortest.Zone("b", 3), evictortest.PodsPerNode(1))
	var mu sync.Mutex
	began := map[string]time.Duration{}
	start := time.Now()
	clients := c.Clients()
	slow := turns{clients.NodeWriter, clients.PodWriter, func(node string) {
		mu.Lock()
		since := time.Since(start)
		if _, known := began[node]; !known {
			began[node] = since
		}
		n := len(began)
		mu.Unlock()
		time.Sleep(takes(since, n))
	}}
	clients.NodeWriter, clients.PodWriter = slow, slow
	_, pass := runWith(t, c, sixWorkers(taintBased), clients, evictor.Options{})
	for i := range 30 {
		c.Fail(fmt.Sprintf("a-%d", i))
	}
	pass(240)
	mu.Lock()
	defer mu.Unlock()
	require.Len(t, began, 30)
	requireWithin(t, began, 0.5)
}

// OpenYurt's pull request 2500, under Run: while a zone label flips all the time, nothing about its node is lost.
func TestZoneThatFlipsWhileRunWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 8), evictortest.Zone("b", 8), evictortest.PodsPerNode(1))
		var mu sync.Mutex
		evicted := map[string]int{}
		e, pass := run(t, c, config(), evictor.Options{Observer: evictor.ObserverFunc(func(d evictor.Decision) {
			if d.Kind == evictor.PodEvicted {
				mu.Lock()
				evicted[d.Pod.Name]++
				mu.Unlock()
			}
		})})
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(137 * time.Millisecond):
					c.Relabel("a-1", zone.Key{Zone: []string{"b", "nowhere", "a", ""}[i%4]})
				}
			}
		}()
		c.Fail("a-0", "a-1", "a-2")
		pass(120)
		close(stop)
		<-stopped
		c.Relabel("a-1", zone.Key{Zone: "b"})
		pass(6)
		requireCountedOnce(t, e, 16)
		status, ok := e.Node("a-1")
		require.True(t, ok)
		require.Equal(t, zone.Key{Zone: "b"}, status.Zone)
		pass(360)
		mu.Lock()
		defer mu.Unlock()
		require.Equal(t, map[string]int{"a-0-p0": 1, "a-1-p0": 1, "a-2-p0": 1}, evicted)
	})
}
