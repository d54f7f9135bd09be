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

// In a synctest bubble the real clock is virtual: Run sleeps on it while the cluster's own clock is
// moved along by the test.
func TestRunDoesWhatStepDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.Zone("b", 3), evictortest.PodsPerNode(2))
		var mu sync.Mutex
		evicted := map[string]time.Duration{}
		began := time.Now()
		e, err := evictor.New(config(), c.Clients(), evictor.Options{Clock: clock.RealClock{}, Observer: evictor.ObserverFunc(func(d evictor.Decision) {
			if d.Kind == evictor.PodEvicted {
				mu.Lock()
				evicted[d.Pod.Name] = d.Time.Sub(began)
				mu.Unlock()
			}
		})})
		require.NoError(t, err)
		c.Feed(e)
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- e.Run(ctx) }()
		synctest.Wait()
		_, err = e.Step(ctx)
		require.ErrorIs(t, err, evictor.ErrRunning)
		c.Fail("a-0", "a-1")
		for range 500 {
			time.Sleep(time.Second)
			c.Advance(time.Second)
			synctest.Wait()
		}
		stop()
		require.ErrorIs(t, <-done, context.Canceled)
		mu.Lock()
		defer mu.Unlock()
		require.Len(t, evicted, 4)
		require.Equal(t, 10*time.Second, evicted["a-1-p0"]-evicted["a-0-p0"], "at the zone's rate")
		require.InDelta(t, 345, evicted["a-0-p0"].Seconds(), 5)
	})
}

// Lifting has its own workers: a write that hangs does not hold recovery back.
func TestHangingWritesDoNotHoldLiftingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 6))
		cfg := config()
		cfg.NodeWorkers = 1
		e, err := evictor.New(cfg, c.Clients(), evictor.Options{Clock: clock.RealClock{}})
		require.NoError(t, err)
		c.Feed(e)
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- e.Run(ctx) }()
		pass := func(seconds int) {
			for range seconds {
				time.Sleep(time.Second)
				c.Advance(time.Second)
				synctest.Wait()
			}
		}
		synctest.Wait()
		c.Fail("a-0")
		pass(60)
		require.True(t, c.HasNoExecute("a-0"))
		hang := make(chan struct{})
		c.FailWrites(nil)
		c.FailWrites(func(write, object string) error {
			if object == "a-5" {
				<-hang
			}
			return nil
		})
		c.Fail("a-5")
		pass(60)
		c.Recover("a-0")
		pass(10)
		require.False(t, c.HasNoExecute("a-0"), "lifted while the only node worker hangs")
		require.False(t, c.HasNoExecute("a-5"))
		close(hang)
		pass(20)
		require.True(t, c.HasNoExecute("a-5"))
		stop()
		<-done
	})
}

// A panic outside the workers ends Run with it: a Run that waited for its workers would stand still for ever.
func TestPanicOfTheObserverEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 1))
		e, err := evictor.New(config(), c.Clients(), evictor.Options{Clock: clock.RealClock{}, Observer: evictor.ObserverFunc(func(evictor.Decision) {
			panic("a bug of the observer's")
		})})
		require.NoError(t, err)
		require.Panics(t, func() { _ = e.Run(t.Context()) })
	})
}
