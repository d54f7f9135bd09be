//go:build go1.25

package evictor_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// slowMarks needs a second to mark a pod.
type slowMarks struct{ evictor.PodWriter }

func (w slowMarks) MarkNotReady(ctx context.Context, pod evictor.PodRef) error {
	time.Sleep(time.Second) // the bubble's clock
	return w.PodWriter.MarkNotReady(ctx, pod)
}

func TestANodeIsDeclaredUnknownWhileManyPodsOfAnotherAreBeingMarked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 9), evictortest.PodsPerNode(40))
		var mu sync.Mutex
		unknown, marks := map[string]time.Duration{}, 0
		clients := c.Clients()
		clients.PodWriter = slowMarks{clients.PodWriter}
		cfg := config()
		cfg.NodeWorkers = 1
		began := time.Now()
		_, pass := runWith(t, c, cfg, clients, evictor.Options{Observer: evictor.ObserverFunc(func(d evictor.Decision) {
			mu.Lock()
			defer mu.Unlock()
			switch d.Kind { //nolint:exhaustive // the others do not matter
			case evictor.ConditionsWritten:
				unknown[d.Node] = d.Time.Sub(began)
			case evictor.PodMarkedNotReady:
				marks++
			}
		})})
		c.Fail("a-0")
		pass(15)
		c.Fail("a-1")
		pass(150)
		mu.Lock()
		defer mu.Unlock()
		require.Equal(t, 80, marks)
		require.Less(t, unknown["a-1"]-unknown["a-0"], 30*time.Second, "not after forty pods")
	})
}

// slowToSync needs a second to say that it is synced.
type slowToSync struct{ evictor.NodeStore }

func (s slowToSync) Synced() bool {
	time.Sleep(time.Second) // the bubble's clock
	return s.NodeStore.Synced()
}

// Events from before Run are handled before work that became due meanwhile.
func TestRunReadsWhatWasToldBeforeItEvicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
		clients := c.Clients()
		clients.Nodes = slowToSync{clients.Nodes}
		e, err := evictor.New(config(), clients, evictor.Options{Clock: clock.RealClock{}})
		require.NoError(t, err)
		c.Feed(e)
		run := func(seconds int) {
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- e.Run(ctx) }()
			for range seconds {
				time.Sleep(time.Second)
				c.Advance(time.Second)
				synctest.Wait()
			}
			stop()
			<-done
		}
		c.Fail("a-0")
		run(60)
		due := e.Evictions()[0].Due
		run(int(time.Until(due)/time.Second) - 10)
		e.Hold("a-0", "a technician is there")
		time.Sleep(20 * time.Second)
		run(10)
		require.Empty(t, c.Evicted())
	})
}
