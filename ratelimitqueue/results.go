package ratelimitqueue

import (
	"fmt"
	"time"
)

// Entry is an item to add.
type Entry[K comparable, V any] struct {
	Key   K
	Value V
	// Due is when it may be handed out; the zero time means now.
	Due time.Time
	// Identity tells objects apart that have the same key one after the other, such as a UID. An empty one matches any.
	// One that is learned late is adopted, and an empty one does not erase it.
	Identity string
	// OnDuplicate applies if the key waits already.
	OnDuplicate Duplicate
	// WhileInFlight applies if the key is in flight.
	WhileInFlight WhileInFlight
}

// Duplicate says which due time and value a waiting key has after it is added again.
type Duplicate uint8

// The values of Duplicate; KeepFirst is the zero value.
const (
	// KeepFirst changes nothing.
	KeepFirst Duplicate = iota
	// KeepEarliest takes due time and value of the entry that asked for the earlier time. The time that was asked for
	// counts, not the one to which a failed try has put it off: adding the key again for the same time or a later one
	// does not bring the retry forward.
	KeepEarliest
	// Replace takes the new due time and value. The place among equal due times is kept.
	Replace
)

// WhileInFlight says what adding does while the key is in flight.
type WhileInFlight uint8

// The values of WhileInFlight; Again is the zero value.
const (
	// Again gives the newest entry a turn of its own once the holder has ended with Done or Drop. If the holder
	// retries, OnDuplicate decides between the two; if it keeps the key, there is no other turn.
	Again WhileInFlight = iota
	// Ignore changes nothing.
	Ignore
)

// AddResult says what adding did.
type AddResult uint8

// The results of adding.
const (
	// Added: the key was not known.
	Added AddResult = iota + 1
	// Known: the key waits already; Entry.OnDuplicate was applied.
	Known
	// InFlight: the key is in flight; Entry.WhileInFlight was applied.
	InFlight
	// Kept: the key was finished with Keep and not removed since; nothing has changed.
	Kept
	// Replaced: the key had another identity; that item was removed and the new one added.
	Replaced
)

var addNames = [...]string{"", "Added", "Known", "InFlight", "Kept", "Replaced"}

// String returns the name of the constant.
func (r AddResult) String() string { return name(addNames[:], uint8(r), "AddResult") }

// RemoveResult says what removing did.
type RemoveResult uint8

// The results of removing.
const (
	// Removed: the key was waiting or kept, and is forgotten.
	Removed RemoveResult = iota + 1
	// RemovedInFlight: the key was in flight and is forgotten; how its holder ends has no effect.
	RemovedInFlight
	// NotFound: the key was not known.
	NotFound
	// OtherIdentity: the key has another identity; nothing has changed.
	OtherIdentity
)

var removeNames = [...]string{"", "Removed", "RemovedInFlight", "NotFound", "OtherIdentity"}

// String returns the name of the constant.
func (r RemoveResult) String() string { return name(removeNames[:], uint8(r), "RemoveResult") }

// State is the state of a known key.
type State uint8

// The states.
const (
	// StateWaiting: it waits to be due, and for a token.
	StateWaiting State = iota + 1
	// StateInFlight: it was handed out, and its holder has not ended it.
	StateInFlight
	// StateKept: it was finished with Keep, and is known until it is removed.
	StateKept

	states = iota + 1
)

var stateNames = [...]string{"", "Waiting", "InFlight", "Kept"}

// String returns the name of the state.
func (s State) String() string { return name(stateNames[:], uint8(s), "State") }

func name(names []string, n uint8, kind string) string {
	if n == 0 || int(n) >= len(names) {
		return fmt.Sprintf("%s(%d)", kind, n)
	}
	return names[n]
}
