package health

import (
	"cmp"
	"encoding/json"
	"slices"
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

func TestDeadlines(t *testing.T) {
	d, clk := deadlines(t)
	_, ok := d.Next()
	require.False(t, ok)
	d.Beat("a")
	clk.SetTime(at(3))
	d.Track("b")
	require.False(t, d.SetGrace("unheard", time.Second))
	require.False(t, d.SetGrace("b", 0), "no grace at all")
	require.True(t, d.SetGrace("b", 2*time.Second))
	next, _ := d.Next()
	require.Equal(t, at(5), next)
	clk.SetTime(at(9.5))
	require.Equal(t, []string{"b"}, slices.Collect(d.Expired()))
	require.True(t, d.SetGrace("b", time.Second), "also of one that expired")
	require.Empty(t, slices.Collect(d.Expired()), "each expiry once")
	st, ok := d.Get("b")
	require.True(t, ok)
	require.Equal(t, Status{LastBeat: at(3), Deadline: at(4), Grace: time.Second, HandedOut: true}, st)
	d.BeatAt("b", at(9.5))
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
	clk.SetTime(at(23))
	require.Equal(t, Noted{Late: 3 * time.Second}, d.Beat("a"))
	clk.SetTime(at(40))
	require.Equal(t, []string{"a"}, slices.Collect(d.Expired()))
	require.Equal(t, Noted{Late: 7 * time.Second, HandedOut: true}, d.Beat("a"))
	require.Equal(t, Noted{}, d.BeatAt("a", at(41)))
}

func TestWhoIsLate(t *testing.T) {
	d, clk := deadlines(t)
	for i, key := range []string{"a", "b", "c", "d"} {
		clk.SetTime(at(float64(i)))
		d.Beat(key)
	}
	d.SetGrace("d", 8*time.Second)
	require.Empty(t, d.Late())
	require.Equal(t, []Late[string]{{"a", time.Second}, {"b", 0}, {"d", 0}}, sorted(d.LateAt(at(11))))
	clk.SetTime(at(12.5))
	for range d.Expired() { // keys that were handed out are still late
		break
	}
	require.Equal(t, []Late[string]{{"a", 2500 * time.Millisecond}, {"b", 1500 * time.Millisecond}, {"d", 1500 * time.Millisecond}, {"c", 500 * time.Millisecond}}, sorted(d.Late()))
	d.SetGrace("a", time.Minute)
	d.Beat("b")
	require.Equal(t, []Late[string]{{"d", 1500 * time.Millisecond}, {"c", 500 * time.Millisecond}}, d.Late())
	d.Reset()
	require.Empty(t, d.Late())
	require.Equal(t, []Late[string]{{"d", time.Second}}, d.LateAt(at(21.5)), "by its own grace, from the reset on")
}

// sorted orders equally late keys by key.
func sorted(all []Late[string]) []Late[string] {
	slices.SortStableFunc(all, func(a, b Late[string]) int {
		return cmp.Or(cmp.Compare(b.By, a.By), cmp.Compare(a.Key, b.Key))
	})
	return all
}

func TestTrackSince(t *testing.T) {
	d, clk := deadlines(t)
	d.Beat("before")
	clk.SetTime(at(100))
	for key, since := range map[string]time.Time{"then": at(95), "never": {}, "in the future": at(101), "long ago": time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC)} {
		d.TrackSince(key, since)
		d.TrackAt(key, at(100))
	}
	d.TrackSince("before", at(50))
	for key, left := range map[string]float64{"then": 5, "never": 10, "in the future": 10, "before": -90} {
		st, ok := d.Get(key)
		require.True(t, ok)
		require.Equal(t, at(100+left), st.Deadline, key)
	}
	st, _ := d.Get("long ago")
	require.Less(t, st.Deadline.Year(), 1800)
	require.Equal(t, "long ago", d.Late()[0].Key)
}

// A key that cannot be hashed panics in its caller, with no lock held and nothing changed.
func TestKeyThatCannotBeHashed(t *testing.T) {
	d, err := NewDeadlines[any](DeadlinesConfig{Grace: time.Minute})
	require.NoError(t, err)
	d.Beat("x")
	bad := []int{1}
	for name, operation := range map[string]func(){
		"Beat":       func() { d.Beat(bad) },
		"Track":      func() { d.Track(bad) },
		"TrackSince": func() { d.TrackSince(bad, epoch) },
		"SetGrace":   func() { d.SetGrace(bad, time.Second) },
		"Forget":     func() { d.Forget(bad) },
		"Get":        func() { d.Get(bad) },
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
