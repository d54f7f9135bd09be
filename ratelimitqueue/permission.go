package ratelimitqueue

import (
	"fmt"
	"runtime/debug"

	"github.com/evictkit/evictkit/internal/steady"
)

// permission is the last answer of Config.Permission.
type permission struct {
	err   error
	until int64  // a refusal stands until then
	kicks uint64 // how often Kick was called
}

func (p *permission) closed(now int64) bool { return p.err != nil && now < p.until }

// permitted asks for permission unless a refusal still stands. c.mu is held, but released while it asks.
func (c *core[K, V]) permitted(now int64) bool {
	if c.config.Permission == nil {
		return true
	}
	if c.permission.closed(now) {
		return false
	}
	kicks := c.permission.kicks
	err := c.askPermission()
	c.permission.err, c.permission.until = err, steady.Add(now, c.config.PermissionInterval)
	if c.permission.kicks != kicks {
		c.permission.until = now // the answer may be older than the kick: ask again
	}
	return err == nil
}

func (c *core[K, V]) askPermission() (err error) {
	c.mu.Unlock()
	defer c.mu.Lock() // even if the user's code ends the goroutine
	defer func() {
		if value := recover(); value != nil {
			c.panicked(nil, value)
			err = fmt.Errorf("permission panicked: %v", value)
		}
	}()
	return c.config.Permission()
}

// Kick ends a refusal: the next Take or Add asks for permission again without waiting for PermissionInterval.
func (c *core[K, V]) Kick() {
	c.mu.Lock()
	c.permission.err = nil
	c.permission.kicks++
	c.mu.Unlock()
	c.kick()
}

// tellError calls OnError. No lock is held.
func (c *core[K, V]) tellError(key K, err error) {
	if c.config.OnError == nil {
		return
	}
	defer func() {
		if value := recover(); value != nil {
			c.panicked(key, value)
		}
	}()
	c.config.OnError(key, err)
}

// panicked counts a panic in the user's code and calls OnPanic. It is called while the panic unwinds. No lock is held.
func (c *core[K, V]) panicked(key, value any) {
	c.seePanic(value)
	if c.config.OnPanic == nil {
		return
	}
	defer func() {
		if value := recover(); value != nil {
			c.seePanic(value)
		}
	}()
	c.config.OnPanic(key, value, debug.Stack())
}

func (c *core[K, V]) seePanic(value any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.Panicked++
	c.stats.LastError, c.stats.LastErrorAt = panicError(value), c.time.Instant(c.time.Elapsed())
}

func panicError(value any) error { return fmt.Errorf("ratelimitqueue: panic: %v", value) }
