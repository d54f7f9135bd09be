package health

import (
	"time"

	"github.com/evictkit/evictkit/internal/due"
	"github.com/evictkit/evictkit/internal/steady"
)

// beats knows which entry is due next. It is not safe for concurrent use.
//
// A beat only notes the time, in O(1). The heap still has the entry where it was. When the entry gets to the top there too
// early, it moves to its true deadline, in O(log n): at most once in a grace period, however often it beats. An entry that
// is not in the heap was handed out.
type beats[R any] struct{ heap due.Heap[*entry[R]] }

// entry is one key, with what its owner keeps for it.
type entry[R any] struct {
	beat  int64
	grace int64
	due   int64 // where the heap has it: its deadline, or earlier
	place due.Place
	of    R
}

func (e *entry[R]) deadline() int64 { return steady.Add(e.beat, time.Duration(e.grace)) }

// isOut reports whether the entry was handed out since its last beat.
func (e *entry[R]) isOut() bool { return !e.place.In() }

// put records a beat.
func (b *beats[R]) put(e *entry[R], beat int64) {
	e.beat = beat
	if deadline := e.deadline(); e.isOut() || deadline < e.due {
		b.move(e, deadline)
	}
}

// setGrace gives the entry another grace period, counted from its last beat.
func (b *beats[R]) setGrace(e *entry[R], grace int64) {
	e.grace = grace
	if !e.isOut() {
		b.put(e, e.beat)
	}
}

func (b *beats[R]) move(e *entry[R], due int64) {
	e.due = due
	b.heap.Set(e, &e.place, due, 0)
}

// remove takes the entry out of the heap.
func (b *beats[R]) remove(e *entry[R]) { b.heap.Remove(&e.place) }

// earliest returns the entry that is due next, or nil.
func (b *beats[R]) earliest() *entry[R] {
	for {
		e, _, ok := b.heap.Min()
		if !ok || e.due == e.deadline() {
			return e
		}
		b.move(e, e.deadline())
	}
}

// expire hands out the entry with the earliest deadline that is at or before now, or returns nil.
func (b *beats[R]) expire(now int64) *entry[R] {
	e := b.earliest()
	if e == nil || e.due > now {
		return nil
	}
	b.remove(e)
	return e
}
