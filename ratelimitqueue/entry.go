package ratelimitqueue

import (
	"time"

	"github.com/evictkit/evictkit/internal/slots"
)

// Entry is an item to add.
type Entry[K comparable, V any] struct {
	Key   K
	Value V
	// Due is when the item may be handed out. The zero time means now, but with Replace and a known key as before.
	Due         time.Time
	OnDuplicate Duplicate // what happens if the key waits or is in flight already
	Exempt      bool      // does not wait behind the other due items of its domain; costs the same tokens
}

// Duplicate says what becomes of a waiting item when its key is added again. An item in flight stays as it is until its
// holder ends it. Then the entries that came meanwhile are added, in their order. After Forget, the first of them finds an
// unknown key; a zero Due, and its place, are those of its call. After RetryAfter or Blocked, it finds an item that waits.
// Done drops them.
type Duplicate uint8

// The policies. Replace is the zero value. With it, an item keeps its due time unless the entry names one, and its place
// among equal due times. With KeepFirst, nothing changes, and nothing is kept of an entry for an item in flight.
const (
	Replace   = Duplicate(slots.Replace)
	KeepFirst = Duplicate(slots.KeepFirst)
)

// State says where the item of a key is.
type State uint8

// The states.
const (
	Unknown  = State(slots.Unknown)  // there is none
	Waiting  = State(slots.Waiting)  // to be due, and for a token
	InFlight = State(slots.InFlight) // handed out by Take, and not ended
	Finished = State(slots.Finished) // ended with Done; the key is known until Remove
)

// Status is a copy of what is known about a key.
type Status struct {
	State      State
	Added, Due time.Time // when it was added, and when it is or was due
}
