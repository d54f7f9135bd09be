//go:build go1.25

package limiter

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	"k8s.io/client-go/util/workqueue"

	"github.com/evictkit/evictkit/ratelimitqueue"
)

// Three workers of a real queue share one rate, whatever it is set to. Each alone with a rate of its own would let three
// times as many go, and one each at rate 0.
func TestThreeWorkersOfAWorkqueueShareARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter, err := New(ratelimitqueue.Config{Rate: 0.5})
		require.NoError(t, err)
		queue := workqueue.NewRateLimitingQueue(workqueue.DefaultControllerRateLimiter())
		began := time.Now()
		var mu sync.Mutex
		var went []time.Duration
		var workers sync.WaitGroup
		for range 3 {
			workers.Add(1)
			go func() {
				defer workers.Done()
				for item, ended := queue.Get(); !ended; item, ended = queue.Get() {
					if limiter.Wait(context.Background()) != nil {
						return
					}
					mu.Lock()
					went = append(went, time.Since(began))
					failed := len(went)%4 == 0
					mu.Unlock()
					time.Sleep(5 * time.Second) // longer than a token takes
					if failed {
						queue.Add(item)
					}
					queue.Done(item)
				}
			}()
		}
		for item := range 300 {
			queue.Add(item)
		}
		within := func(d time.Duration) int {
			mu.Lock()
			before := len(went)
			mu.Unlock()
			time.Sleep(d)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return len(went) - before
		}
		went60 := within(60 * time.Second)
		require.LessOrEqual(t, went60, 31, "the first, and one in two seconds")
		require.GreaterOrEqual(t, went60, 28, "three workers are enough for that")
		require.NoError(t, limiter.SetRate(0))
		require.Zero(t, within(time.Hour))
		require.NoError(t, limiter.SetRate(0.25))
		require.InDelta(t, 15, within(60*time.Second), 1, "who waits notices at once")
		require.NoError(t, limiter.SetRate(rate.Inf))
		within(20 * time.Minute)
		require.Zero(t, queue.Len())
		queue.ShutDown()
		workers.Wait()
	})
}
