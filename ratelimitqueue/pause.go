package ratelimitqueue

import (
	"slices"
	"time"
)

// Pause stops handing out until Resume is called with the same reason. Several reasons may be in force; the same one
// twice is one. Unlike at rate 0, tokens are kept, but none accrue. Adding and removing go on.
func (c *core[K, V]) Pause(reason string) { c.PauseAt(reason, c.clock.Now()) }

// PauseAt is Pause at that reading of the clock.
func (c *core[K, V]) PauseAt(reason string, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.time.Read(now)
	if !pause(&c.pauses, reason) || len(c.pauses) > 1 {
		return
	}
	c.cap.freeze(at)
	c.eachLine(func(l *line[K, V]) { l.bucket.freeze(at) })
}

// Resume ends a Pause with that reason and reports whether there was one.
func (c *core[K, V]) Resume(reason string) bool { return c.ResumeAt(reason, c.clock.Now()) }

// ResumeAt is Resume at that reading of the clock.
func (c *core[K, V]) ResumeAt(reason string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.time.Read(now)
	if !resume(&c.pauses, reason) {
		return false
	}
	if len(c.pauses) == 0 {
		c.cap.thaw(at)
		c.eachLine(func(l *line[K, V]) { c.thaw(l, at) })
		c.kick()
	}
	return true
}

// Paused returns the reasons in force, oldest first.
func (c *core[K, V]) Paused() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.pauses)
}

// eachLine changes every line; c.mu is held.
func (c *core[K, V]) eachLine(change func(l *line[K, V])) {
	for l := range c.lines {
		change(l)
		c.changed(l)
	}
}
