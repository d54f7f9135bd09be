package health

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	testingclock "k8s.io/utils/clock/testing"
)

func deadlines(t testing.TB, grace time.Duration) (*Deadlines[string], *testingclock.FakePassiveClock) {
	clk := testingclock.NewFakePassiveClock(epoch)
	d, err := NewDeadlines[string](DeadlinesConfig{Grace: grace, Clock: clk})
	require.NoError(t, err)
	return d, clk
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
		"Restore":  func() { _ = d.Restore([]Status[any]{{Key: "y", Grace: 1}, {Key: bad, Grace: 1}}) },
	} {
		require.Panics(t, operation, name)
		require.Equal(t, 1, d.Len())
	}
	require.Len(t, d.Snapshot(), 1)
}

// A device that was reported silent and has not come back is not reported again, whatever its observer goes through.
func TestNobodyIsReportedTwice(t *testing.T) {
	d, clk := deadlines(t, 8*time.Second)
	d.Track("a", at(-8))
	d.Beat("b")
	require.Equal(t, []string{"a"}, slices.Collect(d.Expired()))
	clk.SetTime(at(2))
	d.Restart()
	d.SetGrace("a", 4*time.Second)
	for second := 3.0; second < 10; second++ {
		clk.SetTime(at(second))
		require.Empty(t, slices.Collect(d.Expired()))
	}
	clk.SetTime(at(10))
	require.Equal(t, []string{"b"}, slices.Collect(d.Expired()))
	_, some := d.Next()
	require.False(t, some)
	require.True(t, d.Beat("a").HandedOut)
	require.False(t, d.Beat("a").HandedOut)
	next, _ := d.Next()
	require.Equal(t, at(10.5), next)
}
