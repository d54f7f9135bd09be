package ratelimitqueue

import (
	"time"

	"github.com/evictkit/evictkit/internal/slots"
)

// Item is what Take hands out. Its holder ends it once: with [Item.Done] when it need not come again, with
// [Item.Retry] after a failure, or with Forget, RetryAfter or Blocked. No lock is held until then. Ending has no
// effect if the key was meanwhile removed or taken over by another identity, or if the item has ended before.
type Item[K comparable, V any] struct {
	Key      K
	Value    V
	Identity string
	// Added is when it was added, Due when it was due.
	Added, Due time.Time
	// Attempts is how many earlier tries failed.
	Attempts int

	core   *core[K, V]
	hold   slots.Hold[K, V, *line[K, V]]
	exempt bool
	from   *line[K, V] // in which it waited
}

// Held reports whether the item is still wanted: false once its key is removed or taken over by another identity, or the
// item has ended.
func (it Item[K, V]) Held() bool { return it.hold.Held() }

// Done ends the item as finished. Its key stays known until Remove: adding it again does nothing, so a caller that adds
// a key at every event does not get it twice. Done drops an entry added meanwhile, and the item's value, attempts and
// error.
func (it Item[K, V]) Done() { it.end(slots.Ending{Kind: slots.Done}) }

// Forget ends the item and forgets its key. An entry added meanwhile gets its turn.
func (it Item[K, V]) Forget() { it.end(slots.Ending{}) }

// Retry ends a failed try: the item waits again for as long as Config.Backoff says. It keeps its place among items that
// are due at the same time. The next try costs a token too. Status shows the error, which may be nil.
func (it Item[K, V]) Retry(err error) { it.end(slots.Ending{Kind: slots.Retry, Err: err}) }

// RetryAfter is Retry after d instead of the backoff, without an error. A negative d counts as 0.
func (it Item[K, V]) RetryAfter(d time.Duration) {
	it.end(slots.Ending{Kind: slots.RetryAfter, After: max(d, 0)})
}

// Blocked ends a try that was not permitted yet. The item waits again for d, and the queue takes its tokens back, so it
// can hand out the next in line at once. If the key was removed or moved to another domain meanwhile, only the token of
// MaxRate comes back, not the domain's. Blocked is no failure: attempts and backoff do not grow. If d is 0 or less, the
// item is due again at once, and its tokens are spent.
func (it Item[K, V]) Blocked(d time.Duration) {
	it.end(slots.Ending{Kind: slots.Blocked, After: max(d, 0)})
}

func (it *Item[K, V]) end(e slots.Ending) {
	c := it.core
	if c == nil {
		return
	}
	it.hold.Delay(&e, it.Key)
	now := c.table.Read()
	defer c.table.Unlock()
	if it.hold.Ended() {
		return
	}
	*c.outOf(it.exempt)--
	var l *line[K, V]
	if it.hold.Wanted() {
		l = it.hold.Line()
	}
	if e.Kind == slots.Blocked && e.After > 0 {
		c.cap.giveBack(now)
		if l == it.from {
			l.bucket.giveBack(now)
		}
		c.kick()
	}
	it.hold.End(e, now)
	c.changed(l)
	if c.bound != unbounded {
		c.kick()
	}
}
