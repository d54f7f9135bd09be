package slots

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/evictkit/evictkit/internal/steady"
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

// Copy is what another table needs to go on with an item. Times are remaining times.
type Copy[K comparable, V any] struct {
	Key      K
	Identity string
	Value    V
	In       time.Duration // until it is due
	PutOff   time.Duration // by tries
	Attempts int
	Seq      uint64
}

// Copies returns a copy of each item, none of which is finished, as if each holder had ended with Blocked(0).
func (t *Table[K, V, L]) Copies(now int64) []Copy[K, V] {
	copies := make([]Copy[K, V], 0, t.slots.Len())
	for s := range t.All() {
		is := Slot[K, V, L]{Value: s.Value, Due: s.Due, Seq: s.Seq}
		asked := s.Asked()
		if s.State == InFlight {
			is.Due = now
			if n := s.tried.newer; n != nil && n.again.valued {
				is.Value = n.again.value
				if n.again.named {
					is.Due, asked = n.again.due, n.again.due
				}
			}
		}
		copies = append(copies, Copy[K, V]{
			Key: s.Key, Identity: s.Identity, Value: is.Value, Seq: s.Seq, Attempts: s.Attempts(),
			In: time.Duration(steady.Sub(is.Due, now)), PutOff: time.Duration(steady.Sub(is.Due, asked)),
		})
	}
	return copies
}

// Paste adds a copy. Its key is unknown.
func (t *Table[K, V, L]) Paste(c *Copy[K, V], line L, now int64) {
	s := t.slots.Get(c.Key)
	if s == nil {
		s = t.slots.Add(c.Key)
		s.Key = c.Key
	}
	s.Line = line
	t.fresh(s, &Entry[K, V]{Value: c.Value, Identity: c.Identity}, now, steady.Add(now, c.In))
	if c.PutOff > 0 || c.Attempts > 0 {
		tried := t.try(s)
		tried.attempts = c.Attempts
		tried.asked = steady.Add(now, time.Duration(steady.Sub(int64(c.In), int64(c.PutOff)))) // not from Due, which saturates
	}
}
