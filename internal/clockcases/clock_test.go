package clockcases

import (
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/internal/steady"
)

func TestReadings(t *testing.T) {
	for _, set := range []time.Duration{0, time.Hour, -24 * time.Hour} {
		c := New(true)
		first := c.Now()
		require.True(t, first.Equal(Start))
		require.NotEqual(t, first, first.Round(0), "it has a monotonic part, as the real clock's readings")
		c.Set(set)
		c.Pass(5 * time.Second)
		require.Equal(t, 5*time.Second, c.Now().Sub(first), "whatever the wall says")
		require.Equal(t, 5*time.Second, c.Since(first))
		require.True(t, c.Wall().Equal(Start.Add(set+5*time.Second)), "%v", c.Wall())
		require.Equal(t, 7*time.Second, c.Now().Add(2*time.Second).Sub(first))
		require.Equal(t, c.Wall(), c.Now().Round(0))
		require.Equal(t, time.UTC, c.Now().Location())

		c = New(false)
		c.Set(set)
		c.Pass(5 * time.Second)
		require.Equal(t, Start.Add(set+5*time.Second), c.Now())
	}
}

func TestCasesAsSteadyTimeReadsThem(t *testing.T) {
	names := map[string]bool{}
	for _, one := range Cases() {
		names[one.String()] = true
		var s steady.Time
		c := one.Clock()
		s.Read(c.Now())
		c.Pass(time.Second)
		c.Set(one.Set)
		c.Pass(time.Second)
		want := 2*time.Second + one.Counts()
		if !one.Monotonic && one.Set < 0 {
			want = 0 // time that was not read before the clock went back is lost
		}
		require.Equal(t, int64(want), s.Read(c.Now()), one)
	}
	require.Len(t, names, 8)
	require.Contains(t, names, "-24h without monotonic readings")
}

func TestTimersWaitForTimeToPass(t *testing.T) {
	c := New(true)
	fired := func(ch <-chan time.Time) bool {
		select {
		case at := <-ch:
			require.Equal(t, c.Now(), at)
			return true
		default:
			return false
		}
	}
	late, soon, now, never := c.NewTimer(time.Minute), c.NewTimer(time.Second), c.NewTimer(0), c.NewTimer(math.MaxInt64)
	require.True(t, fired(now.C()))
	c.Set(24 * time.Hour)
	require.False(t, fired(soon.C()))
	require.Equal(t, 3, c.Timers())
	c.Pass(time.Second)
	require.True(t, fired(soon.C()))
	require.False(t, fired(late.C()))
	require.False(t, soon.Reset(time.Second))
	require.True(t, late.Reset(time.Second))
	require.True(t, late.Stop())
	require.False(t, late.Stop())
	c.Pass(time.Second)
	require.True(t, fired(soon.C()))
	require.False(t, fired(late.C()))
	require.False(t, soon.Reset(0))
	require.False(t, soon.Stop())
	require.False(t, fired(soon.C()), "stopped before it was received")
	after := c.After(time.Second)
	c.Pass(time.Second)
	require.True(t, fired(after))
	c.Pass(time.Hour)
	c.Set(-48 * time.Hour)
	require.True(t, never.Reset(math.MaxInt64))
	require.Zero(t, c.Timers(), "beyond the end of time")
	done := make(chan struct{})
	go func() { c.Sleep(time.Second); close(done) }()
	for c.Timers() == 0 {
		runtime.Gosched() // the other goroutine is about to wait
	}
	c.Pass(time.Second)
	<-done
	require.Panics(t, func() { c.Tick(1) })
}
