package ratelimitqueue

import (
	"time"

	"github.com/evictkit/evictkit/internal/backoff"
	"github.com/evictkit/evictkit/internal/steady"
)

// Item is what Take hands out. Its holder ends it once, with Done, Keep, Drop, Retry, RetryAfter, Blocked or Fail; no
// lock is held until then. Ending has no effect if the key was meanwhile removed or replaced by another identity, or if
// the item has ended before.
type Item[K comparable, V any] struct {
	Key      K
	Value    V
	Identity string
	// Added is when it was added, Due when it was due.
	Added, Due time.Time
	// Attempts is how many earlier tries failed.
	Attempts int

	core     *core[K, V]
	record   *record[K, V] // of this key only until this holder has ended
	attempts int32
	holder   uint64
	exempt   bool
	unused   bool
	unspent  bool
	from     *line[K, V] // in which it waited
	reading  time.Time
}

// Ended is the result of ending an item.
type Ended struct {
	// Held: the holder still held the item, and the ending took effect. It is false if the key was removed or replaced
	// meanwhile, or the item had ended before.
	Held bool
	// Newer: something newer was added for the key while it was in flight.
	Newer bool
}

// At returns the item such that it ends at that reading of the clock. Use it to read the clock once for many items.
func (it Item[K, V]) At(now time.Time) Item[K, V] {
	it.reading = now
	return it
}

// Unused returns the item such that ending it gives back the token of GroupConfig.MaxRate. Use it if nothing was done
// that MaxRate should limit. The token of its own queue or domain stays spent, so that finding nothing to do goes no
// faster than doing it.
func (it Item[K, V]) Unused() Item[K, V] {
	it.unused = true
	return it
}

// Unspent is Unused that also gives back the token of its own queue or domain, if the item is still held and its key has
// not moved to another domain. It is for an item that may not be worked on yet: the next in line is handed out at once.
func (it Item[K, V]) Unspent() Item[K, V] {
	it.unused, it.unspent = true, true
	return it
}

// Held reports whether the item is still wanted: false once its key is removed or replaced, or the item has ended.
func (it Item[K, V]) Held() bool {
	c := it.core
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return it.record.state == StateInFlight && it.record.holder() == it.holder
}

// Done ends the item as finished. The key is forgotten; an entry added meanwhile gets its turn (see Again).
func (it Item[K, V]) Done() Ended { return end(&it, ending{kind: done}) }

// Keep ends the item as finished, and the key stays known until Remove. Adding it returns Kept and changes nothing, and
// an entry added meanwhile gets no turn. The value is not kept.
func (it Item[K, V]) Keep() Ended { return end(&it, ending{kind: keep}) }

// Drop ends the item as no longer wanted. It differs from Done only in Stats.
func (it Item[K, V]) Drop() Ended { return end(&it, ending{kind: drop}) }

// Retry ends a failed try: the item waits again, as long as Config.Backoff says. It keeps its place among items that are
// due at the same time. The next try costs a token too. If an entry was added meanwhile, its OnDuplicate decides between
// the two.
func (it Item[K, V]) Retry() Ended { return end(&it, ending{kind: retry, backs: true}) }

// RetryAfter is Retry after d instead of the backoff. A negative d counts as 0.
func (it Item[K, V]) RetryAfter(d time.Duration) Ended {
	return end(&it, ending{kind: retry, after: max(d, 0)})
}

// Blocked ends a try that was not permitted yet: the item waits again for d (a negative d counts as 0). It is no failure:
// attempts and backoff do not grow. Blocked(0) means "retry now".
func (it Item[K, V]) Blocked(d time.Duration) Ended {
	return end(&it, ending{kind: blocked, after: max(d, 0)})
}

// Fail is Done for nil, Drop for an error marked by Final, and Retry for any other error. Get and Stats show the error,
// and Config.OnError is called with it.
func (it Item[K, V]) Fail(err error) Ended {
	switch {
	case err == nil:
		return it.Done()
	case backoff.IsFinal(err):
		return end(&it, ending{kind: drop, err: err})
	}
	return end(&it, ending{kind: retry, backs: true, err: err})
}

// Final marks an error that retrying cannot fix. Nil stays nil.
func Final(err error) error { return backoff.Final(err) }

// ending is how an item ends.
type ending struct {
	kind  kind
	backs bool // take after from the backoff
	after time.Duration
	err   error
}

type kind uint8

const (
	done kind = iota
	keep
	drop
	retry
	blocked
)

// end ends the item, and reports its error with no lock held.
func end[K comparable, V any](it *Item[K, V], e ending) Ended {
	c := it.core
	if c == nil {
		return Ended{}
	}
	if e.backs {
		e.after = c.config.Backoff.Delay(int(it.attempts)+1, func(value any) { c.panicked(it.Key, value) })
	}
	reading := it.reading
	if reading.IsZero() && (e.kind >= retry || e.err != nil) {
		reading = c.clock.Now()
	}
	ended, first := c.end(it, e, reading)
	if first && e.err != nil {
		c.tellError(it.Key, e.err)
	}
	return ended
}

// end also says whether this is the holder's first ending.
func (c *core[K, V]) end(it *Item[K, V], e ending, reading time.Time) (ended Ended, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.time.Elapsed()
	if !reading.IsZero() {
		now = c.time.Read(reading)
	}
	r := it.record
	if it.holder != r.holder() {
		return Ended{}, false
	}
	*c.outOf(it.exempt)--
	if it.unused {
		c.cap.giveBack(now)
		c.kick()
	}
	if it.unspent && r.state == StateInFlight && r.line == it.from {
		r.line.bucket.giveBack(now)
		c.changed(r.line)
	}
	if e.err != nil {
		c.stats.LastError, c.stats.LastErrorAt = e.err, c.time.Instant(now)
	}
	r.tried.holder = 0
	if r.state == StateInFlight {
		return c.endHeld(r, e, now), true
	}
	return c.endVoid(r), true
}

// endVoid ends an item whose key was removed, and lets a newer item of the key go on that waited for it. c.mu is held.
func (c *core[K, V]) endVoid(r *record[K, V]) Ended {
	if r.state == 0 {
		c.untry(r)
		c.records.Delete(r.key, r)
		c.roomLeft()
		return Ended{}
	}
	c.queue(r)
	return Ended{Newer: true}
}

// endHeld ends an item that is still wanted. c.mu is held.
func (c *core[K, V]) endHeld(r *record[K, V], e ending, now int64) Ended {
	n := r.tried.newer
	ended := Ended{Held: true, Newer: n != nil}
	c.note(r, e)
	switch e.kind {
	case keep:
		c.keep(r)
	case done, drop:
		c.untry(r)
		if n == nil {
			c.become(r, 0)
			c.changed(r.line)
			c.records.Delete(r.key, r)
			break
		}
		r.replace(n.value, n.due, n.exempt)
		r.added, r.seq = n.added, n.seq
		c.become(r, StateWaiting)
		c.queue(r)
	default:
		r.due = steady.Add(now, e.after)
		if n != nil {
			if !n.policy.keeps(r.tried.asked, n.due) {
				r.replace(n.value, n.due, n.exempt)
			}
			r.tried.newer = nil
		}
		c.become(r, StateWaiting)
		c.queue(r)
	}
	c.roomLeft()
	return ended
}

// keep makes the record a kept one, without its value. c.mu is held.
func (c *core[K, V]) keep(r *record[K, V]) {
	var zero V
	r.value, r.exempt = zero, false
	c.untry(r)
	c.become(r, StateKept)
}

// roomLeft is called when fewer items are in flight. c.mu is held.
func (c *core[K, V]) roomLeft() {
	if c.bound != unbounded {
		c.kick()
	}
}

// note counts the ending and remembers its error. c.mu is held.
func (c *core[K, V]) note(r *record[K, V], e ending) {
	switch e.kind {
	case done, keep:
		c.stats.Done++
	case drop:
		c.stats.Dropped++
	case retry:
		r.tried.attempts++
		c.stats.Retried++
	case blocked:
		c.stats.Blocked++
	}
	if e.err != nil {
		r.tried.err = e.err
	}
}
