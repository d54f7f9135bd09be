package ratelimitqueue

import (
	"time"

	"github.com/evictkit/evictkit/internal/slots"
)

// Item is what Take hands out. Its holder ends it once: with [Item.Done] when it need not come again, with
// [Item.RetryAfter] after a failure, or with Forget or Blocked. No lock is held until then. Ending has no effect if the
// key was removed meanwhile, or if the item has ended before.
type Item[K comparable, V any] struct {
	Key   K
	Value V
	// Due is when it was due.
	Due time.Time
	// Attempts is how many earlier tries failed, for a backoff such as time.Second << Attempts.
	Attempts int

	core *core[K, V]
	hold slots.Hold[K, V, *line[K, V]]
	from *line[K, V] // in which it waited
}

// Done ends the item as finished. Its key stays known until Remove: adding it again does nothing. So a caller that adds
// a key at every event does not get it twice. Done drops an entry added meanwhile.
func (it Item[K, V]) Done() { it.end(slots.Ending{Kind: slots.Done}) }

// Forget ends the item and forgets its key. An entry added meanwhile gets its turn.
func (it Item[K, V]) Forget() { it.end(slots.Ending{Kind: slots.Forget}) }

// RetryAfter ends a failed try: the item waits again for d. It keeps its place among items that are due at the same
// time. The next try costs a token too. A negative d counts as 0.
func (it Item[K, V]) RetryAfter(d time.Duration) {
	it.end(slots.Ending{Kind: slots.RetryAfter, After: max(d, 0)})
}

// Blocked ends a try that was not permitted yet: the item waits again for d. It is no failure, so attempts do not grow.
// The queue takes its tokens back, so it can hand out the next in line at once. If d is 0 or less, the item is due again
// at once, and its tokens are spent. If its key was removed or moved to another domain meanwhile, only the token of
// MaxRate comes back.
func (it Item[K, V]) Blocked(d time.Duration) {
	it.end(slots.Ending{Kind: slots.Blocked, After: max(d, 0)})
}

func (it *Item[K, V]) end(e slots.Ending) {
	c := it.core
	if c == nil {
		return
	}
	now := c.table.Read()
	defer c.table.Unlock()
	if it.hold.Ended() {
		return
	}
	if e.Kind == slots.Blocked && e.After > 0 {
		c.cap.giveBack(now)
		if it.hold.Wanted() && it.hold.Line() == it.from {
			it.from.bucket.giveBack(now)
		}
	}
	it.hold.End(e, now)
}
