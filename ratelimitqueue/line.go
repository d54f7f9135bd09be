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
	counts    [slots.Finished + 1]int // keys by state
	paused    bool
	forgotten bool // ForgetDomain was called: drop its rate and pause once it has no key
	gone      bool // it was forgotten, and only holders know it

	turn                  uint64    // rises with every turn served: the line with the lowest is next
	later, ready, retired due.Place // in the heaps of the fleet
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
		if s, due, ok := l.heap(exempt).Min(); ok && due <= now {
			return s
		}
	}
	return nil
}

// next returns the first instant, not before from, at which the line has a due item and a token for it.
func (l *line[K, V]) next(from int64) (int64, bool) {
	_, due, ok := l.due.Min()
	if _, other, some := l.exempt.Min(); some && (!ok || other < due) {
		due, ok = other, true
	}
	if !ok {
		return 0, false
	}
	return l.bucket.next(max(from, due))
}
