package ratelimitqueue

import "github.com/evictkit/evictkit/internal/slots"

// take hands out the item whose turn it is into it, which is zero. Items are large, so they are not passed from one
// function to the next. The lock is held, but released while user code runs.
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

// first returns the item that is handed out next, or nil. The lock is held.
func (c *core[K, V]) first(now int64) *slots.Slot[K, V, *line[K, V]] {
	if len(c.table.Pauses) > 0 || !c.cap.ready(now) {
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

// full reports whether as many items are in flight as the bound allows. The lock is held.
func (c *core[K, V]) full() bool { return c.bound != unbounded && c.out >= c.bound }

// preferred lets the user choose among the due items of the line whose turn it is. The lock is held, but released while it
// asks. If meanwhile another line has got the turn, it asks again about that line's items.
func (c *core[K, V]) preferred(r *slots.Slot[K, V, *line[K, V]], now int64) *slots.Slot[K, V, *line[K, V]] {
	for {
		if r.Exempt {
			return r
		}
		l := r.Line
		due := l.dueKeys(now)
		if len(due) < 2 {
			return r
		}
		key, chosen := c.askPreference(l.domain, due)
		if r = c.first(now); r == nil {
			return nil
		}
		if r.Line != l {
			continue
		}
		if other := c.table.Get(key); chosen && !r.Exempt && other != nil && l.has(other, now) {
			return other
		}
		return r
	}
}

// has reports whether the item could be handed out from the line instead of its first. The lock is held.
func (l *line[K, V]) has(r *slots.Slot[K, V, *line[K, V]], now int64) bool {
	return r.Line == l && !r.Exempt && r.Due <= now && r.Place.In()
}

// dueKeys returns the due keys of the line, in order. The lock is held.
func (l *line[K, V]) dueKeys(now int64) []K {
	var records []*slots.Slot[K, V, *line[K, V]]
	l.due.Until(now, func(r *slots.Slot[K, V, *line[K, V]]) { records = append(records, r) })
	return slots.Keys(records)
}

// askPreference asks the user, with no lock held. A panic means no preference.
func (c *core[K, V]) askPreference(domain any, due []K) (key K, chosen bool) {
	c.table.Unlock()
	defer c.table.Lock()
	defer func() {
		if value := recover(); value != nil {
			_ = c.table.Panicked(due[0], value)
			chosen = false
		}
	}()
	return c.prefer(domain, due), true
}

// hand gives the item to a new holder, and spends a token of the line and one of all lines. The lock is held.
func (c *core[K, V]) hand(it *Item[K, V], r *slots.Slot[K, V, *line[K, V]], now int64) {
	l := r.Line
	l.heap(r.Exempt).Remove(&r.Place)
	l.bucket.take(now)
	c.cap.take(now)
	it.core, it.hold, it.exempt, it.from = c, c.table.Hand(r), r.Exempt, l
	*c.outOf(r.Exempt)++
	c.fleet.serve(l)
	c.changed(l)
	it.Key, it.Value, it.Identity = r.Key, r.Value, r.Identity
	it.Added, it.Due, it.Attempts = c.table.Instant(r.Added), c.table.Instant(r.Due), r.Attempts()
}

// outOf returns the counter of holders for exempt items or for the others.
func (c *core[K, V]) outOf(exempt bool) *int {
	if exempt {
		return &c.exemptOut
	}
	return &c.out
}
