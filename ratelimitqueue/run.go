package ratelimitqueue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/steady"
)

// errEnded is the error of a try whose goroutine was ended by runtime.Goexit.
var errEnded = errors.New("ratelimitqueue: the work ended its goroutine")

// run calls take and does the work it returns, until the context ends. functional says whether there is a function to work with.
func (c *core[K, V]) run(ctx context.Context, functional bool, take func() (it Item[K, V], work func(), ok bool)) error {
	c.made()
	timers, ok := c.table.Clock.(clock.Clock)
	switch {
	case ctx == nil:
		return errors.New("ratelimitqueue: Run needs a context, not nil")
	case !functional:
		return errors.New("ratelimitqueue: Run needs a function that works on the items, not nil")
	case !ok:
		return fmt.Errorf("ratelimitqueue: Run needs timers: Config.Clock must be a clock.Clock, which %T is not", c.table.Clock)
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

// wait returns how long it is until Next.
func (c *core[K, V]) wait() (time.Duration, bool) {
	now := c.table.Read()
	defer c.table.Unlock()
	next, ok := c.next(now)
	return time.Duration(steady.Sub(next, now)), ok
}

// work calls the user's function for an item and ends the item, however the function ends.
func (c *core[K, V]) work(item Item[K, V], work func()) {
	err := errEnded
	defer func() {
		if err == nil {
			return
		}
		if value := recover(); value != nil {
			err = c.table.Panicked(item.Key, value)
		}
		item.Retry(err) // no effect if the function has ended the item
	}()
	work()
	err = nil
	item.Done() // likewise
}
