package timedworker

import (
	"cmp"
	"slices"
	"time"

	"github.com/evictkit/evictkit/internal/slots"
)

// Status is a copy of what the Set knows about one key: its Work, as the next try sees it, or the one in flight. The zero
// Status is that of an unknown key.
type Status[K comparable, V any] struct {
	Work[K, V]
	State State
	// Due is when the work is due, or was. It is told as of the last reading of the clock: see Next.
	Due time.Time
	// LastError is what the last failed try gave to Retry, or its panic. It is nil if there was none.
	LastError error
}

// Get returns the status of the key, or false if it is unknown.
func (s *Set[K, V]) Get(key K) (Status[K, V], bool) {
	s.table.Lock()
	defer s.table.Unlock()
	r := s.table.Get(key)
	if r == nil {
		return Status[K, V]{}, false
	}
	return s.status(r), true
}

// status returns a copy. The lock is held.
func (s *Set[K, V]) status(r *slots.Slot[K, V, bool]) Status[K, V] {
	return Status[K, V]{Work[K, V]{r.Key, r.Value, r.Attempts()}, State(r.State), s.table.Instant(r.Due), r.Err()}
}

// All returns all known work, by due time, and in the order of scheduling if due times are equal.
func (s *Set[K, V]) All() []Status[K, V] {
	placed := s.placed()
	slices.SortFunc(placed, func(a, b place[K, V]) int { return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.seq, b.seq)) })
	all := make([]Status[K, V], len(placed))
	for i := range placed {
		all[i] = placed[i].Status
	}
	return all
}

// place is a status with what orders it, so that nothing is sorted under the lock.
type place[K comparable, V any] struct {
	Status[K, V]
	due int64
	seq uint64
}

func (s *Set[K, V]) placed() []place[K, V] {
	s.table.Lock()
	defer s.table.Unlock()
	var all []place[K, V]
	for r := range s.table.All() {
		all = append(all, place[K, V]{s.status(r), r.Due, r.Seq})
	}
	return all
}
