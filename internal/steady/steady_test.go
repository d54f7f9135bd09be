package steady

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/internal/clockcases"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestWallAlone(t *testing.T) {
	var s Time
	require.Equal(t, int64(0), s.Read(epoch))
	require.Equal(t, int64(5), s.Read(epoch.Add(5)))
	require.Equal(t, int64(5), s.Read(epoch.Add(-time.Hour)), "back means that no time passed")
	require.Equal(t, int64(8), s.Read(epoch.Add(3-time.Hour)), "and what follows counts from there")
	require.Equal(t, epoch.Add(10-time.Hour), s.Instant(15), "instants are told as the clock shows them now")
}

func TestMonotonic(t *testing.T) {
	var s Time
	now := time.Now()
	s.Read(now)
	require.Equal(t, int64(7), s.Read(now.Add(7)))
	require.Equal(t, int64(7), s.Read(now.Add(3)), "read before, told after")
	require.Equal(t, int64(9), s.Read(now.Add(9)), "no time counts twice")
	require.Equal(t, int64(9), s.Read(epoch), "a fake clock that was made with time.Now and is set to its epoch")
	require.Equal(t, int64(9+60), s.Read(epoch.Add(60)))
}

func TestReadingThatMayBeLate(t *testing.T) {
	for _, monotonic := range []bool{true, false} {
		var s Time
		clock := clockcases.New(monotonic)
		first := clock.Now()
		require.Equal(t, int64(0), s.Read(first))
		require.False(t, s.Late(first))
		clock.Pass(time.Second)
		require.False(t, s.Late(clock.Now()))
		require.Equal(t, int64(time.Second), s.Read(clock.Now()))
		require.True(t, s.Late(first))
		clock.Set(-time.Hour)
		require.Equal(t, !monotonic, s.Late(clock.Now()))
	}
}

func TestInstantsOfOthers(t *testing.T) {
	var s Time
	now := time.Now()
	s.Read(now)
	in10s := now.Add(10 * time.Second).Round(0) // as the wall clock shows it now
	require.Equal(t, int64(10*time.Second), s.Of(in10s))
	s.Read(now.Add(time.Second))
	require.Equal(t, int64(10*time.Second), s.Of(now.Add(10*time.Second)))
	require.Equal(t, now.Add(10*time.Second).Round(0), s.Instant(int64(10*time.Second)).Round(0))
	require.Less(t, s.Of(time.Time{}), int64(math.MinInt64/2), "long ago")
	require.Equal(t, int64(math.MaxInt64), s.Of(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)))
}

func TestSums(t *testing.T) {
	require.Equal(t, int64(math.MaxInt64), Add(math.MaxInt64-1, 2))
	require.Equal(t, int64(math.MinInt64), Add(math.MinInt64+1, -2))
	require.Equal(t, int64(3), Add(1, 2))
	require.Equal(t, int64(math.MaxInt64), Sub(1, math.MinInt64))
	require.Equal(t, int64(0), Sub(math.MinInt64, math.MinInt64))
	require.Equal(t, int64(math.MinInt64), Sub(math.MinInt64, 1))
	require.Equal(t, int64(-1), Sub(1, 2))
}

func TestTheWallIsSetWhileNoTimePasses(t *testing.T) {
	for _, one := range clockcases.Cases() {
		var s Time
		c := one.Clock()
		s.Read(c.Now())
		c.Set(one.Set)
		at := s.Read(c.Now())
		require.Equal(t, int64(one.Counts()), at, one)
		require.Equal(t, at, s.Of(c.Wall()), one)
		require.Equal(t, c.Wall(), s.Instant(at).Round(0), one)
	}
}

// An instant from elsewhere is compared with the wall clock as it is now, even if no time passed since it was set.
func TestTheWallIsSetBetweenReadingsOfOneInstant(t *testing.T) {
	var s Time
	clock := clockcases.New(true)
	s.Read(clock.Now())
	clock.Set(time.Hour)
	require.Zero(t, s.Read(clock.Now()))
	require.Equal(t, int64(10*time.Second), s.Of(clock.Wall().Add(10*time.Second)))
	require.True(t, s.Instant(0).Round(0).Equal(clock.Wall()))
}

// A clock that was never set shows the year 1. The first reading after that does not use up all time that there is.
func TestAClockThatIsSetForTheFirstTime(t *testing.T) {
	var steady Time
	steady.Read(time.Time{})
	before := steady.Read(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	require.Equal(t, before+int64(time.Minute), steady.Read(time.Date(2030, 1, 1, 0, 1, 0, 0, time.UTC)))
}
