//go:build go1.25

package timedworker

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most, ran atomic.Int32
		set, err := New(func(ctx context.Context, w Work[string, time.Duration]) Result {
			if n := running.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(w.Payload)
			running.Add(-1)
			ran.Add(1)
			return Done()
		}, Config{Workers: 3})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- set.Run(ctx) }()
		for i := range 10 {
			set.Schedule(fmt.Sprint("slow", i), 10*time.Second, time.Now().Add(time.Minute))
		}
		set.Schedule("soon", 0, time.Now().Add(time.Second))
		set.Schedule("never", 0, time.Now().Add(time.Hour))
		time.Sleep(2 * time.Second)
		require.EqualValues(t, 1, ran.Load())
		set.Schedule("sooner", 0, time.Now().Add(time.Second)) // before what the timer waits for
		time.Sleep(2 * time.Second)
		require.EqualValues(t, 2, ran.Load())
		time.Sleep(57*time.Second + 5*time.Second)
		require.EqualValues(t, 3, most.Load())
		require.Equal(t, 3, set.Running())
		_, err = set.Step(ctx)
		require.ErrorIs(t, err, ErrRunning)
		time.Sleep(time.Minute)
		require.EqualValues(t, 12, ran.Load())
		set.Schedule("last", 10*time.Second, time.Now())
		synctest.Wait()
		stop()
		require.ErrorIs(t, <-done, context.Canceled)
		require.EqualValues(t, 13, ran.Load(), "Run returns after its work has")
		require.Equal(t, 1, set.Len())
	})
}

func TestRunAsksItsFence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var closed atomic.Bool
		var ran atomic.Int32
		set, err := New(func(context.Context, Work[int, struct{}]) Result { ran.Add(1); return Done() }, Config{Fence: func() error {
			if closed.Load() {
				return context.DeadlineExceeded
			}
			return nil
		}})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error, 1)
		set.Schedule(1, struct{}{}, time.Now())
		closed.Store(true)
		go func() { done <- set.Run(ctx) }()
		time.Sleep(10 * time.Second)
		require.Zero(t, ran.Load())
		closed.Store(false)
		time.Sleep(2 * time.Second)
		require.EqualValues(t, 1, ran.Load())
		stop()
		<-done
	})
}

type noTimers struct{}

func (noTimers) Now() time.Time                  { return epoch }
func (noTimers) Since(t time.Time) time.Duration { return epoch.Sub(t) }

func TestRunNeedsTimers(t *testing.T) {
	set, err := New(func(context.Context, Work[int, int]) Result { return Done() }, Config{Clock: noTimers{}})
	require.NoError(t, err)
	require.ErrorContains(t, set.Run(context.Background()), "timers")
}
