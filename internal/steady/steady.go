// Package steady turns readings of a clock into nanoseconds that never go back, by one rule for every package:
//
// Elapsed time is what counts. Between two readings that both have a monotonic part, as those of the real clock do, that
// part alone tells how much time passed; setting the wall clock means nothing. Between others the wall tells: forward is
// time, back means that none passed, and what follows counts from there.
//
// An instant of somebody else's (a creation, a due time from an API object) has no monotonic part. It is compared once,
// with the reading at which it is seen, and is an age or a remaining time from then on.
package steady

import (
	"math"
	"time"
)

// Time is the steady time of one owner, 0 at its first reading. It is not safe for concurrent use. The zero Time is
// ready.
type Time struct {
	last    time.Time
	elapsed int64
	read    bool
}

// Read takes a reading of the clock and returns the steady time. A reading with a monotonic part that is earlier than
// one before was taken before it, by another goroutine, and counts as that one.
func (t *Time) Read(now time.Time) int64 {
	if !t.read {
		t.last, t.read = now, true
		return t.elapsed
	}
	if now == t.last { // a clock that stands still, as in simulations, is read very often
		return t.elapsed
	}
	switch passed := now.Sub(t.last); {
	case passed >= 0: // the wall may have been set also where no time passed
		t.elapsed = Add(t.elapsed, passed)
		t.last = now
	case passed < 0 && !(monotonic(now) && monotonic(t.last)):
		t.last = now
	}
	return t.elapsed
}

// Late says whether a reading shows less than the last one. Then it may have been taken before that, by another
// goroutine, or somebody has set the clock back, and without monotonic parts nothing but a new reading tells: an owner
// whose goroutines read the clock before they take his lock takes one under it then, or time would count twice.
func (t *Time) Late(now time.Time) bool { return now.Before(t.last) }

// Elapsed is the steady time of the last reading.
func (t *Time) Elapsed() int64 { return t.elapsed }

// Of is the steady time of an instant as the clock's last reading tells it, far ones cut off at what fits.
func (t *Time) Of(instant time.Time) int64 { return Add(t.elapsed, instant.Sub(t.last)) }

// Instant is what the clock shows at that steady time if nobody sets it meanwhile.
func (t *Time) Instant(steady int64) time.Time {
	return t.last.Add(time.Duration(Sub(steady, t.elapsed)))
}

// Add adds without overflow: what is too far away is at the end of time.
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

// Sub is a less b, likewise.
func Sub(a, b int64) int64 {
	if b == math.MinInt64 {
		if a >= 0 {
			return math.MaxInt64
		}
		return a - b
	}
	return Add(a, time.Duration(-b))
}

// monotonic says whether a reading has a monotonic part: Round strips it.
func monotonic(t time.Time) bool { return t != t.Round(0) }
