package ratelimitqueue

import "github.com/evictkit/evictkit/internal/slots"

// take hands out the item whose turn it is. The lock is held, but released while user code runs.
func (c *core[K, V]) take(now int64) (it Item[K, V], ok bool) {
	s := c.first(now)
	if s != nil && c.prefer != nil {
		s = c.preferred(s, now)
	}
	if s == nil {
		return it, false
	}
	return c.hand(s, now), true
}

// first returns the item that is handed out next, or nil. The lock is held.
func (c *core[K, V]) first(now int64) *slots.Slot[K, V, *line[K, V]] {
	if !c.cap.ready(now) {
		return nil
	}
	l := c.fleet.first(now)
	if l == nil || !l.bucket.ready(now) { // it had a token at a later reading of the clock
		return nil
	}
	return l.first(now)
}

// preferred lets the user choose among the due items of the line whose turn it is. The lock is held, but released while it
// asks. If meanwhile another line has got the turn, it asks again about that line's items.
func (c *core[K, V]) preferred(s *slots.Slot[K, V, *line[K, V]], now int64) *slots.Slot[K, V, *line[K, V]] {
	for s != nil && !s.Exempt {
		l := s.Line
		due := l.dueKeys(now)
		if len(due) < 2 {
			return s
		}
		key, chosen := c.askPreference(l.domain, due)
		if s = c.first(now); s == nil || s.Line != l {
			continue
		}
		if other := c.table.Get(key); chosen && !s.Exempt && other != nil && l.has(other, now) {
			return other
		}
		return s
	}
	return s
}

// has reports whether the item could be handed out from the line instead of its first. The lock is held.
func (l *line[K, V]) has(s *slots.Slot[K, V, *line[K, V]], now int64) bool {
	return s.Line == l && s.Due <= now && s.Place.In()
}

// dueKeys returns the due keys of the line, in order. The lock is held.
func (l *line[K, V]) dueKeys(now int64) []K {
	var waiting []*slots.Slot[K, V, *line[K, V]]
	l.due.Until(now, func(s *slots.Slot[K, V, *line[K, V]]) { waiting = append(waiting, s) })
	return slots.Keys(waiting)
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
func (c *core[K, V]) hand(s *slots.Slot[K, V, *line[K, V]], now int64) Item[K, V] {
	l := s.Line
	l.heap(s.Exempt).Remove(&s.Place)
	l.bucket.take(now)
	c.cap.take(now)
	c.fleet.serve(l)
	return Item[K, V]{
		Key: s.Key, Value: s.Value, Due: c.table.Instant(s.Due), Attempts: s.Attempts(),
		core: c, hold: c.table.Hand(s), from: l,
	}
}
