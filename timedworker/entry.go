package timedworker

import (
	"time"

	"github.com/evictkit/evictkit/internal/slots"
)

// Entry is a piece of work to schedule.
type Entry[K comparable, V any] struct {
	Key   K
	Value V
	// Due is when to run it: at once if that has passed. The zero time means now; with Replace, for a key that is known
	// already, it means as before.
	Due time.Time
	// Identity tells objects apart that have the same key one after the other, such as a UID. An empty one matches any.
	// One that is learned late is adopted, and an empty one does not erase it.
	Identity string
	// OnDuplicate says what happens if the key waits or is in flight already.
	OnDuplicate Duplicate
}

// Duplicate says what becomes of work that waits if its key is scheduled again: [Replace] takes the new one,
// [KeepFirst] the old one, [KeepEarliest] whichever is due first. Work in flight stays as it is until it ends. With
// Done, what was scheduled meanwhile then gets a turn of its own; with Retry, RetryAfter or Blocked, each entry's
// Duplicate decides as if the work had been waiting.
type Duplicate uint8

// The policies.
const (
	// Replace takes the new value, and the new due time if the entry names one; a retry that names none goes on waiting.
	// The place among equal due times is kept. It is the zero value, and what Schedule does.
	Replace Duplicate = iota
	// KeepEarliest takes due time and value of the entry that asked for the earlier time. The time that was asked for
	// counts, not the one to which a failed try has put the work off: scheduling it again for the same time or a later
	// one does not bring the retry forward.
	KeepEarliest
	// KeepFirst changes nothing, also of work in flight, except that an identity that is learned late is adopted.
	KeepFirst
)

// State is where the work of a key is: [Unknown], [Waiting], [InFlight] or, in some answers, [OtherIdentity].
type State uint8

// The states.
const (
	// Unknown: there is none.
	Unknown State = iota
	// Waiting: it waits to be due, and for a worker.
	Waiting
	// InFlight: the function has been called with it, and has not returned.
	InFlight
	// OtherIdentity is only an answer of ScheduleEntry and CancelIdentity: the key is known with another identity.
	OtherIdentity
)

// String returns the name of the constant.
func (s State) String() string { return slots.State(s).String() }

// Status is a copy of what is known about one key.
type Status[V any] struct {
	State    State
	Value    V
	Identity string
	// Added is when it was first scheduled, Due when it is due, or was.
	Added, Due time.Time
	// Attempts is how many tries failed. LastError is what the last of them gave to Retry, or its panic; nil if there was
	// none.
	Attempts  int
	LastError error
}

// Stats is what a Set holds now.
type Stats struct {
	// Waiting is how many keys wait. InFlight is how many tries run, including those of work that was cancelled.
	Waiting, InFlight int
	// Overdue is how long the earliest waiting work has been due, by the last reading of the clock, even if a pause
	// keeps it from starting; 0 if nothing is due.
	Overdue time.Duration
	// Panicked counts the panics of your functions that were survived; Config.OnPanic has more about each.
	Panicked uint64
}
