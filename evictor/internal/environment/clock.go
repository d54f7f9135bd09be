package environment

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Clock never goes back: if the one below is set back, no time has passed.
type Clock struct {
	clock.Clock // nil unless the one below has timers
	below       clock.PassiveClock
	mu          sync.Mutex
	last        time.Time
	ahead       time.Duration
}

// steady returns a steady clock over another, or over the real one.
func steady(below clock.PassiveClock) *Clock {
	if below == nil {
		below = clock.RealClock{}
	}
	timers, _ := below.(clock.Clock)
	return &Clock{Clock: timers, below: below}
}

// Now is the time that has passed.
func (s *Clock) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	read := s.below.Now()
	s.ahead += max(0, s.last.Sub(read))
	s.last = read
	return read.Add(s.ahead)
}

// Since is the time since t.
func (s *Clock) Since(t time.Time) time.Duration { return s.Now().Sub(t) }

// Shown is what the clock below will show at an instant, unless it is set meanwhile.
func (s *Clock) Shown(at time.Time) time.Time {
	if at.IsZero() {
		return at
	}
	return at.Add(-s.Lead())
}

// Lead is by how much the clock below was set back in all.
func (s *Clock) Lead() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ahead
}

// Below names the type of the clock below.
func (s *Clock) Below() string { return fmt.Sprintf("%T", s.below) }

// Timers says whether the clock has timers.
func (s *Clock) Timers() bool { return s.Clock != nil }

// Soonest is the earliest of some instants, or zero.
type Soonest struct{ time.Time }

// Or adds an instant.
func (s *Soonest) Or(at time.Time, some bool) {
	if some && (s.IsZero() || at.Before(s.Time)) {
		s.Time = at
	}
}

// Due says whether what next announces is due now.
func Due(next func(now time.Time) (time.Time, bool), now time.Time) bool {
	at, some := next(now)
	return some && !now.Before(at)
}
