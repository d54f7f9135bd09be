package health

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	testingclock "k8s.io/utils/clock/testing"
)

func deadlines(t testing.TB) (*Deadlines[string], *testingclock.FakePassiveClock) {
	clk := testingclock.NewFakePassiveClock(epoch)
	d, err := NewDeadlines[string](DeadlinesConfig{Grace: 10 * time.Second, Clock: clk})
	require.NoError(t, err)
	return d, clk
}

// The random operations begin at most a few seconds ago.
func TestTrackSinceLongAgo(t *testing.T) {
	d, _ := deadlines(t)
	d.Track("long ago", time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC))
	st, ok := d.Get("long ago")
	require.True(t, ok)
	require.Less(t, st.Deadline.Year(), 1800)
	require.Equal(t, []string{"long ago"}, slices.Collect(d.Expired()))
}

// A key that cannot be hashed panics in its caller, with no lock held and nothing changed.
func TestKeyThatCannotBeHashed(t *testing.T) {
	d, err := NewDeadlines[any](DeadlinesConfig{Grace: time.Minute})
	require.NoError(t, err)
	d.Beat("x")
	bad := []int{1}
	for name, operation := range map[string]func(){
		"Beat":     func() { d.Beat(bad) },
		"Track":    func() { d.Track(bad, epoch) },
		"SetGrace": func() { d.SetGrace(bad, time.Second) },
		"Forget":   func() { d.Forget(bad) },
		"Get":      func() { d.Get(bad) },
		"Restore": func() {
			_ = d.Restore(DeadlinesSnapshot[any]{Version: 1, Keys: []KeySnapshot[any]{{Key: "y", Grace: 1}, {Key: bad, Grace: 1}}})
		},
	} {
		require.Panics(t, operation, name)
		require.Equal(t, 1, d.Len())
	}
	_, ok := d.Get("x")
	require.True(t, ok)
	require.Len(t, d.Snapshot().Keys, 1)
}

func TestDeadlinesRefuseASnapshot(t *testing.T) {
	good := KeySnapshot[string]{Key: "a", Grace: time.Second, Silent: time.Second}
	for name, s := range map[string]DeadlinesSnapshot[string]{
		"version":  {Version: 2, Keys: []KeySnapshot[string]{good}},
		"none":     {Keys: []KeySnapshot[string]{good}},
		"twice":    {Version: 1, Keys: []KeySnapshot[string]{good, good}},
		"grace":    {Version: 1, Keys: []KeySnapshot[string]{{Key: "a"}}},
		"silence":  {Version: 1, Keys: []KeySnapshot[string]{{Key: "a", Grace: 1, Silent: -1}}},
		"all that": {Version: 1, Keys: []KeySnapshot[string]{good, {Key: "b"}}},
	} {
		d, _ := deadlines(t)
		require.Error(t, d.Restore(s), name)
		require.Zero(t, d.Len())
		d.Beat("b")
		require.Error(t, d.Restore(DeadlinesSnapshot[string]{Version: 1, Keys: []KeySnapshot[string]{good}}), "beside b")
		require.Equal(t, 1, d.Len())
	}
}

// A gap in our own listening condemns nobody, and who is really silent is found when we listen again.
func TestGapCondemnsNobody(t *testing.T) {
	d, clk := deadlines(t)
	for i := range 10_000 {
		d.Beat(strconv.Itoa(i))
	}
	clk.SetTime(epoch.AddDate(56, 0, 0)) // a clock without a battery was set
	require.Empty(t, slices.Collect(d.Expired()))
	for i := 1; i < 10_000; i++ {
		d.Beat(strconv.Itoa(i))
	}
	next, _ := d.Next()
	require.Equal(t, clk.Now().Add(10*time.Second), next)
	clk.SetTime(next)
	require.Equal(t, []string{"0"}, slices.Collect(d.Expired())[:1])
	d.Beat("1")
	clk.SetTime(clk.Now().Add(time.Minute))
	d.Next()
	clk.SetTime(clk.Now().Add(time.Minute)) // the second within two graces counts for a quarter of one
	st, _ := d.Get("1")
	d.Next()
	later, _ := d.Get("1")
	require.Equal(t, time.Minute-2500*time.Millisecond, later.Deadline.Sub(st.Deadline))
}

// A device that was reported silent and has not come back is not reported again, whatever its observer goes through.
func TestNobodyIsReportedTwice(t *testing.T) {
	d, clk := deadlines(t)
	d.Beat("a")
	clk.SetTime(at(1))
	d.Beat("b")
	clk.SetTime(at(10))
	require.Equal(t, []string{"a"}, slices.Collect(d.Expired()))
	d.Reset()
	next, _ := d.Next()
	require.Equal(t, at(20), next)
	clk.SetTime(at(12))
	d.Freeze()
	clk.SetTime(at(19))
	d.Beat("c")
	clk.SetTime(at(100))
	require.Empty(t, slices.Collect(d.Expired()))
	_, some := d.Next()
	require.False(t, some)
	d.Thaw()
	d.Thaw()
	next, _ = d.Next()
	require.Equal(t, at(110), next, "a whole grace for each")
	clk.SetTime(at(110))
	require.ElementsMatch(t, []string{"b", "c"}, slices.Collect(d.Expired()))
	require.True(t, d.Beat("a").HandedOut)
	clk.SetTime(at(120))
	require.Equal(t, []string{"a"}, slices.Collect(d.Expired()))
}

// Who looks four times in a grace need not wait for Next.
func TestPolling(t *testing.T) {
	d, clk := deadlines(t)
	clk.SetTime(at(0.7))
	d.Beat("a")
	for second := 2.5; second < 10.7; second += 2.5 {
		clk.SetTime(at(second))
		require.Empty(t, slices.Collect(d.Expired()))
	}
	clk.SetTime(at(12.5))
	require.Equal(t, []string{"a"}, slices.Collect(d.Expired()))
}
