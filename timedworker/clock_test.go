package timedworker

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/internal/clockcases"
)

// look has the Set read the clock, as scheduling does.
func look[K comparable, V any](s *Set[K, V]) {
	s.table.Read()
	s.table.Unlock()
}

// setOn returns a Set on that clock, and what ran, with the elapsed time.
func setOn(t *testing.T, c *clockcases.Clock) (s *Set[string, int], ran *[]string) {
	ran = new([]string)
	s, err := New(func(_ context.Context, w Work[string, int]) Result {
		*ran = append(*ran, w.Key)
		return Forget()
	}, Config{Clock: c})
	require.NoError(t, err)
	return s, ran
}

// The wall clock is set between scheduling and the due time: no due time changes, however it was given.
func TestWallIsSetWhileWorkWaits(t *testing.T) {
	for _, one := range clockcases.Cases() {
		t.Run(one.String(), func(t *testing.T) {
			c := one.Clock()
			s, ran := setOn(t, c)
			const far = 48 * time.Hour
			s.Schedule("reading", 1, c.Now().Add(far))
			s.Schedule("API", 1, c.Wall().Add(far))
			c.Pass(time.Hour)
			look(s)
			c.Set(one.Set)
			look(s)
			left := far - time.Hour - one.Counts()
			next, ok := s.Next()
			require.True(t, ok)
			require.Equal(t, left, next.Sub(c.Now()))
			for _, key := range []string{"reading", "API"} {
				st, _ := s.Get(key)
				require.Equal(t, left, st.Due.Sub(c.Now()))
			}
			for _, st := range s.All() {
				require.Equal(t, left, st.Due.Sub(c.Now()))
			}
			c.Pass(left - 1)
			_, err := s.Step(context.Background())
			require.NoError(t, err)
			require.Empty(t, *ran, "nothing runs early")
			c.Pass(1)
			_, err = s.Step(context.Background())
			require.NoError(t, err)
			require.Equal(t, []string{"reading", "API"}, *ran)
		})
	}
}

// readLate is a clock whose reading in one goroutine is overtaken by another goroutine's.
type readLate struct {
	*clockcases.Clock
	meanwhile func()
}

func (c *readLate) Now() time.Time {
	now := c.Clock.Now()
	if f := c.meanwhile; f != nil {
		c.meanwhile = nil
		f()
	}
	return now
}

// Without monotonic readings, a late reading looks like a clock that was set back. No time may count twice for it.
func TestReadingThatComesLate(t *testing.T) {
	for _, monotonic := range []bool{true, false} {
		c := &readLate{Clock: clockcases.New(monotonic)}
		s, err := New(func(context.Context, Work[string, int]) Result { return Forget() }, Config{Clock: c})
		require.NoError(t, err)
		s.Schedule("k", 1, c.Now().Add(time.Hour))
		left := func() time.Duration {
			next, _ := s.Next()
			return next.Sub(c.Now())
		}
		c.meanwhile = func() {
			c.Pass(50 * time.Minute)
			look(s)
			require.Equal(t, 10*time.Minute, left())
		}
		s.Schedule("other", 1, c.Now().Add(3*time.Hour)) // reads the clock before the other one, and takes the lock after it
		require.Equal(t, 10*time.Minute, left())
		c.Pass(5 * time.Minute)
		look(s)
		require.Equal(t, 5*time.Minute, left())
	}
}

func TestInstantsThatAreFarAway(t *testing.T) {
	c := clockcases.New(true)
	s, ran := setOn(t, c)
	s.Schedule("never", 1, time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC))
	s.Schedule("year 1", 1, time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC))
	s.Schedule("Unix 0", 1, time.Unix(0, 0))
	next, _ := s.Next()
	require.Less(t, next.Sub(c.Now()), -200*365*24*time.Hour, "Next may have passed")
	_, err := s.Step(context.Background())
	require.NoError(t, err)
	require.Equal(t, []string{"year 1", "Unix 0"}, *ran)
	next, _ = s.Next()
	require.Greater(t, next.Sub(c.Now()), 200*365*24*time.Hour)
}
