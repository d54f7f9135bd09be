package environment

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
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
	lead        time.Duration
}

// steady returns a steady clock over another, or over the real one.
func steady(below clock.PassiveClock) *Clock {
	if below == nil {
		below = clock.RealClock{}
	}
	timers, _ := below.(clock.Clock)
	return &Clock{Clock: timers, below: below}
}

// Reading is what the clock showed once: the time that had passed, and by how much the clock below was set back in all.
type Reading struct {
	Now  time.Time
	Lead time.Duration
}

// Shown is what the clock below shows at an instant, unless it is set meanwhile.
func (r Reading) Shown(at time.Time) time.Time {
	if at.IsZero() {
		return at
	}
	return at.Add(-r.Lead)
}

// Due says whether what some Next announces was due then.
func (r Reading) Due(at time.Time, some bool) bool { return some && !r.Now.Before(at) }

// Read reads the clock.
func (s *Clock) Read() Reading {
	s.mu.Lock()
	defer s.mu.Unlock()
	read := s.below.Now()
	s.lead += max(0, s.last.Sub(read))
	s.last = read
	return Reading{read.Add(s.lead), s.lead}
}

// Now is the time that has passed.
func (s *Clock) Now() time.Time { return s.Read().Now }

// Shown is Reading.Shown as of now.
func (s *Clock) Shown(at time.Time) time.Time { return s.Read().Shown(at) }

// Since is the time since t.
func (s *Clock) Since(t time.Time) time.Duration { return s.Now().Sub(t) }

// Below names the type of the clock below.
func (s *Clock) Below() string { return fmt.Sprintf("%T", s.below) }

// Timers says whether the clock has timers.
func (s *Clock) Timers() bool { return s.Clock != nil }

// Lock is a mutex that reads the clock when it is locked, so that nothing is decided at an old time. It knows when a
// function that Ask calls would wait for itself: then it panics instead, so that the function, which is guarded, has failed.
type Lock struct {
	Reading // when it was locked
	Around  *Environment
	mu      sync.Mutex
}

// Lock locks it.
func (l *Lock) Lock() {
	if !l.mu.TryLock() {
		l.Around.mayWait()
		l.mu.Lock()
	}
	l.Reading = l.Around.Read()
}

// Unlock unlocks it.
func (l *Lock) Unlock() { l.mu.Unlock() }

var errCalled = errors.New("evictor: a function of Options called the evictor, which holds a lock while it waits for that function")

// mayWait panics where waiting for a Lock would never end.
func (e *Environment) mayWait() {
	if e.asking.Load() > 0 && asks() {
		panic(errCalled) //nolint:forbidigo // Ask recovers it: the function that called has failed
	}
}

// asks says whether this goroutine is within Ask.
func asks() bool {
	callers := make([]uintptr, 256)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for {
		frame, more := frames.Next()
		if strings.HasSuffix(frame.Function, "(*Environment).Ask") {
			return true
		}
		if !more {
			return false
		}
	}
}

// Soonest is the earliest of some instants, or zero.
type Soonest struct{ time.Time }

// Or adds an instant.
func (s *Soonest) Or(at time.Time, some bool) {
	if some && (s.IsZero() || at.Before(s.Time)) {
		s.Time = at
	}
}
