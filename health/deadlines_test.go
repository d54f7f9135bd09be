package health

import (
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
