package timedworker

import (
	"time"

	"github.com/evictkit/evictkit/internal/slots"
)

// Entry is a piece of work to schedule.
type Entry[K comparable, V any] struct {
	Key   K
	Value V
	// Due is when to run the work: at once if that has passed. The zero time means now or, with Replace and a known key,
	// as before.
	Due time.Time
	// Identity, such as a UID, tells objects apart that have the same key one after the other. An empty one matches any.
	// Work without an identity adopts the first one that it gets, and an empty one does not erase it.
	Identity string
	// OnDuplicate says what happens if the key waits or is in flight already.
	OnDuplicate Duplicate
}

// Duplicate says what becomes of waiting work when its key is scheduled again: [Replace] takes the new one, [KeepFirst]
// the old one, [KeepEarliest] whichever is due first. Work in flight stays as it is until it ends. Then Forget gives the
// entry scheduled meanwhile a turn of its own; with Retry, RetryAfter or Blocked, the entry's Duplicate decides as if
// the work had been waiting.
type Duplicate uint8

// The policies.
const (
	// Replace takes the new value, and the new due time if the entry names one; without one, work that waits for a retry
	// goes on waiting. The work keeps its place among equal due times. Replace is the zero value, and what Schedule does.
	Replace Duplicate = iota
	// KeepEarliest takes due time and value of the entry that asked for the earlier time. What counts is the time that an
	// entry asked for, not the one to which a failed try has put the work off: scheduling it again for the same time or a
	// later one does not bring the retry forward. Times of more than 146 years ago are equally early.
	KeepEarliest
	// KeepFirst changes nothing, even for work in flight, except that it adopts an identity learned late.
	KeepFirst
)

// State says where the work of a key is: [Unknown], [Waiting], [InFlight] or, in some answers, [OtherIdentity].
type State uint8

// The states.
const (
	// Unknown: there is none.
	Unknown State = iota
	// Waiting: it waits until it is due, and for a worker.
	Waiting
	// InFlight: the function is running with it.
	InFlight
	// OtherIdentity is only an answer of ScheduleEntry and CancelIdentity: the key is known with another identity.
	OtherIdentity
)

// String returns the name of the constant.
func (s State) String() string { return slots.State(s).String() }

// Status is a copy of what the Set knows about one key.
type Status[V any] struct {
	State    State
	Value    V
	Identity string
	// Added is when it was first scheduled, Due when it is due, or was.
	Added, Due time.Time
	// Attempts is how many tries have failed. LastError is what the last of them gave to Retry, or its panic; nil if there
	// was none.
	Attempts  int
	LastError error
}

// Stats is what a Set holds now.
type Stats struct {
	// Waiting is how many keys wait. InFlight is how many tries are running, including those of cancelled work.
	Waiting, InFlight int
	// Overdue is how long the earliest waiting work has been due, as of the last reading of the clock, even if a pause
	// keeps it from starting; 0 if nothing is due.
	Overdue time.Duration
	// Panicked counts the panics in your functions that it has recovered from; Config.OnPanic gets each.
	Panicked uint64
}
