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
	// Identity tells apart what has the same key one after the other (a UID). None never differs; one that is learned
	// late is adopted; none never erases one.
	Identity string
	// OnDuplicate is for a key that waits already.
	OnDuplicate Duplicate
	// WhileInFlight is for a key that is handed out.
	WhileInFlight WhileInFlight
}

// Duplicate says what becomes of due time and value of a key that waits already when it is added again.
type Duplicate uint8

// The policies; KeepFirst is the zero value.
const (
	// KeepFirst changes nothing.
	KeepFirst Duplicate = iota
	// KeepEarliest takes time and value of the one that was to be due first. An item that is held back after a try is
	// not hurried by being added again for the same time or a later one.
	KeepEarliest
	// Replace takes the new time and value; the place among equal times is kept.
	Replace
)

// WhileInFlight says what adding does while the key is handed out.
type WhileInFlight uint8

// The policies; Again is the zero value.
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
	// Known: it waits already; Entry.OnDuplicate was applied.
	Known
	// InFlight: it is handed out; Entry.WhileInFlight was applied.
	InFlight
	// Kept: it is finished and was not removed since; nothing was changed.
	Kept
	// Replaced: another identity had the key; it was removed and the new one added.
	Replaced
	// NotPermitted: Config.Permission does not permit taking in anything new; another identity was removed.
	NotPermitted
)

var addNames = [...]string{"", "Added", "Known", "InFlight", "Kept", "Replaced", "NotPermitted"}

// String is the name of the constant.
func (r AddResult) String() string { return name(addNames[:], uint8(r), "AddResult") }

// RemoveResult says what removing did.
type RemoveResult uint8

// The results of removing.
const (
	// Removed: the key waited, or was kept, and is forgotten.
	Removed RemoveResult = iota + 1
	// RemovedInFlight: it is handed out; it is forgotten and what its holder says is void.
	RemovedInFlight
	// NotFound: it was not known.
	NotFound
	// OtherIdentity: another identity has the key; nothing was changed.
	OtherIdentity
)

var removeNames = [...]string{"", "Removed", "RemovedInFlight", "NotFound", "OtherIdentity"}

// String is the name of the constant.
func (r RemoveResult) String() string { return name(removeNames[:], uint8(r), "RemoveResult") }

// State is where a known key is.
type State uint8

// The states.
const (
	// StateWaiting: it waits.
	StateWaiting State = iota + 1
	// StateInFlight: it is handed out.
	StateInFlight
	// StateKept: it is finished, and known until it is removed.
	StateKept

	states = iota + 1
)

var stateNames = [...]string{"", "Waiting", "InFlight", "Kept"}

// String is the name of the state.
func (s State) String() string { return name(stateNames[:], uint8(s), "State") }

func name(names []string, n uint8, kind string) string {
	if n == 0 || int(n) >= len(names) {
		return fmt.Sprintf("%s(%d)", kind, n)
	}
	return names[n]
}
