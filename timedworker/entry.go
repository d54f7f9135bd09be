package timedworker

import (
	"fmt"
	"time"

	"github.com/evictkit/evictkit/internal/slots"
)

// Entry is a piece of work to schedule.
type Entry[K comparable, V any] struct {
	Key   K
	Value V
	// Due is when to run the work. If that has passed, it runs at once. The zero time means the time of the call. With
	// Replace and a known key, it means that the due time stays.
	Due time.Time
	// OnDuplicate says what happens if the key is known.
	OnDuplicate Duplicate
}

// Duplicate says what an entry does if its key is known: [Replace], [KeepFirst] or [KeepEarliest].
//
//	              Waiting, never tried     Waiting, tried     InFlight
//	Replace       takes the entry          takes the entry    takes the entry at its end
//	KeepFirst     stays                    stays              stays
//	KeepEarliest  takes an earlier entry   stays              takes the entry at its end
//
// Work in flight does not change. At its end, the entries that came meanwhile are scheduled in their order. After Forget,
// the first of them finds an unknown key; a zero Due, and its place, are those of its call. After Retry or Blocked, it finds
// tried work that waits. Work that waits keeps its attempts, and its place among equal due times, whatever it takes. Work
// counts as tried when it has run since its key was unknown.
type Duplicate uint8

// The policies.
const (
	// Replace takes the new value. It takes the new due time if the entry names one. Replace is the zero value, what
	// Schedule does, and what any other number means.
	Replace Duplicate = iota
	// KeepFirst ignores the entry.
	KeepFirst
	// KeepEarliest takes due time and value of an entry that is due earlier than the work, unless that was tried. Tried
	// work has been due already, so an earlier due time is no news for it.
	KeepEarliest
)

func (d Duplicate) policy() slots.Duplicate {
	switch d {
	case KeepFirst:
		return slots.KeepFirst
	case KeepEarliest:
		return slots.KeepEarliest
	}
	return slots.Replace
}

// State says where the work of a key is: [Unknown], [Waiting] or [InFlight].
type State uint8

// The states.
const (
	// Unknown means that there is none.
	Unknown State = iota
	// Waiting means that it waits until it is due, or for a worker, or for a cancelled try of its key to end.
	Waiting
	// InFlight means that the function is running with it.
	InFlight
)

// String returns the name of the constant.
func (s State) String() string {
	if s > InFlight {
		return fmt.Sprintf("State(%d)", uint8(s))
	}
	return slots.State(s).String()
}
