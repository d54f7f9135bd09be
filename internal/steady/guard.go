package steady

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Guard is a mutex, and the steady time of a clock, which it guards. Give it a Clock before its first use.
type Guard struct {
	sync.Mutex
	Clock clock.PassiveClock
	Time  Time
}

// Read takes the mutex, which must not be held, reads the clock and returns the steady time.
func (g *Guard) Read() (now int64) { return g.ReadAt(g.Now()) }

// Now reads the clock.
func (g *Guard) Now() time.Time {
	if g.Clock == nil {
		panic(Unmade) //nolint:forbidigo // a bug of the caller's
	}
	return g.Clock.Now()
}

// Unmade is the panic of a value that has no clock, because nobody made it.
const Unmade = "a zero value was used: make it with the function New… of its type"

// ReadAt is Read with a reading of the clock that was taken before, without the mutex, to hold that for a shorter time. If
// it is earlier than the last one, either another goroutine has read the clock since, or the clock was set back. Only a
// reading taken under the mutex shows which.
func (g *Guard) ReadAt(reading time.Time) (now int64) {
	g.Lock()
	if g.Time.Late(reading) {
		reading = g.again()
	}
	return g.Time.Read(reading)
}

// again reads the clock under the mutex, and releases that if the clock, which is the user's, panics.
func (g *Guard) again() (reading time.Time) {
	read := false
	defer func() {
		if !read {
			g.Unlock()
		}
	}()
	reading = g.Clock.Now()
	read = true
	return reading
}
