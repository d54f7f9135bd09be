package ratelimitqueue

import (
	"time"

	"github.com/evictkit/evictkit/internal/steady"
)

// take hands out the item whose turn it is into it, which is zero, and returns its line. Items are large, so they are not
// passed from one function to the next. c.mu is held, but released while user code runs.
func (c *core[K, V]) take(it *Item[K, V], now int64) (line int32, ok bool) {
	n, i, ok := c.first(now)
	if ok && c.config.Permission != nil {
		if ok = c.permitted(now); ok {
			n, i, ok = c.first(now) // the lock was released while asking
		}
	}
	if ok && c.prefer != nil {
		n, i, ok = c.preferred(n, i, now)
	}
	if ok {
		c.hand(it, n, i, now)
	}
	return n, ok
}

// first returns the item that is handed out next, and its line. c.mu is held.
func (c *core[K, V]) first(now int64) (n, i int32, ok bool) {
	if len(c.pauses) > 0 || c.permission.closed(now) || !c.cap.ready(now) {
		return 0, 0, false
	}
	if c.fleet != nil {
		if n, ok = c.fleet.first(c.lines, now, c.full()); !ok {
			return 0, 0, false
		}
	}
	l := c.lines[n]
	if i, ok = l.first(now); !ok {
		return 0, 0, false
	}
	return n, i, l.bucket.ready(now)
}

// full reports whether as many items are in flight as the bound allows. c.mu is held.
func (c *core[K, V]) full() bool { return c.bound != unbounded && c.out >= c.bound }

// preferred lets the user choose among the due items of the line whose turn it is. c.mu is held, but released while it
// asks. If meanwhile another line has got the turn, it asks again about that line's items.
func (c *core[K, V]) preferred(n, i int32, now int64) (int32, int32, bool) {
	for {
		if c.records.At(i).exempt {
			return n, i, true
		}
		due := c.dueIn(c.lines[n], now)
		if len(due) < 2 {
			return n, i, true
		}
		key, chosen := c.askPreference(n, due)
		was := n
		var ok bool
		if n, i, ok = c.first(now); !ok {
			return 0, 0, false
		}
		if n != was {
			continue
		}
		if !chosen || c.records.At(i).exempt {
			return n, i, true
		}
		if j, known := c.records.Find(key); known && c.waits(j, n, now) {
			i = j
		}
		return n, i, true
	}
}

// waits reports whether key i could be handed out from line n instead of the line's first. c.mu is held.
func (c *core[K, V]) waits(i, n int32, now int64) bool {
	r := c.records.At(i)
	return r.state == StateWaiting && r.line == n && !r.exempt && r.due <= now && c.places.Has(i)
}

// dueIn returns the due keys of the line, in order. c.mu is held.
func (c *core[K, V]) dueIn(l *line, now int64) []K {
	var numbers []int32
	l.due.Until(now, func(number int32, _ int64) { numbers = append(numbers, number) })
	return c.inOrder(numbers)
}

// askPreference asks the user, with no lock held. A panic means no preference.
func (c *core[K, V]) askPreference(n int32, due []K) (key K, chosen bool) {
	ask := c.prefer(n)
	c.mu.Unlock()
	defer c.mu.Lock()
	defer func() {
		if value := recover(); value != nil {
			c.panicked(due[0], value)
			chosen = false
		}
	}()
	return ask(due), true
}

// hand gives the item to a new holder, and spends a token of the line and one of all lines. c.mu is held.
func (c *core[K, V]) hand(it *Item[K, V], n, i int32, now int64) {
	l, r := c.lines[n], c.records.At(i)
	l.heap(r.exempt).Remove(i)
	l.bucket.take(now)
	c.cap.take(now)
	c.holders++
	t := c.try(r)
	t.holder = c.holders
	c.become(r, StateInFlight)
	*c.outOf(r.exempt)++
	c.stats.HandedOut++
	c.stats.LastLateness = time.Duration(steady.Sub(now, r.due))
	c.stats.MaxLateness = max(c.stats.MaxLateness, c.stats.LastLateness)
	if c.fleet != nil {
		c.fleet.serve(l)
		c.changed(n)
	}
	it.Key, it.Value, it.Identity = c.records.Key(i), r.value, r.identity
	it.Added, it.Due, it.Attempts = c.time.Instant(r.added), c.time.Instant(r.due), int(t.attempts)
	it.core, it.number, it.holder, it.attempts, it.exempt, it.from = c, i, t.holder, t.attempts, r.exempt, l
}

// outOf returns the counter of holders for exempt items or for the others.
func (c *core[K, V]) outOf(exempt bool) *int {
	if exempt {
		return &c.exemptOut
	}
	return &c.out
}

// Next returns the exact instant, not before now, at which Take next succeeds if nothing changes. It is false if Take
// would never succeed: nothing waits, the rate is 0, or everything is paused. If permission was refused, it is
// not before the instant at which permission is asked again.
func (c *core[K, V]) Next() (time.Time, bool) { return c.NextAt(c.clock.Now()) }

// NextAt is Next at that reading of the clock.
func (c *core[K, V]) NextAt(now time.Time) (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next, ok := c.next(c.time.Read(now))
	if !ok {
		return time.Time{}, false
	}
	return c.time.Instant(next), true
}

func (c *core[K, V]) next(now int64) (at int64, ok bool) {
	switch {
	case len(c.pauses) > 0:
		return 0, false
	case c.fleet != nil:
		at, ok = c.fleet.next(now, c.full())
	case !c.full():
		at, ok = c.lines[0].next(now, false)
	}
	if !ok {
		return 0, false
	}
	if at, ok = c.cap.next(at); !ok {
		return 0, false
	}
	if c.permission.closed(at) {
		at = c.permission.until
	}
	return at, true
}

// Wait returns how long it is until Next, for reconcilers to use as RequeueAfter. It is at least one nanosecond if Take
// succeeds now or later, and 0 if it cannot succeed before something is added or changed. RequeueAfter 0 means "do not
// come back", which is right then, because whatever changes the queue causes its own reconcile.
func (c *core[K, V]) Wait() time.Duration {
	wait, ok := c.wait()
	if !ok {
		return 0
	}
	return max(wait, 1)
}

// wait returns how long it is until Next.
func (c *core[K, V]) wait() (time.Duration, bool) {
	reading := c.clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.time.Read(reading)
	next, ok := c.next(now)
	return time.Duration(steady.Sub(next, now)), ok
}
