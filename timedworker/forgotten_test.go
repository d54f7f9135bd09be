package timedworker_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/ratelimitqueue"
	"github.com/evictkit/evictkit/timedworker"
)

// If a field of a configuration is forgotten, either that is an error or things happen all the same; it is never
// silent. Each field has a test of that, and a new field fails until it has one.
func TestAForgottenFieldIsNeverSilent(t *testing.T) {
	for _, config := range []struct {
		of        any
		forgotten map[string]func(*testing.T)
	}{
		{ratelimitqueue.Config{}, map[string]func(*testing.T){
			"Rate": func(t *testing.T) {
				_, err := ratelimitqueue.New[string, int](ratelimitqueue.Config{Burst: 1})
				requireRateFault(t, err)
			},
			"Burst":   func(t *testing.T) { require.Equal(t, 1, takes(t, ratelimitqueue.Config{Rate: 1e-6})) },
			"Clock":   forgottenClock,
			"Backoff": func(t *testing.T) { requireRetriesIn(t, 100*time.Millisecond, queueOfConfig) },
			"OnError": func(t *testing.T) { requireErrorSeen(t, queueOf) },
			"OnPanic": func(t *testing.T) { requirePanicSeen(t, queueOf) },
		}},
		{ratelimitqueue.GroupConfig[string, string]{}, map[string]func(*testing.T){
			"Rate": func(t *testing.T) {
				_, err := ratelimitqueue.NewGroup[string, string, int](ratelimitqueue.GroupConfig[string, string]{})
				requireRateFault(t, err)
			},
			"Burst":       func(t *testing.T) { require.Equal(t, 3, groupTakes(t, 1e-6)) }, // one of each domain
			"MaxRate":     func(t *testing.T) { require.Equal(t, 300, groupTakes(t, ratelimitqueue.Unlimited)) },
			"MaxInFlight": func(t *testing.T) { require.Equal(t, 300, groupTakes(t, ratelimitqueue.Unlimited)) },
			"Prefer":      func(t *testing.T) { require.Equal(t, 300, groupTakes(t, ratelimitqueue.Unlimited)) },
			"Compare":     func(t *testing.T) { require.Equal(t, 300, groupTakes(t, ratelimitqueue.Unlimited)) },
			"Clock":       asConfig, "Backoff": asConfig, "OnError": asConfig, "OnPanic": asConfig,
		}},
		{timedworker.Config{}, map[string]func(*testing.T){
			"Workers": forgottenWorkersAndClock,
			"Clock":   forgottenWorkersAndClock,
			"Backoff": func(t *testing.T) { requireRetriesIn(t, 100*time.Millisecond, setOfConfig) },
			"OnError": func(t *testing.T) { requireErrorSeen(t, setOf) },
			"OnPanic": func(t *testing.T) { requirePanicSeen(t, setOf) },
		}},
	} {
		of := reflect.TypeOf(config.of)
		for i := range of.NumField() {
			name := of.Field(i).Name
			require.Contains(t, config.forgotten, name, "what comes of forgetting it in %s?", of)
			t.Run(fmt.Sprintf("%s/%s", of, name), config.forgotten[name])
		}
		require.Len(t, config.forgotten, of.NumField())
	}
	_, err := timedworker.New[string, int](nil, timedworker.Config{})
	require.ErrorContains(t, err, "no function")
}

func requireRateFault(t *testing.T, err error) {
	require.ErrorContains(t, err, "rate: Required value")
	require.ErrorContains(t, err, "Unlimited")
	require.ErrorContains(t, err, "Stopped")
}

// takes returns how many of a hundred items are handed out at once.
func takes(t *testing.T, config ratelimitqueue.Config) (taken int) {
	config.Clock = testingclock.NewFakeClock(epoch)
	q, err := ratelimitqueue.New[int, int](config)
	require.NoError(t, err)
	for i := range 100 {
		q.Add(i, 0)
	}
	for _, ok := q.Take(); ok; _, ok = q.Take() {
		taken++
	}
	return taken
}

// groupTakes returns how many of a hundred items in each of three domains are handed out at once.
func groupTakes(t *testing.T, rate float64) (taken int) {
	g, err := ratelimitqueue.NewGroup[string, string, int](ratelimitqueue.GroupConfig[string, string]{Rate: rate, Clock: testingclock.NewFakeClock(epoch)})
	require.NoError(t, err)
	for i := range 300 {
		g.Add(fmt.Sprint(i%3), fmt.Sprint(i), 0)
	}
	for _, ok := g.Take(); ok; _, ok = g.Take() {
		taken++
	}
	return taken
}

// asConfig: Group and Queue both have the field, and the group passes it on to its queues.
func asConfig(t *testing.T) {
	g, err := ratelimitqueue.NewGroup[string, string, int](ratelimitqueue.GroupConfig[string, string]{Rate: ratelimitqueue.Unlimited})
	require.NoError(t, err)
	require.Equal(t, ratelimitqueue.Added, g.Add("zone", "a", 0))
	item, ok := g.Take()
	require.True(t, ok)
	item.Fail(errPlayed)
	st, _ := g.Get("a")
	require.Equal(t, errPlayed, st.LastError)
	wait := g.Wait()
	require.Positive(t, wait)
	require.LessOrEqual(t, wait, 100*time.Millisecond)
}

func forgottenClock(t *testing.T) {
	before := time.Now()
	q, err := ratelimitqueue.New[int, int](ratelimitqueue.Config{Rate: ratelimitqueue.Unlimited})
	require.NoError(t, err)
	q.Add(1, 1)
	item, ok := q.Take()
	require.True(t, ok)
	require.False(t, item.Added.Before(before))
	require.False(t, item.Added.After(time.Now()))
}

// forgottenWorkersAndClock: the zero Config works, with eight workers.
func forgottenWorkersAndClock(t *testing.T) {
	const workers = 8
	begun, end := make(chan struct{}, 2*workers), make(chan struct{})
	set, err := timedworker.New(func(context.Context, timedworker.Work[int, int]) timedworker.Result {
		begun <- struct{}{}
		<-end
		return timedworker.Done()
	}, timedworker.Config{})
	require.NoError(t, err)
	for i := range 2 * workers {
		require.Equal(t, timedworker.Scheduled, set.Schedule(i, 0, time.Time{}))
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- set.Run(ctx) }()
	for range workers {
		<-begun
	}
	require.Equal(t, workers, set.Stats().Running)
	close(end)
	for range workers {
		<-begun
	}
	stop()
	require.ErrorIs(t, <-done, context.Canceled)
}

// queueOfConfig and setOfConfig make a machine without Backoff in which the first try of a key "a" has failed.
func queueOfConfig(t *testing.T, clock *testingclock.FakeClock) (wait func() time.Duration) {
	q, err := ratelimitqueue.New[string, int](ratelimitqueue.Config{Rate: ratelimitqueue.Unlimited, Clock: clock})
	require.NoError(t, err)
	q.Add("a", 0)
	item, ok := q.Take()
	require.True(t, ok)
	item.Retry()
	return q.Wait
}

func setOfConfig(t *testing.T, clock *testingclock.FakeClock) (wait func() time.Duration) {
	s, err := timedworker.New(func(context.Context, timedworker.Work[string, int]) timedworker.Result { return timedworker.Retry() }, timedworker.Config{Clock: clock})
	require.NoError(t, err)
	s.Schedule("a", 0, time.Time{})
	ran, err := s.Step(context.Background())
	require.NoError(t, err)
	require.Equal(t, 1, ran)
	return s.Wait
}

func requireRetriesIn(t *testing.T, d time.Duration, fails func(*testing.T, *testingclock.FakeClock) func() time.Duration) {
	require.Equal(t, d, fails(t, testingclock.NewFakeClock(epoch))())
}

func requireErrorSeen(t *testing.T, machineOf func(*testing.T, options) *machine) {
	m := machineOf(t, options{})
	m.add(entry{key: "a"})
	m.turn(func(held) outcome { return outcome{word: "Fail", err: errPlayed} })
	require.Equal(t, errPlayed, m.stats().lastError)
}

func requirePanicSeen(t *testing.T, machineOf func(*testing.T, options) *machine) {
	m := machineOf(t, options{jitter: func(time.Duration) time.Duration { panic("jitter") }})
	m.add(entry{key: "a"})
	m.turn(ends("Retry"))
	require.EqualValues(t, 1, m.stats().panicked)
	require.ErrorContains(t, m.stats().lastError, "jitter")
	m.turns(1, ends("Done"))
	m.wants("0s a=0 try 1", "1s a=0 try 2")
}
