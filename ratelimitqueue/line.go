package ratelimitqueue

import (
	"github.com/evictkit/evictkit/internal/due"
	"github.com/evictkit/evictkit/internal/slots"
)

// line holds the items that wait for the tokens of one bucket: all of a queue, or those of one domain of a group.
type line[K comparable, V any] struct {
	domain    any // of a group
	due       due.Heap[*slots.Slot[K, V, *line[K, V]]]
	exempt    due.Heap[*slots.Slot[K, V, *line[K, V]]] // goes first
	bucket    bucket
	pauses    slots.Reasons           // of this line only
	counts    [slots.Finished + 1]int // keys by state
	dropped   bool                    // the fleet has forgotten it
	turn      uint64                  // rises with every turn served: the line with the lowest is next
	forgotten bool                    // ForgetDomain was called: drop its rate and pauses once it has no key

	inAll, inExempt seat[K, V] // in the rotations of the fleet
	inRetired       due.Place
}

func (c *core[K, V]) newLine(domain any, rate float64, now int64) *line[K, V] {
	l := &line[K, V]{domain: domain, bucket: newBucket(rate, c.burst, now)}
	l.inAll.line, l.inExempt.line = l, l
	if len(c.table.Pauses) > 0 {
		l.bucket.freeze(now)
	}
	return l
}

func (l *line[K, V]) heap(exempt bool) *due.Heap[*slots.Slot[K, V, *line[K, V]]] {
	if exempt {
		return &l.exempt
	}
	return &l.due
}

// known returns how many keys belong to the line, in any state.
func (l *line[K, V]) known() int {
	return l.counts[slots.Waiting] + l.counts[slots.InFlight] + l.counts[slots.Finished]
}

// first returns the due item that is handed out next, or nil.
func (l *line[K, V]) first(now int64) *slots.Slot[K, V, *line[K, V]] {
	for _, exempt := range []bool{true, false} {
		if r, due, ok := l.heap(exempt).Min(); ok && due <= now {
			return r
		}
	}
	return nil
}

// next returns the first instant, not before from, at which the line has a due item and a token for it.
func (l *line[K, V]) next(from int64, exemptOnly bool) (int64, bool) {
	_, due, ok := l.exempt.Min()
	if !exemptOnly {
		if _, other, some := l.due.Min(); some && (!ok || other < due) {
			due, ok = other, true
		}
	}
	if !ok {
		return 0, false
	}
	return l.bucket.next(max(from, due))
}
