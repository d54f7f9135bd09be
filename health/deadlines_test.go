package health

import (
	"encoding/json"
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

// listen lets the time until then pass with somebody listening.
func listen(d *Deadlines[string], clk *testingclock.FakePassiveClock, until float64) {
	for clk.Now().Before(at(until)) {
		next := clk.Now().Add(time.Second)
		if next.After(at(until)) {
			next = at(until)
		}
		clk.SetTime(next)
		d.Next()
	}
}

func TestDeadlines(t *testing.T) {
	d, clk := deadlines(t)
	_, ok := d.Next()
	require.False(t, ok)
	d.Beat("a")
	clk.SetTime(at(3))
	d.Track("b", time.Time{})
	require.False(t, d.SetGrace("unheard", time.Second))
	require.False(t, d.SetGrace("b", 0), "no grace at all")
	require.True(t, d.SetGrace("b", 2*time.Second))
	next, _ := d.Next()
	require.Equal(t, at(5), next)
	listen(d, clk, 9.5)
	require.Equal(t, []string{"b"}, slices.Collect(d.Expired()))
	require.True(t, d.SetGrace("b", time.Second), "also of one that expired")
	require.Empty(t, slices.Collect(d.Expired()), "each expiry once")
	st, ok := d.Get("b")
	require.True(t, ok)
	require.Equal(t, Status{LastBeat: at(3), Deadline: at(4), Grace: time.Second, HandedOut: true}, st)
	d.Beat("b")
	clk.SetTime(at(10))
	for id := range d.Expired() {
		require.Equal(t, "a", id)
		d.Beat("a") // from inside the loop
		break
	}
	next, _ = d.Next()
	require.Equal(t, at(10.5), next, "b, beaten at 9.5")
	require.Equal(t, 2, d.Len())
	require.True(t, d.Forget("b"))
	require.False(t, d.Forget("b"))
	_, ok = d.Get("b")
	require.False(t, ok)
	clk.SetTime(at(15))
	d.Reset()
	next, _ = d.Next()
	require.Equal(t, at(25), next)
}

func TestDeadlinesSnapshot(t *testing.T) {
	d, clk := deadlines(t)
	d.Beat("a")
	clk.SetTime(at(4))
	d.Beat("b")
	clk.SetTime(at(11))
	require.Equal(t, []string{"a"}, slices.Collect(d.Expired()))
	text, err := json.Marshal(d.Snapshot())
	require.NoError(t, err)
	var snapshot DeadlinesSnapshot[string]
	require.NoError(t, json.Unmarshal(text, &snapshot))
	other, clock := deadlines(t)
	require.NoError(t, other.Restore(snapshot))
	require.ErrorContains(t, other.Restore(snapshot), "a")
	clock.SetTime(at(2.9))
	require.Empty(t, slices.Collect(other.Expired()))
	clock.SetTime(at(3))
	require.Equal(t, []string{"b"}, slices.Collect(other.Expired()))
}

func TestBeatSaysThatItWasLate(t *testing.T) {
	d, clk := deadlines(t)
	require.Equal(t, Noted{}, d.Beat("a"))
	clk.SetTime(at(10))
	require.Equal(t, Noted{}, d.Beat("a"), "at its deadline")
	listen(d, clk, 23)
	require.Equal(t, Noted{Late: 3 * time.Second}, d.Beat("a"))
	listen(d, clk, 40)
	require.Equal(t, []string{"a"}, slices.Collect(d.Expired()))
	require.Equal(t, Noted{Late: 7 * time.Second, HandedOut: true}, d.Beat("a"))
	require.Equal(t, Noted{}, d.Beat("a"))
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

func TestTrack(t *testing.T) {
	d, clk := deadlines(t)
	d.Beat("before")
	listen(d, clk, 100)
	for key, since := range map[string]time.Time{"then": at(95), "never": {}, "in the future": at(101), "long ago": time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC)} {
		d.Track(key, since)
		d.Track(key, time.Time{})
	}
	d.Track("before", at(50))
	for key, left := range map[string]float64{"then": 5, "never": 10, "in the future": 10, "before": -90} {
		st, ok := d.Get(key)
		require.True(t, ok)
		require.Equal(t, at(100+left), st.Deadline, key)
	}
	st, _ := d.Get("long ago")
	require.Less(t, st.Deadline.Year(), 1800)
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
