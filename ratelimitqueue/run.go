package ratelimitqueue

import (
	"context"
	"errors"

	"k8s.io/utils/clock"
)

// errEnded is the error of a try whose goroutine was ended by runtime.Goexit.
var errEnded = errors.New("ratelimitqueue: the work ended its goroutine")

// run calls take and does the work it returns, until the context ends.
func (c *core[K, V]) run(ctx context.Context, take func() (it Item[K, V], work func(), ok bool)) error {
	timers, ok := c.clock.(clock.Clock)
	if !ok {
		return errors.New("ratelimitqueue: Run needs a clock with timers")
	}
	defer c.kick() // this Run may have taken the only signal; pass it on
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if item, work, ok := take(); ok {
			c.kick() // wakes an idle Run for the remaining items
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

// work calls the user's function for an item and ends the item, however the function ends.
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
		item.Fail(err) // no effect if the function has ended the item
	}()
	work()
	returned = true
	item.Done() // likewise
}
