package ratelimitqueue

import (
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
		item.Done()
	}
	return keys
}

func (f *fixture) wantNext(d time.Duration) {
	f.t.Helper()
	next, ok := f.Next()
	require.True(f.t, ok)
	require.Equal(f.t, epoch.Add(d), next)
}

// wait is how long it is until Next.
func (f *fixture) wait() time.Duration {
	f.t.Helper()
	next, ok := f.Next()
	require.True(f.t, ok)
	return next.Sub(f.clk.Now())
}

func (f *fixture) wantNoNext() {
	f.t.Helper()
	_, ok := f.Next()
	require.False(f.t, ok)
}

// Whoever compares Next with a reading of the clock that is a little older finds what is due.
func TestNextOfWhatIsDueIsWhenItBecameDue(t *testing.T) {
	f := queue(t, Config{Rate: 1, Burst: 1})
	f.AddEntry(Entry[string, int]{Key: "a", Due: epoch.Add(2 * time.Second)})
	f.AddEntry(Entry[string, int]{Key: "b", Due: epoch.Add(3 * time.Second)})
	f.step(time.Minute)
	f.wantNext(2 * time.Second)
	f.Take()
	f.wantNext(time.Minute + time.Second)
}

func TestRateAndOrder(t *testing.T) {
	f := queue(t, Config{Rate: 0.1})
	for i, key := range []string{"c", "a", "b"} {
		require.Equal(t, Unknown, f.Add(key, i))
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
	require.Equal(t, time.Minute, f.wait())
	f.Add("now", 0)
	require.Zero(t, f.wait())
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
	require.NoError(t, f.SetRate(1e-12))
	f.wantNoNext()
}

// A token is there from one instant on, whether or not the rate changes then.
func TestChangeOfRateKeepsWhatCouldBeTaken(t *testing.T) {
	for _, change := range []bool{false, true} {
		for off := -3; off < 3; off++ {
			f := queue(t, Config{Rate: 0.1})
			f.Add("a", 0)
			require.Equal(t, []string{"a"}, f.takes())
			f.Add("b", 0)
			f.step(10*time.Second + time.Duration(off))
			if change {
				require.NoError(t, f.SetRate(0.5))
			}
			_, taken := f.Take()
			require.Equal(t, off >= 0, taken, "%d, %t", off, change)
		}
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
	item, _ := f.Take()
	item.RetryAfter(5 * time.Second)
	f.step(5*time.Second - 1)
	require.Equal(t, time.Nanosecond, f.wait(), "it is due when it says")
	f.step(1)
	item, ok := f.Take()
	require.True(t, ok)
	require.Equal(t, "a", item.Key, "it keeps its place among equal times")
	require.Equal(t, 1, item.Attempts)
	item.RetryAfter(1)
	_, ok = f.Take()
	require.False(t, ok, "a retry costs a token too")
	f.step(time.Second)
	item, _ = f.Take()
	require.Equal(t, "b", item.Key)
	item.RetryAfter(math.MaxInt64)
	require.Equal(t, 2, f.Len(), "for ever, and no overflow")
	Item[string, int]{}.Done() // of no queue
}

// A key that is removed and added again while it is in flight is new work: it has its turn once the first holder has ended.
func TestRemoveWhileInFlight(t *testing.T) {
	f := queue(t, Config{Rate: 1000, Burst: 10})
	f.Add("k", 1)
	item, _ := f.Take()
	require.Equal(t, InFlight, f.Remove("k"))
	require.Equal(t, Unknown, f.Remove("k"))
	require.Equal(t, Unknown, f.Add("k", 2))
	require.Empty(t, f.takes())
	item.RetryAfter(time.Hour) // has no effect
	item, ok := f.Take()
	require.True(t, ok)
	require.Equal(t, 2, item.Value)
	require.Zero(t, item.Attempts)
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

func TestNames(t *testing.T) {
	require.Equal(t, []string{"Finished", "State(9)"}, []string{Finished.String(), State(9).String()})
	require.Equal(t, []string{"Replace", "KeepFirst", "Replace"}, []string{Replace.String(), KeepFirst.String(), Duplicate(9).String()})
}

func TestAQueueThatBeginsStopped(t *testing.T) {
	q, err := New[string, int](Config{Rate: 0})
	require.NoError(t, err)
	q.Add("k", 1)
	_, ok := q.Take()
	require.False(t, ok)
	_, ok = q.Next()
	require.False(t, ok)
}

// Instants that are centuries away stay on their side of now.
func TestDueLongAgoAndNever(t *testing.T) {
	f := queue(t, Config{Rate: 1000, Burst: 10})
	f.step(time.Second)
	f.AddEntry(Entry[string, int]{Key: "year 1", Due: time.Time{}.Add(time.Second)})
	f.AddEntry(Entry[string, int]{Key: "year 9999", Due: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)})
	require.Equal(t, []string{"year 1"}, f.takes())
	require.Greater(t, f.wait(), 200*365*24*time.Hour)
}
