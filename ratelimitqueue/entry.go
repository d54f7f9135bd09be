package ratelimitqueue

import (
	"time"

	"github.com/evictkit/evictkit/internal/slots"
)

// Entry is an item to add.
type Entry[K comparable, V any] struct {
	Key   K
	Value V
	// Due is when the item may be handed out. The zero time means now or, with Replace and a known key, as before.
	Due time.Time
	// Identity, such as a UID, tells objects apart that have the same key one after the other. An empty one matches any.
	// An item without an identity adopts the first one that it gets, and an empty one does not erase it.
	Identity string
	// OnDuplicate says what happens if the key waits or is in flight already.
	OnDuplicate Duplicate
	// Exempt items go before the other due items of their queue or domain, and cost the same tokens. A Group hands them
	// out even if MaxInFlight is reached, and does not count them towards it.
	Exempt bool
}

// Duplicate says what becomes of a waiting item when its key is added again: [Replace] takes the new one, [KeepFirst]
// the old one, [KeepEarliest] whichever is due first. An item in flight stays as it is until its holder ends it. Then
// Forget gives the entry added meanwhile a turn of its own; with Retry, RetryAfter or Blocked, the entry's Duplicate
// decides as if the item had been waiting; Done drops the entry.
type Duplicate uint8

// The policies.
const (
	// Replace takes the new value, and the new due time if the entry names one; without one, an item that waits for a
	// retry goes on waiting. The item keeps its place among equal due times. Replace is the zero value, and what Add does.
	Replace Duplicate = iota
	// KeepEarliest takes due time and value of the entry that asked for the earlier time. What counts is the time that an
	// entry asked for, not the one to which a failed try has put it off: adding the key again for the same time or a later
	// one does not bring the retry forward. Times of more than 146 years ago are equally early.
	KeepEarliest
	// KeepFirst changes nothing, even for an item in flight, except that it adopts an identity learned late.
	KeepFirst
)

// State says where the item of a key is: [Unknown], [Waiting], [InFlight], [Finished] or, in some answers,
// [OtherIdentity].
type State uint8

// The states.
const (
	// Unknown: there is none.
	Unknown State = iota
	// Waiting: it waits to be due, and for a token.
	Waiting
	// InFlight: Take has handed it out, and its holder has not ended it.
	InFlight
	// OtherIdentity is only an answer of AddEntry and RemoveIdentity: the key is known with another identity.
	OtherIdentity
	// Finished: its holder ended it with Done; the key is known until Remove.
	Finished
)

// String returns the name of the constant.
func (s State) String() string { return slots.State(s).String() }

// Status is a copy of what the queue knows about one key.
type Status[V any] struct {
	State      State
	Value      V
	Identity   string
	Added, Due time.Time
	// Attempts is how many tries have failed. LastError is what the last of them gave to Retry, or its panic; nil if there
	// was none.
	Attempts  int
	LastError error
}

// Stats is what a queue or a group holds now.
type Stats struct {
	// Waiting and Finished are how many keys are in these states. InFlight is how many items have not ended, including
	// those whose key was removed.
	Waiting, InFlight, Finished int
	// Panicked counts the panics in your functions that it has recovered from; Config.OnPanic gets each.
	Panicked uint64
}
