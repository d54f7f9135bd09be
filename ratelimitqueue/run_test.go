//go:build go1.25

package ratelimitqueue

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, err := New[string, int](Config{Rate: 0.1})
		require.NoError(t, err)
		began := time.Now()
		var at []time.Duration
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() {
			done <- q.Run(ctx, func(_ context.Context, item Item[string, int]) {
				at = append(at, time.Since(began))
				if item.Key == "again" && item.Attempts == 0 {
					item.RetryAfter(time.Second)
				}
			})
		}()
		time.Sleep(time.Second)
		q.Add("again", 0)
		q.Add("b", 0)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []time.Duration{time.Second, 11 * time.Second, 21 * time.Second}, at)
		require.Equal(t, Finished, q.Add("b", 0), "what fn did not end is done")
		stop()
		require.ErrorIs(t, <-done, context.Canceled)
	})
}

// Karmada: six loops over one queue, each busy for a while with each item, share one rate.
func TestSixRunsStayWithinOneRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, err := New[int, int](Config{Rate: 0.5})
		require.NoError(t, err)
		for i := range 100 {
			q.Add(i, i)
		}
		began := time.Now()
		var mu sync.Mutex
		var at []time.Duration
		ctx, stop := context.WithCancel(context.Background())
		var runs sync.WaitGroup
		for range 6 {
			runs.Add(1)
			go func() {
				defer runs.Done()
				_ = q.Run(ctx, func(_ context.Context, item Item[int, int]) {
					mu.Lock()
					at = append(at, time.Since(began))
					mu.Unlock()
					time.Sleep(5 * time.Second)
					if item.Value%3 == 0 && item.Attempts == 0 {
						item.RetryAfter(0)
					}
				})
			}()
		}
		time.Sleep(59 * time.Second)
		stop()
		runs.Wait()
		require.Len(t, at, 30)
		for i := range at {
			require.Equal(t, time.Duration(i)*2*time.Second, at[i], "though six were free to take, and some failed")
		}
	})
}

// A busy Run leaves the other items to idle ones, even after a single wake-up.
func TestIdleRunsTakeWhatABusyOneLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, err := New[string, int](Config{Rate: 0})
		require.NoError(t, err)
		q.Add("a", 0)
		q.Add("b", 0)
		ctx, stop := context.WithCancel(context.Background())
		began := time.Now()
		var mu sync.Mutex
		taken := map[string]time.Duration{}
		var runs sync.WaitGroup
		for range 2 {
			runs.Add(1)
			go func() {
				defer runs.Done()
				_ = q.Run(ctx, func(_ context.Context, item Item[string, int]) {
					mu.Lock()
					taken[item.Key] = time.Since(began)
					mu.Unlock()
					time.Sleep(time.Minute)
				})
			}()
		}
		synctest.Wait()
		require.NoError(t, q.SetRate(1))
		time.Sleep(10 * time.Second)
		stop()
		runs.Wait()
		require.Equal(t, map[string]time.Duration{"a": time.Second, "b": 2 * time.Second}, taken)
	})
}

// If the only Run that was woken for an item ends before the item is due, the others must know about it.
func TestRunThatEndsLeavesWhatItWaitedFor(t *testing.T) {
	for ends := range 2 {
		synctest.Test(t, func(t *testing.T) {
			q, err := New[string, int](Config{Rate: 0})
			require.NoError(t, err)
			q.Add("a", 0)
			taken := make(chan string, 1)
			var stops []func()
			var runs sync.WaitGroup
			for range 2 {
				ctx, stop := context.WithCancel(context.Background())
				stops = append(stops, stop)
				runs.Add(1)
				go func() {
					defer runs.Done()
					_ = q.Run(ctx, func(_ context.Context, item Item[string, int]) { taken <- item.Key })
				}()
			}
			synctest.Wait()
			require.NoError(t, q.SetRate(1))
			synctest.Wait()
			stops[ends]()
			time.Sleep(10 * time.Second)
			stops[1-ends]()
			runs.Wait()
			require.Len(t, taken, 1)
		})
	}
}
