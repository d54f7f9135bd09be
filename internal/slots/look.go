package slots

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"slices"
	"time"
)

// Panics returns how many panics of the user's code were survived.
func (t *Table[K, V, L]) Panics() uint64 { return t.panics }

// Status is a copy of what is known about a key.
type Status[V any] struct {
	State      State
	Value      V
	Identity   string
	Added, Due time.Time
	Attempts   int
	LastError  error
}

// Status returns what is known about the slot.
func (t *Table[K, V, L]) Status(s *Slot[K, V, L]) Status[V] {
	return Status[V]{s.State, s.Value, s.Identity, t.Instant(s.Added), t.Instant(s.Due), s.Attempts(), s.Err()}
}

// Keys returns the keys of these slots in the order in which they are due, and of equal due times in that of their places.
func Keys[K comparable, V, L any](list []*Slot[K, V, L]) []K {
	slices.SortFunc(list, func(a, b *Slot[K, V, L]) int { return cmp.Or(cmp.Compare(a.Due, b.Due), cmp.Compare(a.Seq, b.Seq)) })
	keys := make([]K, len(list))
	for i, s := range list {
		keys[i] = s.Key
	}
	return keys
}

// Reasons are the reasons for a pause, oldest first.
type Reasons []string

// Add adds a reason and reports whether it is new.
func (r *Reasons) Add(reason string) bool {
	if slices.Contains(*r, reason) {
		return false
	}
	*r = append(*r, reason)
	return true
}

// Remove removes a reason and reports whether it was there.
func (r *Reasons) Remove(reason string) bool {
	i := slices.Index(*r, reason)
	if i < 0 {
		return false
	}
	*r = slices.Delete(*r, i, i+1)
	return true
}

// Panicked counts a panic of the user's code, calls OnPanic and returns the panic as an error. It is called while the panic
// unwinds, so that the stack shows where it came from. The Mutex must not be held.
func (t *Table[K, V, L]) Panicked(key, value any) (err error) {
	err = t.sawPanic(value) // and returned, even if OnPanic panics
	if t.config.OnPanic != nil {
		defer func() {
			if value := recover(); value != nil {
				_ = t.sawPanic(value)
			}
		}()
		t.config.OnPanic(key, value, debug.Stack())
	}
	return err
}

func (t *Table[K, V, L]) sawPanic(value any) error {
	t.Lock()
	defer t.Unlock()
	t.panics++
	cause, ok := value.(error)
	if !ok {
		cause = fmt.Errorf("%v", value)
	}
	return fmt.Errorf("%s: panic: %w", t.config.Name, cause)
}
