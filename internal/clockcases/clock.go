package clockcases

import (
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Clock is a fake clock. It starts at Start and stands still but for Pass and Set. All methods are safe for
// concurrent use.
type Clock struct {
	monotonic bool

	mu      sync.Mutex // guards what follows
	elapsed time.Duration
	set     time.Duration // by how much the wall differs from Start plus elapsed
	timers  []*timer      // those that wait
}

var _ clock.Clock = (*Clock)(nil)

// Start is what each Clock shows at first.
var Start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// New returns a clock whose readings have a monotonic part, or have none.
func New(monotonic bool) *Clock { return &Clock{monotonic: monotonic} }

// Now is the clock's reading.
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

// Since is the time since a reading, as its difference from Now tells it.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Wall is what an object of the API that is written now would carry: the reading without a monotonic part.
func (c *Clock) Wall() time.Time { return c.Now().Round(0) }

// Set sets the wall forward by d, or back where d is below zero. No time passes and no timer fires.
func (c *Clock) Set(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set += d
}

// Pass lets time pass. Timers fire in the order of their times, each when the clock shows its own.
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

// Timers is how many timers wait.
func (c *Clock) Timers() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.timers)
}

// NewTimer returns a timer that fires once d has passed, at once where d is not above zero.
func (c *Clock) NewTimer(d time.Duration) clock.Timer {
	t := &timer{clock: c, fired: make(chan time.Time, 1)}
	t.Reset(d)
	return t
}

// After is the channel of a timer.
func (c *Clock) After(d time.Duration) <-chan time.Time { return c.NewTimer(d).C() }

// Sleep returns once d has passed, which another goroutine must let happen.
func (c *Clock) Sleep(d time.Duration) { <-c.After(d) }

// Tick is not needed by what is tested so far.
func (c *Clock) Tick(time.Duration) <-chan time.Time {
	panic("clockcases: no ticker") //nolint:forbidigo // a test that needs one should say so at once
}

type timer struct {
	clock *Clock
	fired chan time.Time
	at    time.Duration // by the clock's elapsed
}

// fire tells the time to whoever waits; clock.mu is held.
func (t *timer) fire() {
	select {
	case t.fired <- t.clock.now():
	default:
	}
}

// C is where the timer fires.
func (t *timer) C() <-chan time.Time { return t.fired }

// Stop ends the wait and says whether there was one. Nothing that has not been received is received after it.
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

// Reset waits anew, and says whether the timer waited.
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
		return waited // beyond the end of time: never
	}
	place, _ := slices.BinarySearchFunc(t.clock.timers, t.at+1, func(one *timer, at time.Duration) int { return int(min(max(one.at-at, -1), 1)) })
	t.clock.timers = slices.Insert(t.clock.timers, place, t)
	return waited
}
