package timedworker

import (
	"context"
	"errors"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	testingclock "k8s.io/utils/clock/testing"
)

// Whatever the user's functions do, no lock may stay held and no key may be stranded.

func TestErrorsAreSeen(t *testing.T) {
	r := recorded(t, Config{})
	boom := errors.New("boom")
	r.result = func(Work[string, int]) Result { return Retry(boom) }
	r.Schedule("k", 1, r.in(0))
	r.step(t, 0)
	st, _ := r.Get("k")
	require.Equal(t, boom, st.LastError)
	require.Equal(t, 1, st.Attempts)
	r.result = func(Work[string, int]) Result { return Blocked(0) }
	r.step(t, time.Minute)
	st, _ = r.Get("k")
	require.Equal(t, boom, st.LastError, "being blocked is no news of it")
	require.Equal(t, 1, st.Attempts)
}

func TestPanicIsAFailedTry(t *testing.T) {
	var told any
	r := recorded(t, Config{OnPanic: func(key, value any, stack []byte) {
		require.Equal(t, "k", key)
		require.Contains(t, string(stack), "TestPanicIsAFailedTry")
		told = value
	}})
	r.result = func(w Work[string, int]) Result {
		if w.Key == "k" {
			panic("boom")
		}
		return Forget()
	}
	r.Schedule("k", 0, r.in(0))
	r.Schedule("other", 0, r.in(0))
	require.Equal(t, []string{"k", "other"}, r.step(t, 0))
	require.Equal(t, "boom", told)
	st, _ := r.Get("k")
	require.EqualError(t, st.LastError, "timedworker: panic: boom")
	r.result = func(Work[string, int]) Result { panic(context.Canceled) }
	require.Equal(t, []string{"k"}, r.step(t, 100*time.Millisecond))
	st, _ = r.Get("k")
	require.ErrorIs(t, st.LastError, context.Canceled, "the cause is wrapped")
}

func TestCallbacksThatPanic(t *testing.T) {
	jitter := Backoff{Jitter: func(time.Duration) time.Duration { panic("jitter") }}
	onPanic := func(any, any, []byte) { panic("OnPanic") }
	for name, config := range map[string]Config{
		"jitter":  {Backoff: jitter},
		"OnPanic": {OnPanic: onPanic},
		"both":    {Backoff: jitter, OnPanic: onPanic},
	} {
		t.Run(name, func(t *testing.T) {
			r := recorded(t, config)
			r.result = func(Work[string, int]) Result { panic("the work") }
			r.Schedule("k", 1, r.in(0))
			require.Equal(t, []string{"k"}, r.step(t, 0))
			st, _ := r.Get("k")
			require.Equal(t, 1, st.Attempts)
			require.Equal(t, r.in(100*time.Millisecond), st.Due, "the delay is as it would be without jitter")
			r.result = func(Work[string, int]) Result { return Forget() }
			require.Equal(t, []string{"k"}, r.step(t, 100*time.Millisecond))
		})
	}
}

// goexits returns a Set with user functions that each end their goroutine once.
func goexits(t *testing.T, name string) (r *recorder, once *bool) {
	once = new(bool)
	leave := func(who string) {
		if who == name && !*once {
			*once = true
			runtime.Goexit()
		}
	}
	r = recorded(t, Config{
		Backoff: Backoff{Jitter: func(d time.Duration) time.Duration { leave("jitter"); return d }, Max: time.Second},
		OnPanic: func(any, any, []byte) { leave("OnPanic") },
	})
	r.result = func(Work[string, int]) Result {
		leave("the work")
		panic("boom")
	}
	return r, once
}

func TestGoexitIsAFailedTry(t *testing.T) {
	for _, name := range []string{"the work", "jitter", "OnPanic"} {
		t.Run(name, func(t *testing.T) {
			r, left := goexits(t, name)
			r.Schedule("k", 1, r.in(0))
			over, returned := make(chan struct{}), false
			go func() {
				defer close(over)
				_, _ = r.Step(context.Background())
				returned = true
			}()
			<-over
			require.True(t, *left)
			require.False(t, returned, "the goroutine has ended")
			st, known := r.Get("k")
			require.True(t, known && st.Due.After(r.in(0)), "it has its backoff")
			require.Equal(t, Waiting, st.State)
			require.Equal(t, 1, st.Attempts)
			require.Error(t, st.LastError)
			r.result = func(Work[string, int]) Result { return Forget() }
			require.Equal(t, []string{"k"}, r.step(t, time.Second), "another Step may run")
			require.Empty(t, r.All())
		})
	}
}

func TestRetryWhoseJitterEndsTheGoroutine(t *testing.T) {
	r, _ := goexits(t, "jitter")
	r.result = func(Work[string, int]) Result { return Retry(nil) }
	r.Schedule("k", 1, r.in(0))
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = r.Step(context.Background())
	}()
	<-over
	st, _ := r.Get("k")
	require.Equal(t, r.in(100*time.Millisecond), st.Due, "as without jitter")
}

func TestKeyThatCannotBe(t *testing.T) {
	s, err := New(func(context.Context, Work[any, int]) Result { return Forget() }, Config{Clock: testingclock.NewFakePassiveClock(epoch)})
	require.NoError(t, err)
	s.Schedule("good", 1, epoch)
	before := s.All()
	bad := any([]int{1})
	for _, do := range []func(){
		func() { s.Schedule(bad, 1, epoch) },
		func() { s.Schedule(math.NaN(), 1, epoch) },
		func() { s.Cancel(bad) },
		func() { s.Get(bad) },
	} {
		require.Panics(t, do)
		require.Equal(t, before, s.All(), "nothing is locked and nothing has changed")
	}
	ran, err := s.Step(context.Background())
	require.NoError(t, err)
	require.Equal(t, 1, ran)
}

func TestJitterIsAskedWithoutTheLock(t *testing.T) {
	var r *recorder
	asked := false
	r = recorded(t, Config{Backoff: Backoff{Jitter: func(d time.Duration) time.Duration {
		st, _ := r.Get("a") // would deadlock under a lock
		asked = st.State == InFlight
		return d
	}}})
	r.result = func(Work[string, int]) Result { return Retry(nil) }
	r.Schedule("a", 1, r.in(0))
	_, err := r.Step(context.Background())
	require.NoError(t, err)
	require.True(t, asked)
}
