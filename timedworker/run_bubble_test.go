//go:build go1.25

package timedworker

import (
	"context"
	"errors"
	"math/rand"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/internal/clockcases"
)

// running starts Run in the bubble; stop ends it and waits.
func running[K comparable, V any](t *testing.T, s *Set[K, V]) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	synctest.Wait()
	return func() {
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	}
}

// Each user function ends its worker's goroutine, more often than there are workers.
func TestRunLosesNoWorkerToGoexit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var leaving atomic.Pointer[string]
		leave := func(who string) {
			if name := leaving.Load(); name != nil && *name == who {
				leaving.Store(nil)
				runtime.Goexit()
			}
		}
		var done atomic.Int32
		s, err := New(func(_ context.Context, w Work[int, string]) Result {
			leave("the work")
			if w.Attempts == 0 {
				panic("once")
			}
			done.Add(1)
			return Forget()
		}, Config{
			Workers: 2,
			Backoff: Backoff{Jitter: func(d time.Duration) time.Duration { leave("jitter"); return d }},
			OnPanic: func(any, any, []byte) { leave("OnPanic") },
		})
		require.NoError(t, err)
		stop := running(t, s)
		for i, name := range []string{"the work", "jitter", "OnPanic", "the work", "jitter", "OnPanic"} {
			s.Schedule(i, "", time.Now().Add(time.Second))
			leaving.Store(&name)
			time.Sleep(2 * time.Minute)
			require.Nil(t, leaving.Load())
			require.EqualValues(t, i+1, done.Load(), name)
		}
		require.Empty(t, s.All())
		stop()
	})
}

// When Run begins, something is overdue and something else is due later. A worker that has done the first and rests has
// no timer yet that it could set for the second.
func TestRunBeginsWithOverdueAndLaterWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int32
		s, err := New(func(context.Context, Work[string, int]) Result { ran.Add(1); return Forget() }, Config{Workers: 1})
		require.NoError(t, err)
		s.Schedule("overdue", 0, time.Now().Add(-time.Minute))
		s.Schedule("later", 0, time.Now().Add(time.Hour))
		stop := running(t, s)
		require.EqualValues(t, 1, ran.Load())
		time.Sleep(time.Hour)
		synctest.Wait()
		require.EqualValues(t, 2, ran.Load())
		stop()
	})
}

// The wall clock is set while Run's timer waits: due work runs on time, and work that is scheduled then runs when the
// new wall clock says.
func TestRunWhileTheWallIsSet(t *testing.T) {
	for _, one := range clockcases.Cases() {
		if one.Counts() > 0 {
			continue // there, forward is time passed and everything is due, which no timer can know
		}
		synctest.Test(t, func(t *testing.T) {
			c := one.Clock()
			var ran sync.Map
			s, err := New(func(_ context.Context, w Work[string, int]) Result {
				ran.Store(w.Key, true)
				return Forget()
			}, Config{Clock: c})
			require.NoError(t, err)
			has := func(key string) bool {
				synctest.Wait()
				_, ok := ran.Load(key)
				return ok
			}
			stop := running(t, s)
			s.Schedule("before", 1, c.Wall().Add(10*time.Second))
			synctest.Wait()
			require.Equal(t, 1, c.Timers())
			c.Set(one.Set)
			s.Schedule("after", 1, c.Wall().Add(5*time.Second))
			synctest.Wait()
			c.Pass(5*time.Second - 1)
			require.False(t, has("after"), one)
			c.Pass(1)
			require.True(t, has("after"), one)
			c.Pass(5*time.Second - 1)
			require.False(t, has("before"), one)
			c.Pass(1)
			require.True(t, has("before"), one)
			stop()
			require.Zero(t, c.Timers())
		})
	}
}

// Many goroutines schedule and cancel while Run works: no key ever runs twice at the same time, and Cancel's answers
// are true.
func TestRunKeepsWhatCancelSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys = 8
		var busy [keys]atomic.Bool
		var begun [keys]sync.Map // by value
		s, err := New(func(_ context.Context, w Work[int, int]) Result {
			if !busy[w.Key].CompareAndSwap(false, true) {
				t.Error("it runs twice at a time")
			}
			begun[w.Key].Store(w.Value, true)
			runtime.Gosched()
			busy[w.Key].Store(false)
			switch w.Value % 7 {
			case 0:
				return Blocked(time.Millisecond)
			case 1:
				return Retry(errors.New("no"))
			case 2:
				panic("no")
			}
			return Forget()
		}, Config{Workers: 4, Backoff: Backoff{Initial: time.Millisecond, Max: time.Millisecond}})
		require.NoError(t, err)
		stop := running(t, s)
		var users sync.WaitGroup
		for key := range keys { // each has one user, so an answer is about its own work
			users.Add(1)
			go func() {
				defer users.Done()
				r := rand.New(rand.NewSource(int64(key)))
				for value := range 2000 {
					s.Schedule(key, value, time.Now().Add(time.Duration(r.Intn(3)-1)*time.Millisecond))
					switch r.Intn(8) {
					case 0:
						time.Sleep(time.Millisecond)
					case 1:
						s.All()
					}
					if r.Intn(2) == 0 {
						continue
					}
					result := s.Cancel(key)
					_, before := begun[key].Load(value)
					if r.Intn(4) == 0 {
						time.Sleep(2 * time.Millisecond)
					}
					if _, after := begun[key].Load(value); after && !before && result == Waiting {
						t.Errorf("Cancel answered %v, and then it began", result)
					}
				}
				s.Cancel(key)
			}()
		}
		users.Wait()
		time.Sleep(time.Minute)
		require.Empty(t, s.All())
		stop()
	})
}

// A timer is late on a fake clock that was set back. What is scheduled after it should have fired starts nevertheless, and
// so does what it was set for.
func TestRunOnAClockThatIsSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk := testingclock.NewFakeClock(epoch)
		var ran []string
		s, err := New(func(_ context.Context, w Work[string, int]) Result {
			ran = append(ran, w.Key)
			return Forget()
		}, Config{Workers: 1, Clock: clk})
		require.NoError(t, err)
		s.Schedule("a", 0, epoch.Add(time.Second))
		stop := running(t, s)
		clk.SetTime(epoch.Add(-time.Hour))
		s.Schedule("b", 0, epoch)
		clk.Step(2 * time.Second)
		s.Schedule("c", 0, time.Time{})
		synctest.Wait()
		require.Equal(t, []string{"a", "c"}, ran)
		stop()
	})
}
