package slots

import (
	"fmt"
	"time"

	"github.com/evictkit/evictkit/internal/due"
)

// State is where the item of a key is.
type State uint8

// The states.
const (
	Unknown State = iota
	Waiting
	InFlight
	// Finished is only of queues.
	Finished

	states
)

var stateNames = [states]string{"Unknown", "Waiting", "InFlight", "Finished"}

func (s State) String() string {
	if s >= states {
		return fmt.Sprintf("State(%d)", uint8(s))
	}
	return stateNames[s]
}

// Duplicate says what adding does to an item that waits or is in flight.
type Duplicate uint8

// The policies.
const (
	Replace Duplicate = iota
	KeepFirst
	// KeepEarliest takes an earlier due time, but never for an item that was tried.
	KeepEarliest
)

// Entry is what is added.
type Entry[K comparable, V any] struct {
	Key         K
	Value       V
	Due         time.Time
	OnDuplicate Duplicate
	Exempt      bool
}

// Slot is what is kept for a key: as little as possible until it is handed out. A slot whose State is Unknown exists only
// because an earlier holder has not ended yet.
type Slot[K comparable, V, L any] struct {
	Key    K
	Value  V
	Added  int64
	Due    int64
	Seq    uint64
	Line   L         // the owner's: where it waits
	Place  due.Place // the owner's: its place there
	State  State
	Exempt bool
	// holder is the number of the holder that has not ended yet, even if the key was removed since; 0 if there is none.
	holder uint64
	tried  *tried[V] // nil until a try has failed, or something was added in flight
}

// tried is the part of a slot that most need never.
type tried[V any] struct {
	again    bool // a try has ended, and it waits or runs again
	attempts int
	err      error // of the last try that failed
	newer    *newer[V]
}

// newer is what was added while the key is in flight.
type newer[V any] struct {
	fresh wish[V] // what waits if the holder forgets the item
	again wish[V] // what the item takes if it waits again
	added int64
	seq   uint64
}

// wish is what several entries, one after the other, ask for.
type wish[V any] struct {
	value         V
	exempt        bool
	due           int64 // that counts so far
	valued, named bool  // some entry has set the value, and the due time
}

// take takes what the entry asks for, if its policy says so; at is its due time.
func (w *wish[V]) take(value V, at int64, named, exempt bool, policy Duplicate) {
	if policy.keeps(w.due, false, at) {
		return
	}
	w.value, w.exempt, w.valued = value, exempt, true
	if named || policy == KeepEarliest {
		w.due, w.named = at, true
	}
}

// Attempts is how many tries failed.
func (s *Slot[K, V, L]) Attempts() int {
	if s.tried == nil {
		return 0
	}
	return s.tried.attempts
}

// Err is the error of the last try that failed; nil if there was none.
func (s *Slot[K, V, L]) Err() error {
	if s.tried == nil {
		return nil
	}
	return s.tried.err
}

// again reports whether a try of the item has ended.
func (s *Slot[K, V, L]) again() bool { return s.tried != nil && s.tried.again }

// replace gives an item what was added, and its due time if one was named. It keeps its place among equal due times and its
// failed tries.
func (s *Slot[K, V, L]) replace(value V, due int64, named, exempt bool) {
	s.Value, s.Exempt = value, exempt
	if !named {
		return
	}
	s.Due = due
}

// keeps reports whether the policy keeps an item that is due at one time when it is added again for another, at.
func (d Duplicate) keeps(due int64, tried bool, at int64) bool {
	return d == KeepFirst || d == KeepEarliest && (tried || at >= due)
}
