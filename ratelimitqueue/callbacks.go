package ratelimitqueue

import (
	"fmt"
	"runtime/debug"
)

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
