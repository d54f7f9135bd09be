// Package steady turns readings of a clock into nanoseconds that never go back. All packages use its rule:
//
// What counts is elapsed time. Between two readings with a monotonic part, as the real clock's have, only that part is
// used, and setting the wall clock means nothing. Otherwise the wall clock is used: if it goes forward, that much time
// has passed; if it goes back, no time has passed, and what follows counts from there.
//
// An instant from elsewhere (a creation time, a due time from an API object) has no monotonic part. It is compared once,
// with the reading at which it is seen, and is an age or a remaining time from then on.
package steady

import (
	"math"
	"time"
)

// Time is the steady time of one owner, 0 at its first reading. It is not safe for concurrent use. The zero Time is
// ready for use.
type Time struct {
	last    time.Time
	elapsed int64
	read    bool
}

// Read takes a reading of the clock and returns the steady time. A monotonic reading that is earlier than the last one
// was taken by another goroutine before that one; no time passes.
func (t *Time) Read(now time.Time) int64 {
	if !t.read {
		t.last, t.read = now, true
		return t.elapsed
	}
	if now == t.last { // frequent with clocks that stand still, as in simulations
		return t.elapsed
	}
	switch passed := now.Sub(t.last); {
	case passed == math.MaxInt64: // Sub saturates at 292 years, which are those of a clock that was not set yet
		t.last = now
	case passed >= 0: // even for 0, because the wall clock may have been set
		t.elapsed = Add(t.elapsed, passed)
		t.last = now
	case passed < 0 && !(Monotonic(now) && t.Monotonic()):
		t.last = now
	}
	return t.elapsed
}

// Late reports whether a reading is earlier than the last one. Then either another goroutine has read the clock since, or
// the clock was set back. Without monotonic parts only a new reading can tell, and mistaking one for the other would
// count time twice. So an owner whose goroutines read the clock before they take its lock must then read it again under
// the lock.
func (t *Time) Late(now time.Time) bool { return now != t.last && now.Before(t.last) }

// Elapsed returns the steady time of the last reading.
func (t *Time) Elapsed() int64 { return t.elapsed }

// Monotonic reports whether the last reading has a monotonic part.
func (t *Time) Monotonic() bool { return Monotonic(t.last) }

// Of returns the steady time of an instant, relative to the clock's last reading. It saturates for distant instants.
func (t *Time) Of(instant time.Time) int64 { return Add(t.elapsed, instant.Sub(t.last)) }

// Instant returns what the clock will show at that steady time if nobody sets it until then.
func (t *Time) Instant(steady int64) time.Time {
	return t.last.Add(time.Duration(Sub(steady, t.elapsed)))
}

// Add adds without overflow: it saturates.
func Add(steady int64, d time.Duration) int64 {
	sum := steady + int64(d)
	switch {
	case d > 0 && sum < steady:
		return math.MaxInt64
	case d < 0 && sum > steady:
		return math.MinInt64
	}
	return sum
}

// Sub returns a minus b. It saturates too.
func Sub(a, b int64) int64 {
	if b == math.MinInt64 {
		if a >= 0 {
			return math.MaxInt64
		}
		return a - b
	}
	return Add(a, time.Duration(-b))
}

// Monotonic reports whether an instant has a monotonic part, which Round strips. If the last reading has one too, Of needs
// no newer reading.
func Monotonic(t time.Time) bool { return t != t.Round(0) }
