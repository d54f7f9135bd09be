package health

import (
	"time"

	"k8s.io/utils/clock"
)

// steady turns instants into nanoseconds since a base, which never go back: a clock that is set back
// stands still here until it has caught up.
type steady struct {
	clock  clock.PassiveClock
	base   time.Time
	latest int64
}

func newSteady(c clock.PassiveClock) steady {
	if c == nil {
		c = clock.RealClock{}
	}
	return steady{clock: c, base: c.Now()}
}

// at is the instant of t, not before any seen earlier.
func (s *steady) at(t time.Time) int64 {
	if n := int64(t.Sub(s.base)); n > s.latest {
		s.latest = n
	}
	return s.latest
}

func (s *steady) time(n int64) time.Time { return s.base.Add(time.Duration(n)) }
