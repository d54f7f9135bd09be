package slots

import (
	"fmt"
	"math"
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
	// OtherIdentity is only an answer: the key is known, with another identity.
	OtherIdentity
	// Finished is only of queues.
	Finished

	states
)

var stateNames = [states]string{"Unknown", "Waiting", "InFlight", "OtherIdentity", "Finished"}

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
	KeepEarliest
	KeepFirst
	// KeepTried takes an earlier due time, but never for an item that was tried.
	KeepTried
)

// Entry is what is added.
type Entry[K comparable, V any] struct {
	Key         K
	Value       V
	Due         time.Time
	Identity    string
	OnDuplicate Duplicate
	Exempt      bool
}

// Slot is what is kept for a key: as little as possible until it is handed out. A slot whose State is Unknown exists only
// because an earlier holder has not ended yet.
type Slot[K comparable, V, L any] struct {
	Key      K
	Value    V
	Identity string
	Added    int64
	Due      int64
	Seq      uint64
	Line     L         // the owner's: where it waits
	Place    due.Place // the owner's: its place there
	State    State
	Exempt   bool
	tried    *tried[V] // nil until it is handed out; never nil in flight
}

// tried is the part of a slot that it needs once its item was handed out.
type tried[V any] struct {
	// holder is the number of the holder that has not ended yet, even if the key was removed since; 0 if there is none.
	holder   uint64
	asked    int64 // the due time that was asked for, before tries put it off
	again    bool  // a try has ended, and it waits or runs again
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
	tried         bool  // it is of an item that was tried
	valued, named bool  // some entry has set the value, and the due time
}

// take takes what the entry asks for, if its policy says so; at is its due time.
func (w *wish[V]) take(value V, now, at int64, named, exempt bool, policy Duplicate) {
	if policy.keeps(w.due, w.tried, at, now) {
		return
	}
	w.value, w.exempt, w.valued = value, exempt, true
	if named || policy.compares() {
		w.due, w.named = at, true
	}
}

// holder returns the number of the holder that has not ended; 0 if there is none.
func (s *Slot[K, V, L]) holder() uint64 {
	if s.tried == nil {
		return 0
	}
	return s.tried.holder
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

// Asked returns the due time that was asked for, before tries put it off.
func (s *Slot[K, V, L]) Asked() int64 {
	if s.tried == nil {
		return s.Due
	}
	return s.tried.asked
}

// replace gives an item what was added, and its due time if one was named. It keeps its place among equal due times and its
// failed tries.
func (s *Slot[K, V, L]) replace(value V, due int64, named, exempt bool) {
	s.Value, s.Exempt = value, exempt
	if !named {
		return
	}
	s.Due = due
	if s.tried != nil {
		s.tried.asked = due
	}
}

// far is half of the longest Duration, 146 years. What was asked for longer ago than that is equally early, and no try puts
// anything off for longer. So where a Copy's PutOff saturates, it is still clear which of two entries asked first.
const far = math.MaxInt64 / 2

// compares reports whether the policy compares due times, so that an entry always has one.
func (d Duplicate) compares() bool { return d == KeepEarliest || d == KeepTried }

// keeps reports whether the policy keeps an item that was asked for at one time when it is added again for another, due.
func (d Duplicate) keeps(asked int64, tried bool, due, now int64) bool {
	switch d {
	case KeepFirst:
		return true
	case KeepEarliest:
		return max(due, now-far) >= asked
	case KeepTried:
		return tried || due >= asked
	}
	return false
}

func differ(a, b string) bool { return a != "" && b != "" && a != b }
