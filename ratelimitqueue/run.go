package ratelimitqueue

import (
	"context"
	"errors"

	"k8s.io/utils/clock"
)

// errEnded is why the item of a goroutine that ended itself is retried.
var errEnded = errors.New("ratelimitqueue: the work ended its goroutine")

// run works on what take hands out until the context ends.
func (c *core[K, V]) run(ctx context.Context, take func() (it Item[K, V], work func(), ok bool)) error {
	timers, ok := c.clock.(clock.Clock)
	if !ok {
		return errors.New("ratelimitqueue: Run needs a clock with timers")
	}
	defer c.kick() // this Run may be the only one that knew when to look
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if item, work, ok := take(); ok {
			c.kick() // what is left is for a Run that is idle
			c.work(item, work)
			continue
		}
		wait, ok := c.wait()
		if !ok {
			select {
			case <-ctx.Done():
			case <-c.wake:
			}
			continue
		}
		timer := timers.NewTimer(max(wait, 0))
		select {
		case <-ctx.Done():
		case <-c.wake:
		case <-timer.C():
		}
		timer.Stop()
	}
}

// work runs the user's function for an item and ends the item, however the function ends.
func (c *core[K, V]) work(item Item[K, V], work func()) {
	returned := false
	defer func() {
		if returned {
			return
		}
		err := errEnded
		if value := recover(); value != nil {
			err = panicError(value)
			c.panicked(item.Key, value)
		}
		item.Fail(err) // void when the function has ended it
	}()
	work()
	returned = true
	item.Done() // likewise
}
