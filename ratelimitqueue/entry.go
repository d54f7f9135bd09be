package ratelimitqueue

import (
	"time"

	"github.com/evictkit/evictkit/internal/slots"
)

// Entry is an item to add.
type Entry[K comparable, V any] struct {
	Key   K
	Value V
	// Due is when the item may be handed out. The zero time names none: a new item is due now, and others keep theirs.
	Due         time.Time
	OnDuplicate Duplicate // what happens if the key waits or is in flight already
	Exempt      bool      // does not wait behind the other due items of its domain; costs the same tokens
}

// Duplicate says what becomes of a waiting item when its key is added again. An item in flight stays as it is until its
// holder ends it. Then the entries that came meanwhile are added, in their order. After Forget, the first of them finds
// an unknown key; its place, Added, and a Due that it does not name are those of its call. After RetryAfter or Blocked,
// it finds an item that waits. Done drops them.
type Duplicate uint8

// The policies. With Replace, which is the zero value and what any other number means, an item takes the entry's Value and
// Exempt, and its due time if it names one. With KeepFirst, nothing changes, and nothing is kept of an entry for an item in
// flight. An item keeps its place among equal due times until its key is forgotten.
const (
	Replace   = Duplicate(slots.Replace)
	KeepFirst = Duplicate(slots.KeepFirst)
)

// String returns the name of the constant.
func (d Duplicate) String() string {
	if d == KeepFirst {
		return "KeepFirst"
	}
	return "Replace"
}

// State says where the item of a key is.
type State uint8

// The states.
const (
	Unknown  = State(slots.Unknown)  // there is none
	Waiting  = State(slots.Waiting)  // to be due, and for a token
	InFlight = State(slots.InFlight) // handed out by Take, and not ended
	Finished = State(slots.Finished) // ended with Done; the key is known until Remove
)

// String returns the name of the constant.
func (s State) String() string { return slots.State(s).String() }

// Status is a copy of what is known about a key.
type Status struct {
	State      State
	Added, Due time.Time // when it was added, and when it is or was due
}
