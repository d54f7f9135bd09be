// Package earliest keeps a set of instants and returns the earliest in O(1), for callers who ask often under a lock.
package earliest

import (
	"time"

	"github.com/evictkit/evictkit/internal/due"
)

// Of is a set of instants. The zero Of is empty. It is not safe for concurrent use.
type Of struct {
	base time.Time // from which the heap counts
	heap due.Heap[time.Time]
}

// One is an instant that is in at most one set. The zero One is in none. It must not be copied while it is in a set.
type One struct {
	in    *Of
	place due.Place
}

// Put adds the instant to the set, or moves it there. O(log n).
func (s *Of) Put(o *One, at time.Time) {
	if s.base.IsZero() {
		s.base = at
	}
	o.in = s
	s.heap.Set(at, &o.place, int64(at.Sub(s.base)), 0)
}

// Leave removes the instant from its set, if it is in one. O(log n).
func (o *One) Leave() {
	if o.in != nil {
		o.in.heap.Remove(&o.place)
		o.in = nil
	}
}

// First returns the earliest instant, or false if there is none. O(1).
func (s *Of) First() (time.Time, bool) {
	first, _, ok := s.heap.Min()
	return first, ok
}

// Len returns the number of instants.
func (s *Of) Len() int { return s.heap.Len() }
