package ratelimitqueue

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	testingclock "k8s.io/utils/clock/testing"
)

var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

type fixture struct {
	*Queue[string, int]
	clk *testingclock.FakePassiveClock
	t   testing.TB
}

func queue(t testing.TB, config Config) *fixture {
	clk := testingclock.NewFakePassiveClock(epoch)
	config.Clock = clk
	q, err := New[string, int](config)
	require.NoError(t, err)
	return &fixture{q, clk, t}
}

func (f *fixture) step(d time.Duration) { f.clk.SetTime(f.clk.Now().Add(d)) }

// takes hands out everything and returns the keys.
func (f *fixture) takes() (keys []string) {
	for item, ok := f.Take(); ok; item, ok = f.Take() {
		keys = append(keys, item.Key)
		item.Keep()
	}
	return keys
}

func (f *fixture) wantNext(d time.Duration) {
	f.t.Helper()
	next, ok := f.Next()
	require.True(f.t, ok)
	require.Equal(f.t, epoch.Add(d), next)
}

func (f *fixture) wantNoNext() {
	f.t.Helper()
	_, ok := f.Next()
	require.False(f.t, ok)
	require.Zero(f.t, f.Wait())
}

func TestRateAndOrder(t *testing.T) {
	f := queue(t, Config{Rate: 0.1})
	for i, key := range []string{"c", "a", "b"} {
		require.Equal(t, Added, f.Add(key, i))
	}
	f.AddEntry(Entry[string, int]{Key: "early", Due: epoch.Add(-time.Second)})
	require.Equal(t, []string{"early"}, f.takes(), "due first, then first come first served")
	for i, key := range []string{"c", "a", "b"} {
		f.wantNext(time.Duration(i+1) * 10 * time.Second)
		f.step(10*time.Second - 1)
		require.Empty(t, f.takes())
		f.step(1)
		require.Equal(t, []string{key}, f.takes())
	}
	f.wantNoNext()
}

func TestNoTokenForWhatIsNotDue(t *testing.T) {
	f := queue(t, Config{Rate: 0.1})
	f.AddEntry(Entry[string, int]{Key: "later", Due: epoch.Add(time.Minute)})
	for range 100 {
		require.Empty(t, f.takes())
	}
	require.Equal(t, time.Minute, f.Wait())
	f.Add("now", 0)
	require.Equal(t, time.Nanosecond, f.Wait(), "due now is not 0: that would mean never")
	require.Equal(t, []string{"now"}, f.takes(), "the token was not spent on the head that is early")
}

func TestChangeOfRateKeepsWholeTokens(t *testing.T) {
	f := queue(t, Config{Rate: 0.1})
	f.Add("a", 0)
	f.Add("b", 0)
	require.NoError(t, f.SetRate(0.01))
	require.Equal(t, []string{"a"}, f.takes(), "it was full")
	f.step(99 * time.Second)
	require.NoError(t, f.SetRate(0.1))
	require.Empty(t, f.takes())
	f.wantNext(109 * time.Second)
	require.NoError(t, f.SetRate(0.1), "no change")
	f.wantNext(109 * time.Second)
	for _, rate := range []float64{math.NaN(), math.Inf(1), -2} {
		require.ErrorContains(t, f.SetRate(rate), "rate")
	}
	require.Equal(t, 0.1, f.Rate())
	require.NoError(t, f.SetRate(1e-12))
	f.wantNoNext()
}

// A token exists from the instant at which it can be taken, although the limiter's rounding is off by a nanosecond.
func TestChangeOfRateKeepsWhatCouldBeTaken(t *testing.T) {
	for _, change := range []bool{false, true} {
		early := queue(t, Config{Rate: 0.1})
		early.Add("a", 0)
		require.Equal(t, []string{"a"}, early.takes())
		early.Add("b", 0)
		early.step(10*time.Second - 5)
		rounded := queue(t, Config{Rate: Stopped})
		rounded.step(1)
		require.NoError(t, rounded.SetRate(10))
		rounded.Add("a", 0)
		rounded.step(100*time.Millisecond - 1)
		if change {
			require.NoError(t, early.SetRate(0.5))
			require.NoError(t, rounded.SetRate(0.5))
		}
		require.Empty(t, early.takes())
		require.Equal(t, []string{"a"}, rounded.takes())
	}
}

func TestBurst(t *testing.T) {
	f := queue(t, Config{Rate: 1, Burst: 3})
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		f.Add(key, 0)
	}
	require.Equal(t, []string{"a", "b", "c"}, f.takes())
	f.step(2500 * time.Millisecond)
	require.NoError(t, f.SetRate(10))
	require.Equal(t, []string{"d", "e"}, f.takes(), "two whole tokens came along, the half did not")
}

func TestRetry(t *testing.T) {
	f := queue(t, Config{Rate: 1})
	f.Add("a", 1)
	f.AddEntry(Entry[string, int]{Key: "b", Due: epoch.Add(5 * time.Second)})
	item, ok := f.Take()
	require.True(t, ok)
	require.Equal(t, InFlight, f.AddEntry(Entry[string, int]{Key: "a", Value: 2, Due: epoch.Add(5 * time.Second), OnDuplicate: Replace}))
	require.Zero(t, item.Attempts)
	require.Equal(t, Ended{Held: true, Newer: true}, item.RetryAfter(5*time.Second))
	require.Equal(t, Ended{}, item.RetryAfter(time.Hour), "only the first counts")
	f.step(5 * time.Second)
	item, ok = f.Take()
	require.True(t, ok)
	require.Equal(t, "a", item.Key, "it keeps its place among equal times")
	require.Equal(t, 2, item.Value, "the newest value")
	require.Equal(t, 1, item.Attempts)
	require.Equal(t, epoch, item.Added)
	require.Equal(t, epoch.Add(5*time.Second), item.Due)
	_, ok = f.Take()
	require.False(t, ok, "a retry costs a token too")
	item.RetryAfter(math.MaxInt64)
	st, _ := f.Get("a")
	require.Equal(t, StateWaiting, st.State)
}

func TestPolicies(t *testing.T) {
	for _, tc := range []struct {
		policy   Duplicate
		due      time.Duration
		want     time.Duration
		newValue bool
	}{
		{KeepFirst, 1, 5, false}, {KeepEarliest, 1, 1, true}, {KeepEarliest, 9, 5, false}, {Replace, 9, 9, true},
	} {
		f := queue(t, Config{Rate: 1})
		f.AddEntry(Entry[string, int]{Key: "k", Value: 1, Due: epoch.Add(5 * time.Second)})
		require.Equal(t, Known, f.AddEntry(Entry[string, int]{Key: "k", Value: 2, Due: epoch.Add(tc.due * time.Second), OnDuplicate: tc.policy}))
		st, _ := f.Get("k")
		require.Equal(t, epoch.Add(tc.want*time.Second), st.Due)
		require.Equal(t, tc.newValue, st.Value == 2)
	}
}

func TestIdentity(t *testing.T) {
	f := queue(t, Config{Rate: 1000, Burst: 10})
	f.AddEntry(Entry[string, int]{Key: "k", Value: 1, Identity: "old"})
	require.Equal(t, OtherIdentity, f.RemoveIdentity("k", "new"))
	require.Equal(t, Replaced, f.AddEntry(Entry[string, int]{Key: "k", Value: 2, Identity: "new"}))
	item, _ := f.Take()
	require.Equal(t, 2, item.Value)
	require.Equal(t, "new", item.Identity)
	require.Equal(t, Replaced, f.AddEntry(Entry[string, int]{Key: "k", Value: 3, Identity: "newest"}))
	_, ok := f.Take()
	require.False(t, ok, "the first holder is not done")
	require.Equal(t, 1, f.Len())
	require.Equal(t, Ended{Newer: true}, item.RetryAfter(0), "void, but lets the next one go")
	item, ok = f.Take()
	require.True(t, ok)
	require.Equal(t, 3, item.Value)
	item.Drop()
	_, known := f.Get("k")
	require.False(t, known)
	require.Equal(t, NotFound, f.Remove("k"))
}

func TestRemoveWhileInFlight(t *testing.T) {
	for _, end := range []func(Item[string, int]) Ended{Item[string, int].Done, Item[string, int].Drop, Item[string, int].Keep, func(i Item[string, int]) Ended { return i.RetryAfter(0) }} {
		f := queue(t, Config{Rate: 1000, Burst: 10})
		f.Add("k", 1)
		item, _ := f.Take()
		require.Equal(t, RemovedInFlight, f.Remove("k"))
		require.Equal(t, NotFound, f.Remove("k"))
		end(item)
		require.Empty(t, f.takes(), "what the holder says is void")
		_, known := f.Get("k")
		require.False(t, known)

		f.Add("k", 2)
		item, _ = f.Take()
		f.Remove("k")
		require.Equal(t, Added, f.Add("k", 3))
		require.Empty(t, f.takes())
		require.Equal(t, Known, f.Add("k", 4))
		end(item)
		require.Equal(t, []string{"k"}, f.takes(), "once the first holder is done")

		f.Remove("k")
		f.Add("k", 5)
		item, _ = f.Take()
		f.Remove("k")
		f.Add("k", 6)
		require.Equal(t, Removed, f.Remove("k"))
		end(item)
		require.Zero(t, f.Len())
		require.Zero(t, f.records.Len(), "nothing is left behind")
	}
	Item[string, int]{}.Done() // of no queue
}

func TestKeptUntilRemoved(t *testing.T) {
	f := queue(t, Config{Rate: 1000, Burst: 10})
	f.Add("k", 1)
	require.Equal(t, []string{"k"}, f.takes())
	require.Equal(t, Kept, f.Add("k", 2))
	require.Empty(t, f.takes())
	require.Equal(t, Removed, f.Remove("k"))
	require.Equal(t, Added, f.Add("k", 3))
	require.Equal(t, []string{"k"}, f.takes())
}

func TestPause(t *testing.T) {
	f := queue(t, Config{Rate: 0.1})
	f.Add("a", 0)
	f.Add("b", 0)
	f.Pause("storm")
	f.Pause("storm")
	f.Pause("drill")
	require.Equal(t, []string{"storm", "drill"}, f.Paused())
	require.Empty(t, f.takes())
	f.wantNoNext()
	require.True(t, f.Resume("storm"))
	require.False(t, f.Resume("storm"))
	require.Empty(t, f.takes())
	f.step(time.Hour)
	require.NoError(t, f.SetRate(0.2))
	require.True(t, f.Resume("drill"))
	require.Equal(t, []string{"a"}, f.takes(), "the whole token was kept, and none accrued")
	require.Equal(t, 5*time.Second, f.Wait())
}

func TestClockThatGoesBack(t *testing.T) {
	f := queue(t, Config{Rate: 1})
	f.Add("a", 0)
	f.Add("b", 0)
	require.Equal(t, []string{"a"}, f.takes())
	f.step(-24 * time.Hour)
	require.Empty(t, f.takes())
	f.clk.SetTime(epoch.Add(time.Second))
	require.Equal(t, []string{"b"}, f.takes())
}

func TestConfig(t *testing.T) {
	err := Config{Rate: math.NaN(), Burst: -1, Backoff: Backoff{Factor: 0.5}}.Validate()
	for _, name := range []string{"rate", "burst", "backoff.factor"} {
		require.ErrorContains(t, err, name)
	}
	for _, rate := range []float64{-2, math.Inf(1), 0} {
		_, err = New[string, int](Config{Rate: rate})
		require.ErrorContains(t, err, "rate")
	}
	require.ErrorContains(t, Config{}.Validate(), "Required", "a rate that was forgotten is a fault")
	q, err := New[string, int](Config{Rate: Stopped})
	require.NoError(t, err)
	q.Add("k", 1)
	_, ok := q.Take()
	require.False(t, ok)
	require.Zero(t, q.Rate())
	require.ErrorContains(t, queue(t, Config{Rate: 1}).Run(context.Background(), nil), "timers")
	require.Equal(t, "Known RemovedInFlight InFlight State(7)", Known.String()+" "+RemovedInFlight.String()+" "+StateInFlight.String()+" "+State(7).String())
}

func TestTinyRateHandsOutNothingAtOnce(t *testing.T) {
	f := queue(t, Config{Rate: 1})
	f.SetRate(0)
	f.SetRate(1e-12)
	f.Add("a", 1)
	require.Empty(t, f.takes())
}

func TestPausesInARowStopNoTokens(t *testing.T) {
	f := queue(t, Config{Rate: 0.1})
	f.Add("a", 1)
	f.Add("b", 1)
	require.Equal(t, []string{"a"}, f.takes())
	for range 20 {
		f.step(5 * time.Second)
		f.Pause("x")
		f.Resume("x")
	}
	require.Equal(t, []string{"b"}, f.takes())
}
