package ratelimitqueue

import (
	"time"

	"github.com/evictkit/evictkit/internal/slots"
)

// Entry is an item to add.
type Entry[K comparable, V any] struct {
	Key   K
	Value V
	// Due is when the item may be handed out. The zero time means now. With Replace and a known key it means as before.
	Due time.Time
	// OnDuplicate says what happens if the key waits or is in flight already.
	OnDuplicate Duplicate
	// Exempt items do not wait behind the other due items of their queue or domain. They cost the same tokens.
	Exempt bool
}

// Duplicate says what becomes of a waiting item when its key is added again. An item in flight stays as it is until its
// holder ends it. Then Forget gives the entry added meanwhile a turn of its own. With RetryAfter or Blocked, the entry's
// Duplicate decides as if the item had been waiting. Done drops the entry.
type Duplicate uint8

// The policies.
const (
	// Replace takes the new value, and the new due time if the entry names one. Without one, an item that waits for a
	// retry goes on waiting. The item keeps its place among equal due times. Replace is the zero value, and what Add does.
	Replace = Duplicate(slots.Replace)
	// KeepFirst changes nothing, even for an item in flight.
	KeepFirst = Duplicate(slots.KeepFirst)
)

// State says where the item of a key is.
type State uint8

// The states.
const (
	// Unknown: there is none.
	Unknown = State(slots.Unknown)
	// Waiting: it waits to be due, and for a token.
	Waiting = State(slots.Waiting)
	// InFlight: Take has handed it out, and its holder has not ended it.
	InFlight = State(slots.InFlight)
	// Finished: its holder ended it with Done; the key is known until Remove.
	Finished = State(slots.Finished)
)

// Status is a copy of what is known about a key.
type Status struct {
	State State
	// Added is when the item was added, Due when it is or was due.
	Added, Due time.Time
}
