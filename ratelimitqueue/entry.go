package ratelimitqueue

import (
	"time"

	"github.com/evictkit/evictkit/internal/slots"
)

// Entry is an item to add.
type Entry[K comparable, V any] struct {
	Key   K
	Value V
	// Due is when it may be handed out. The zero time means now; with Replace, for a key that is known already, it means as
	// before.
	Due time.Time
	// Identity tells objects apart that have the same key one after the other, such as a UID. An empty one matches any.
	// One that is learned late is adopted, and an empty one does not erase it.
	Identity string
	// OnDuplicate says what happens if the key waits or is in flight already.
	OnDuplicate Duplicate
	// Exempt items go before the other due items of their queue or domain, and cost the same tokens. In a Group they are
	// handed out even if MaxInFlight is reached, and do not count towards it.
	Exempt bool
}

// Duplicate says what becomes of an item that waits if its key is added again: [Replace] takes the new one,
// [KeepFirst] the old one, [KeepEarliest] whichever is due first. An item in flight stays as it is until its holder
// ends it. With Forget, what was added meanwhile then gets a turn of its own; with Retry, RetryAfter or Blocked, each
// entry's Duplicate decides as if the item had been waiting; with Done, it is dropped.
type Duplicate uint8

// The policies.
const (
	// Replace takes the new value, and the new due time if the entry names one; a retry that names none goes on waiting.
	// The place among equal due times is kept. It is the zero value, and what Add does.
	Replace Duplicate = iota
	// KeepEarliest takes due time and value of the entry that asked for the earlier time. The time that was asked for
	// counts, not the one to which a failed try has put it off: adding the key again for the same time or a later one
	// does not bring the retry forward.
	KeepEarliest
	// KeepFirst changes nothing, also of an item in flight, except that an identity that is learned late is adopted.
	KeepFirst
)

// State is where the item of a key is: [Unknown], [Waiting], [InFlight], [Finished] or, in some answers, [OtherIdentity].
type State uint8

// The states.
const (
	// Unknown: there is none.
	Unknown State = iota
	// Waiting: it waits to be due, and for a token.
	Waiting
	// InFlight: it was handed out, and its holder has not ended it.
	InFlight
	// OtherIdentity is only an answer of AddEntry and RemoveIdentity: the key is known with another identity.
	OtherIdentity
	// Finished: its holder ended it with Done, and the key is known until it is removed.
	Finished
)

// String returns the name of the constant.
func (s State) String() string { return slots.State(s).String() }

// Status is a copy of what is known about one key.
type Status[V any] struct {
	State      State
	Value      V
	Identity   string
	Added, Due time.Time
	// Attempts is how many tries failed. LastError is what the last of them gave to Retry, or its panic; nil if there was
	// none.
	Attempts  int
	LastError error
}

// Stats is what a queue or a group holds now.
type Stats struct {
	// Waiting and Finished are how many keys are in these states. InFlight is how many holders have not ended, including
	// those whose key was removed.
	Waiting, InFlight, Finished int
	// Panicked counts the panics of your functions that were survived; Config.OnPanic has more about each.
	Panicked uint64
}
