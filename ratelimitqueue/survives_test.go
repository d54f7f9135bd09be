//go:build go1.25

package ratelimitqueue

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A panic in the work of Run is a failed try: it is reported, the item is tried again, and Run goes on.
func TestRunSurvivesAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []any
		q, err := New[string, int](Config{
			Rate: Unlimited, Backoff: Backoff{Initial: time.Second},
			OnPanic: func(key, value any, stack []byte) {
				seen = append(seen, key, value)
				require.Contains(t, string(stack), "TestRunSurvivesAPanic")
			},
		})
		require.NoError(t, err)
		inWork := errors.New("in the work")
		began, at := time.Now(), map[string][]time.Duration{}
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() {
			done <- q.Run(ctx, func(_ context.Context, item Item[string, int]) {
				at[item.Key] = append(at[item.Key], time.Since(began))
				if status, ok := q.Get(item.Key); item.Attempts > 0 {
					require.True(t, ok)
					require.ErrorIs(t, status.LastError, inWork)
				}
				switch {
				case item.Key == "panics" && item.Attempts < 2:
					panic(inWork)
				case item.Key == "ended first":
					item.Forget()
					panic("after the end")
				}
			})
		}()
		for _, key := range []string{"panics", "ended first", "well"} {
			q.Add(key, 0)
		}
		time.Sleep(time.Minute)
		stop()
		require.ErrorIs(t, <-done, context.Canceled)
		require.Equal(t, map[string][]time.Duration{"panics": {0, time.Second, 3 * time.Second}, "ended first": {0}, "well": {0}}, at)
		require.Equal(t, []any{"panics", inWork, "ended first", "after the end", "panics", inWork}, seen)
		stats := q.Stats()
		require.Equal(t, Stats{Finished: 2, Panicked: 3}, stats)
	})
}

// Work that ends its goroutine ends only that Run. Another one tries the key again.
func TestRunSettlesWhatEndsItsGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, err := New[string, int](Config{Rate: Unlimited, Backoff: Backoff{Initial: time.Second}})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(context.Background())
		var ran []int
		var runs sync.WaitGroup
		for range 2 {
			runs.Add(1)
			go func() {
				defer runs.Done()
				_ = q.Run(ctx, func(_ context.Context, item Item[string, int]) {
					if ran = append(ran, item.Attempts); item.Attempts == 0 {
						runtime.Goexit()
					}
				})
			}()
		}
		q.Add("a", 0)
		time.Sleep(time.Minute)
		stop()
		runs.Wait()
		require.Equal(t, []int{0, 1}, ran)
		require.Zero(t, q.Stats().Panicked)
	})
}

// A loop that is restarted after each of its own panics finds every key again.
func TestNothingIsStrandedByACallerThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, err := NewGroup[string, string, int](GroupConfig[string, string]{Config: Config{Rate: 1}})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(context.Background())
		var ran []string
		done := make(chan error, 1)
		go func() {
			done <- g.Run(ctx, func(_ context.Context, domain string, item Item[string, int]) {
				ran = append(ran, domain+"/"+item.Key)
				if item.Attempts == 0 {
					item.Retry(errors.New("first"))
					panic("and last")
				}
			})
		}()
		g.Add("p", "a", 1)
		g.Add("q", "b", 1)
		time.Sleep(time.Minute)
		stop()
		require.ErrorIs(t, <-done, context.Canceled)
		require.ElementsMatch(t, []string{"p/a", "q/b", "p/a", "q/b"}, ran)
		require.Zero(t, g.Len())
	})
}

// Fewer items in flight, a moved key, a resumed domain: each is signalled, so nobody polls.
func TestRunsOfAGroupAreWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, err := NewGroup[string, string, int](GroupConfig[string, string]{Config: Config{Rate: Unlimited}, MaxInFlight: 1})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(context.Background())
		began := time.Now()
		var mu sync.Mutex
		at := map[string]time.Duration{}
		var runs sync.WaitGroup
		for range 3 {
			runs.Add(1)
			go func() {
				defer runs.Done()
				_ = g.Run(ctx, func(_ context.Context, _ string, item Item[string, int]) {
					mu.Lock()
					at[item.Key] = time.Since(began)
					mu.Unlock()
					time.Sleep(time.Second)
				})
			}()
		}
		g.PauseDomain("q", "own")
		for _, key := range []string{"a", "b"} {
			g.Add("p", key, 0)
		}
		g.Add("q", "c", 0)
		g.Add("q", "d", 0)
		time.Sleep(10 * time.Second)
		require.True(t, g.Move("c", "p"))
		time.Sleep(10 * time.Second)
		require.True(t, g.ResumeDomain("q", "own"))
		time.Sleep(10 * time.Second)
		g.SetMaxInFlight(0)
		g.Add("p", "e", 0)
		time.Sleep(10 * time.Second)
		g.SetMaxInFlight(-1)
		time.Sleep(10 * time.Second)
		stop()
		runs.Wait()
		require.Equal(t, map[string]time.Duration{"a": 0, "b": time.Second, "c": 10 * time.Second, "d": 20 * time.Second, "e": 40 * time.Second}, at)
		select {
		case <-g.wake:
		default:
			t.Error("the last Run leaves its signal to others")
		}
	})
}
