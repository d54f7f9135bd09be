package ratelimitqueue

import (
	"time"

	"github.com/evictkit/evictkit/internal/slots"
)

// Item is what Take hands out. Most holders end it with [Item.Done] or, after a failure, [Item.RetryAfter]. The first
// ending of an item counts.
type Item[K comparable, V any] struct {
	Key      K
	Value    V
	Due      time.Time // when it was due
	Attempts int       // how many earlier tries failed: for a backoff of your own

	core *core[K, V]
	hold slots.Hold[K, V, *line[K, V]]
	from *line[K, V] // in which it waited
}

// Done ends the item, and its key stays known until Remove: adding it at every event does not hand it out twice.
func (it Item[K, V]) Done() { it.end(slots.Ending{Kind: slots.Done}) }

// Forget ends the item and forgets its key.
func (it Item[K, V]) Forget() { it.end(slots.Ending{Kind: slots.Forget}) }

// RetryAfter ends a failed try: the item waits again for d; below 0 counts as 0. The next try costs a token too.
func (it Item[K, V]) RetryAfter(d time.Duration) {
	it.end(slots.Ending{Kind: slots.RetryAfter, After: max(d, 0)})
}

// Blocked ends a try that was not permitted yet: the item waits again for d. The queue and MaxRate get their tokens back,
// whatever became of the key, but the domain's turn is over. If d is 0 or less, the tokens are spent.
func (it Item[K, V]) Blocked(d time.Duration) {
	it.end(slots.Ending{Kind: slots.Blocked, After: max(d, 0)})
}

func (it *Item[K, V]) end(e slots.Ending) {
	c := it.core
	if c == nil {
		return
	}
	var now int64 // which no end for good needs
	if e.Kind > slots.Done {
		now = c.table.Read()
	} else {
		c.table.Lock()
	}
	defer c.table.Unlock()
	if it.hold.Ended() {
		return
	}
	it.hold.End(e, now)
	if e.Kind == slots.Blocked && e.After > 0 {
		c.giveBack(it.from)
	}
}
