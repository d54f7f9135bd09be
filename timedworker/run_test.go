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
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
)

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most, ran atomic.Int32
		set, err := New(func(ctx context.Context, w Work[string, time.Duration]) Result {
			if n := running.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(w.Value)
			running.Add(-1)
			ran.Add(1)
			return Forget()
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
		set.Schedule("sooner", 0, time.Now().Add(time.Second)) // earlier than what the timer waits for
		time.Sleep(2 * time.Second)
		require.EqualValues(t, 2, ran.Load())
		time.Sleep(57*time.Second + 5*time.Second)
		require.EqualValues(t, 3, most.Load())
		st, _ := set.Get("slow2")
		require.Equal(t, InFlight, st.State)
		_, err = set.Step(ctx)
		require.ErrorIs(t, err, errRunning)
		time.Sleep(time.Minute)
		require.EqualValues(t, 12, ran.Load())
		set.Schedule("last", 10*time.Second, time.Now())
		synctest.Wait()
		stop()
		require.ErrorIs(t, <-done, context.Canceled)
		require.EqualValues(t, 13, ran.Load(), "Run returns after its work has")
		require.Len(t, set.All(), 1)
	})
}

// Work that takes long keeps one worker busy, and delays no other work.
func TestRunIsNotHeldUpByWorkThatTakesLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		started := make(chan string, 100)
		set, err := New(func(_ context.Context, w Work[string, time.Duration]) Result {
			started <- fmt.Sprint(w.Key, " ", time.Since(began))
			time.Sleep(w.Value)
			return Forget()
		}, Config{Workers: 3})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- set.Run(ctx) }()
		in := func(key string, d, takes time.Duration) { set.Schedule(key, takes, began.Add(d)) }
		in("long", time.Second, time.Hour)
		in("later", 2*time.Second, 0)
		in("again", 3*time.Second, 0)
		time.Sleep(4 * time.Second)
		in("at once", 4*time.Second, 0)
		synctest.Wait()
		in("long too", 5*time.Second, time.Hour)
		time.Sleep(2 * time.Second)
		in("beside two", 6*time.Second, 0)
		in("and later", 7*time.Second, 0)
		time.Sleep(2 * time.Second)
		in("the third", 9*time.Second, time.Minute)
		in("waits", 10*time.Second, 0)
		time.Sleep(2 * time.Minute)
		var got []string
		for range len(started) {
			got = append(got, <-started)
		}
		require.Equal(t, []string{"long 1s", "later 2s", "again 3s", "at once 4s", "long too 5s", "beside two 6s", "and later 7s", "the third 9s", "waits 1m9s"}, got)
		stop()
		<-done
	})
}

// slowTimers calls a function once, after the decision to set a timer and before it is set.
type slowTimers struct {
	clock.RealClock
	between atomic.Pointer[func()]
}

type slowTimer struct {
	clock.Timer
	clock *slowTimers
}

func (c *slowTimers) NewTimer(d time.Duration) clock.Timer {
	return slowTimer{c.RealClock.NewTimer(d), c}
}

func (t slowTimer) Reset(d time.Duration) bool {
	if f := t.clock.between.Swap(nil); f != nil {
		(*f)()
	}
	return t.Timer.Reset(d)
}

func TestRunIsNotLateWhenAWorkerSetsTheTimerTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := map[string]time.Duration{}
		begin, timers := time.Now(), &slowTimers{}
		set, err := New(func(_ context.Context, w Work[string, struct{}]) Result {
			ran[w.Key] = time.Since(begin)
			return Forget()
		}, Config{Workers: 1, Clock: timers})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error, 1)
		set.Schedule("first", struct{}{}, begin.Add(time.Second))
		set.Schedule("last", struct{}{}, begin.Add(time.Hour))
		go func() { done <- set.Run(ctx) }()
		synctest.Wait()
		meanwhile := func() {
			set.Schedule("sooner", struct{}{}, begin.Add(time.Minute))
			synctest.Wait() // Run has set the timer for it
		}
		timers.between.Store(&meanwhile)
		time.Sleep(2 * time.Hour)
		stop()
		<-done
		require.Equal(t, map[string]time.Duration{"first": time.Second, "sooner": time.Minute, "last": time.Hour}, ran)
	})
}

func TestRunLeavesNoTimerBehindAndBeginsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := testingclock.NewFakeClock(epoch)
		ran := 0
		set, err := New(func(context.Context, Work[int, struct{}]) Result { ran++; return Forget() }, Config{Clock: fake})
		require.NoError(t, err)
		for i := range 3 {
			set.Schedule(i, struct{}{}, fake.Now().Add(time.Hour))
			ctx, stop := context.WithCancel(context.Background())
			done := make(chan error, 1)
			go func() { done <- set.Run(ctx) }()
			synctest.Wait()
			fake.Step(time.Hour)
			synctest.Wait()
			require.Equal(t, i+1, ran)
			set.Schedule(3, struct{}{}, fake.Now().Add(24*time.Hour))
			synctest.Wait()
			require.True(t, fake.HasWaiters())
			stop()
			<-done
			require.False(t, fake.HasWaiters())
		}
	})
}
