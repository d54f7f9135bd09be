package clockcases

import (
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Clock is a fake clock. It starts at Start and changes only with Pass and Set. All methods are safe for concurrent
// use.
type Clock struct {
	monotonic bool

	mu      sync.Mutex // guards what follows
	elapsed time.Duration
	set     time.Duration // the wall clock is at Start plus elapsed plus set
	timers  []*timer      // those that have not fired
}

var _ clock.Clock = (*Clock)(nil)

// Start is what a new Clock shows.
var Start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// New returns a clock whose readings have a monotonic part or not.
func New(monotonic bool) *Clock { return &Clock{monotonic: monotonic} }

// Now returns the clock's reading.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now()
}

func (c *Clock) now() time.Time {
	wall := Start.Add(c.elapsed + c.set)
	if c.monotonic {
		return withMonotonic(wall, c.elapsed)
	}
	return wall
}

// Since returns Now minus a reading.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Wall returns the reading without a monotonic part, as an API object written now would contain it.
func (c *Clock) Wall() time.Time { return c.Now().Round(0) }

// Set sets the wall clock forward by d, or back if d is negative. No time passes and no timer fires.
func (c *Clock) Set(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set += d
}

// Pass lets time pass. Timers fire in order, each at the instant it is set to.
func (c *Clock) Pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	end := c.elapsed + d
	for len(c.timers) > 0 && c.timers[0].at <= end {
		first := c.timers[0]
		c.timers = c.timers[1:]
		c.elapsed = max(c.elapsed, first.at)
		first.fire()
	}
	c.elapsed = end
}

// Timers returns how many timers have not fired.
func (c *Clock) Timers() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.timers)
}

// NewTimer returns a timer that fires once d has passed, or at once if d is not positive.
func (c *Clock) NewTimer(d time.Duration) clock.Timer {
	t := &timer{clock: c, fired: make(chan time.Time, 1)}
	t.Reset(d)
	return t
}

// After returns the channel of a new timer.
func (c *Clock) After(d time.Duration) <-chan time.Time { return c.NewTimer(d).C() }

// Sleep returns once d has passed. Another goroutine must call Pass.
func (c *Clock) Sleep(d time.Duration) { <-c.After(d) }

// Tick panics: nothing that is tested needs it so far.
func (c *Clock) Tick(time.Duration) <-chan time.Time {
	panic("clockcases: no ticker") //nolint:forbidigo // a test that needs one should say so at once
}

type timer struct {
	clock *Clock
	fired chan time.Time
	at    time.Duration // by the clock's elapsed
}

// fire sends the time; clock.mu is held.
func (t *timer) fire() {
	select {
	case t.fired <- t.clock.now():
	default:
	}
}

// C returns the channel on which the timer fires.
func (t *timer) C() <-chan time.Time { return t.fired }

// Stop stops the timer and reports whether it was still waiting. After it, nothing is received from C.
func (t *timer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	return t.stop()
}

func (t *timer) stop() bool {
	select {
	case <-t.fired:
	default:
	}
	i := slices.Index(t.clock.timers, t)
	if i < 0 {
		return false
	}
	t.clock.timers = slices.Delete(t.clock.timers, i, i+1)
	return true
}

// Reset starts the timer again, and reports whether it was still waiting.
func (t *timer) Reset(d time.Duration) bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	waited := t.stop()
	if d <= 0 {
		t.fire()
		return waited
	}
	t.at = t.clock.elapsed + d
	if t.at < t.clock.elapsed {
		return waited // too far to represent: it never fires
	}
	place, _ := slices.BinarySearchFunc(t.clock.timers, t.at+1, func(one *timer, at time.Duration) int { return int(min(max(one.at-at, -1), 1)) })
	t.clock.timers = slices.Insert(t.clock.timers, place, t)
	return waited
}
