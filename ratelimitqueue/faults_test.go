package ratelimitqueue

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFaultTiny(t *testing.T) {
	f := queue(t, Config{Rate: 1})
	f.SetRate(0)
	f.SetRate(1e-12)
	f.Add("a", 1)
	require.Empty(t, f.takes())
}

func TestFaultDoubleFinish(t *testing.T) {
	f := queue(t, Config{Rate: 1, Burst: 10})
	f.Add("a", 1)
	one, _ := f.Take()
	one.RetryAfter(0)
	two, ok := f.Take()
	require.True(t, ok)
	one.Done()
	st, _ := f.Get("a")
	require.Equal(t, StateInFlight, st.State)
	_ = two
}

func TestFaultRestoreFar(t *testing.T) {
	f := queue(t, Config{Rate: 1, Burst: 10})
	f.step(time.Hour)
	require.NoError(t, f.Restore(Snapshot[string, int]{Version: 1, Rate: 1, Tokens: 1, Items: []SnapshotItem[string, int]{{Key: "a", State: StateWaiting, In: math.MaxInt64}}}))
	require.Empty(t, f.takes())
}

func TestFaultPauseFlap(t *testing.T) {
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
