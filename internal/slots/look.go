package slots

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"slices"
)

// Keys returns the keys of these slots in the order in which they are due, and of equal due times in that of their places.
func Keys[K comparable, V, L any](list []*Slot[K, V, L]) []K {
	slices.SortFunc(list, func(a, b *Slot[K, V, L]) int { return cmp.Or(cmp.Compare(a.Due, b.Due), cmp.Compare(a.Seq, b.Seq)) })
	keys := make([]K, len(list))
	for i, s := range list {
		keys[i] = s.Key
	}
	return keys
}

// Panicked calls OnPanic after a panic of the user's code and returns the panic as an error. It is called while the panic
// unwinds, so that the stack shows where it came from. The Mutex must not be held.
func (t *Table[K, V, L]) Panicked(key, value any) (err error) {
	cause, ok := value.(error)
	if !ok {
		cause = fmt.Errorf("%v", value)
	}
	err = fmt.Errorf("%s: panic: %w", t.config.Name, cause) // and returned, even if OnPanic panics
	if t.config.OnPanic != nil {
		defer func() { _ = recover() }()
		t.config.OnPanic(key, value, debug.Stack())
	}
	return err
}
