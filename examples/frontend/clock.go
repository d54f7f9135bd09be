package frontend

import (
	"sync"
	"testing/synctest"
	"time"
)

// Clock is the bubble's clock. SetTime lets virtual time pass, and the controllers run meanwhile. It stops when they have
// written something, once they have nothing more to do at that instant. Whoever uses the world holds the lock.
type Clock struct {
	sync.Mutex
	written chan struct{}
	all     bool // when time has passed, whoever has something to do at that instant comes before the world
}

// NewClock returns a clock. Its lock is free.
func NewClock(all bool) *Clock { return &Clock{written: make(chan struct{}, 1), all: all} }

// Now is the time in the bubble.
func (c *Clock) Now() time.Time { return time.Now() }

// Since is the time from then to now.
func (c *Clock) Since(t time.Time) time.Duration { return time.Since(t) }

// SetTime waits, with the lock released: who sleeps with a lock that others wait for stops time for ever.
func (c *Clock) SetTime(t time.Time) {
	d := time.Until(t)
	if c.all && d <= 0 {
		return
	}
	c.Unlock()
	defer c.Lock()
	reached := time.NewTimer(d)
	defer reached.Stop()
	select {
	case <-reached.C:
		if !c.all {
			return
		}
	case <-c.written:
	}
	synctest.Wait()
}

// Wrote tells the clock that something was written.
func (c *Clock) Wrote() {
	select {
	case c.written <- struct{}{}:
	default: // it knows
	}
}
