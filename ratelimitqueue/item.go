package ratelimitqueue

import (
	"time"

	"github.com/evictkit/evictkit/internal/final"
	"github.com/evictkit/evictkit/internal/steady"
)

// Item is what Take hands out. Its holder ends it once, with Done, Keep, Drop, Retry, RetryAfter, Blocked or Fail;
// nothing is locked meanwhile. What a holder says is void when the key was removed, or replaced by another identity,
// in the meantime; and so is all that he says after the first word.
type Item[K comparable, V any] struct {
	Key      K
	Value    V
	Identity string
	// Added is when it was added, Due when it was due.
	Added, Due time.Time
	// Attempts is how many tries failed before this one.
	Attempts int

	core     *core[K, V]
	number   int32
	attempts int32
	holder   uint64
	exempt   bool
	unused   bool
	reading  time.Time
}

// Ended answers the end of an item.
type Ended struct {
	// Held: the holder still held the item, and what he said counts. It is false when the key was removed or replaced
	// meanwhile, so that his work was called off, and when the item had ended before.
	Held bool
	// Newer: something newer has come for the key while it was worked on.
	Newer bool
}

// At returns the item with its end told at that reading of the clock, for those who read it once for many things.
func (it Item[K, V]) At(now time.Time) Item[K, V] {
	it.reading = now
	return it
}

// Unused returns the item with its end giving the token of GroupConfig.MaxRate back: nothing was done that it bounds. The token
// of its own queue or domain stays spent, so that finding nothing to do goes no faster than doing it.
func (it Item[K, V]) Unused() Item[K, V] {
	it.unused = true
	return it
}

// Held says whether the holder still holds the item: false once its work is called off, or ended.
func (it Item[K, V]) Held() bool {
	c := it.core
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.records.Has(it.number) {
		return false
	}
	r := c.records.At(it.number)
	return r.state == StateInFlight && r.tried.holder == it.holder
}

// Done ends the work: it is finished, and the key forgotten. What was added meanwhile gets its turn (see Again).
func (it Item[K, V]) Done() Ended { return it.end(ending{kind: done}) }

// Keep ends the work: it is finished, and the key stays known until Remove. Adding it answers Kept and changes
// nothing, and what was added meanwhile gets no turn. The value is not kept.
func (it Item[K, V]) Keep() Ended { return it.end(ending{kind: keep}) }

// Drop ends the work: it is not wanted any more. It differs from Done only for Stats.
func (it Item[K, V]) Drop() Ended { return it.end(ending{kind: drop}) }

// Retry lets the item wait again, for Config.Backoff: the try failed. It keeps its place among items that are due at the
// same time. The next try costs a token too. If something was added meanwhile, its OnDuplicate decides between the two.
func (it Item[K, V]) Retry() Ended { return it.end(ending{kind: retry, backs: true}) }

// RetryAfter is Retry after that long, not below zero.
func (it Item[K, V]) RetryAfter(d time.Duration) Ended {
	return it.end(ending{kind: retry, after: max(d, 0)})
}

// Blocked lets the item wait again for that long because something does not permit it yet. It is no failure: attempts
// and backoff do not grow. Blocked(0) is "retry now".
func (it Item[K, V]) Blocked(d time.Duration) Ended {
	return it.end(ending{kind: blocked, after: max(d, 0)})
}

// Fail is Done for nil, Drop for an error that Final marked, and Retry for any other. The error is seen in Get, in
// Stats and by Config.OnError.
func (it Item[K, V]) Fail(err error) Ended {
	switch {
	case err == nil:
		return it.Done()
	case final.Is(err):
		return it.end(ending{kind: drop, err: err})
	}
	return it.end(ending{kind: retry, backs: true, err: err})
}

// Final marks an error that trying again cannot mend. Nil stays nil.
func Final(err error) error { return final.Mark(err) }

// ending is how an item ends.
type ending struct {
	kind  kind
	backs bool // after is what the backoff says
	after time.Duration
	err   error
	// unused gives back what was taken of the bound on all lines.
	unused bool
}

type kind uint8

const (
	done kind = iota
	keep
	drop
	retry
	blocked
)

// end ends the item, and tells its error with nothing locked.
func (it Item[K, V]) end(e ending) Ended {
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
	e.unused = it.unused
	ended, first := c.end(it.number, it.holder, it.exempt, e, reading)
	if first && e.err != nil {
		c.tellError(it.Key, e.err)
	}
	return ended
}

// end also says whether it is the holder's first word.
func (c *core[K, V]) end(i int32, holder uint64, exempt bool, e ending, reading time.Time) (ended Ended, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.time.Elapsed()
	if !reading.IsZero() {
		now = c.time.Read(reading)
	}
	if !c.records.Has(i) {
		return Ended{}, false // its number is free: it ended before
	}
	r := c.records.At(i)
	if holder != r.holder() {
		return Ended{}, false
	}
	*c.outOf(exempt)--
	if e.unused {
		c.cap.giveBack(now)
		c.kick()
	}
	if e.err != nil {
		c.stats.LastError, c.stats.LastErrorAt = e.err, c.time.Instant(now)
	}
	r.tried.holder = 0
	if r.state == StateInFlight {
		return c.endHeld(i, r, e, now), true
	}
	return c.endVoid(i, r), true
}

// endVoid ends the work that was called off, which nobody waits for any more; c.mu is held.
func (c *core[K, V]) endVoid(i int32, r *record[V]) Ended {
	if r.state == 0 {
		c.untry(r)
		c.forget(i)
		c.roomLeft()
		return Ended{}
	}
	c.queue(i, r)
	return Ended{Newer: true}
}

// endHeld does as the holder says; c.mu is held.
func (c *core[K, V]) endHeld(i int32, r *record[V], e ending, now int64) Ended {
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
			c.forget(i)
			break
		}
		r.replace(n.value, n.due, n.exempt)
		r.added, r.seq = n.added, n.seq
		c.become(r, StateWaiting)
		c.queue(i, r)
	default:
		r.due = steady.Add(now, e.after)
		if n != nil {
			if !n.policy.keeps(r.tried.asked, n.due) {
				r.replace(n.value, n.due, n.exempt)
			}
			r.tried.newer = nil
		}
		c.become(r, StateWaiting)
		c.queue(i, r)
	}
	c.roomLeft()
	return ended
}

// keep lets the key stay known, without its value; c.mu is held.
func (c *core[K, V]) keep(r *record[V]) {
	var zero V
	r.value, r.exempt = zero, false
	c.untry(r)
	c.become(r, StateKept)
}

// roomLeft is called when less is in flight; c.mu is held.
func (c *core[K, V]) roomLeft() {
	if c.bound != unbounded {
		c.kick()
	}
}

// note counts the end of what was held and remembers its error; c.mu is held.
func (c *core[K, V]) note(r *record[V], e ending) {
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
