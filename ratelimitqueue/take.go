package ratelimitqueue

import (
	"time"

	"github.com/evictkit/evictkit/internal/steady"
)

// take hands out the item whose turn it is into it, which is zero. Items are large, so they are not passed from one
// function to the next. c.mu is held, but released while user code runs.
func (c *core[K, V]) take(it *Item[K, V], now int64) (ok bool) {
	r := c.first(now)
	if r != nil && c.prefer != nil {
		r = c.preferred(r, now)
	}
	if r != nil {
		c.hand(it, r, now)
	}
	return r != nil
}

// first returns the item that is handed out next, or nil. c.mu is held.
func (c *core[K, V]) first(now int64) *record[K, V] {
	if len(c.pauses) > 0 || !c.cap.ready(now) {
		return nil
	}
	l := c.only
	if l == nil {
		l = c.fleet.rotation(c.full()).first(now)
	}
	if l == nil || !l.bucket.ready(now) {
		return nil
	}
	return l.first(now)
}

// full reports whether as many items are in flight as the bound allows. c.mu is held.
func (c *core[K, V]) full() bool { return c.bound != unbounded && c.out >= c.bound }

// preferred lets the user choose among the due items of the line whose turn it is. c.mu is held, but released while it
// asks. If meanwhile another line has got the turn, it asks again about that line's items.
func (c *core[K, V]) preferred(r *record[K, V], now int64) *record[K, V] {
	for {
		if r.exempt {
			return r
		}
		l := r.line
		due := l.dueKeys(now)
		if len(due) < 2 {
			return r
		}
		key, chosen := c.askPreference(l.domain, due)
		if r = c.first(now); r == nil {
			return nil
		}
		if r.line != l {
			continue
		}
		if other := c.records.Get(key); chosen && !r.exempt && other != nil && other.waits(l, now) {
			return other
		}
		return r
	}
}

// waits reports whether the record could be handed out from that line instead of the line's first. c.mu is held.
func (r *record[K, V]) waits(l *line[K, V], now int64) bool {
	return r.line == l && !r.exempt && r.due <= now && r.place.In()
}

// dueKeys returns the due keys of the line, in order. c.mu is held.
func (l *line[K, V]) dueKeys(now int64) []K {
	var records []*record[K, V]
	l.due.Until(now, func(r *record[K, V]) { records = append(records, r) })
	return inOrder(records)
}

// askPreference asks the user, with no lock held. A panic means no preference.
func (c *core[K, V]) askPreference(domain any, due []K) (key K, chosen bool) {
	c.mu.Unlock()
	defer c.mu.Lock()
	defer func() {
		if value := recover(); value != nil {
			c.panicked(due[0], value)
			chosen = false
		}
	}()
	return c.prefer(domain, due), true
}

// hand gives the item to a new holder, and spends a token of the line and one of all lines. c.mu is held.
func (c *core[K, V]) hand(it *Item[K, V], r *record[K, V], now int64) {
	l := r.line
	l.heap(r.exempt).Remove(&r.place)
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
	c.fleet.serve(l)
	c.changed(l)
	it.Key, it.Value, it.Identity = r.key, r.value, r.identity
	it.Added, it.Due, it.Attempts = c.time.Instant(r.added), c.time.Instant(r.due), int(t.attempts)
	it.core, it.record, it.holder, it.attempts, it.exempt, it.from = c, r, t.holder, t.attempts, r.exempt, l
}

// outOf returns the counter of holders for exempt items or for the others.
func (c *core[K, V]) outOf(exempt bool) *int {
	if exempt {
		return &c.exemptOut
	}
	return &c.out
}

// Next returns the exact instant, not before now, at which Take next succeeds if nothing changes. It is false if Take
// would never succeed: nothing waits, the rate is 0, or everything is paused.
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
	case c.only != nil:
		at, ok = c.only.next(now, false)
	default:
		at, ok = c.fleet.rotation(c.full()).next(now)
	}
	if !ok {
		return 0, false
	}
	if at, ok = c.cap.next(at); !ok {
		return 0, false
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
