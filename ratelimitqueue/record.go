package ratelimitqueue

import (
	"cmp"
	"slices"
)

// record is what is kept for a key: as little as possible until it is handed out. A key whose state is 0 is not known; its
// record exists only because an earlier holder has not ended yet.
type record[V any] struct {
	value    V
	identity string
	added    int64
	due      int64
	seq      uint64
	tried    *tried[V] // nil until it is handed out; never nil in flight
	line     int32
	state    State
	exempt   bool
}

// tried is the part of a record that it needs once its item was handed out.
type tried[V any] struct {
	// holder is the number of the holder that has not ended yet, even if the key was removed since; 0 if there is none.
	// While it is set, the key is not handed out again.
	holder   uint64
	asked    int64 // the due time that was asked for, before tries put it off
	attempts int32
	err      error // the last error given to Fail
	newer    *newer[V]
}

// newer is what was added while the key is in flight.
type newer[V any] struct {
	value  V
	added  int64
	due    int64
	seq    uint64
	policy Duplicate
	exempt bool
}

// holder returns the holder that has not ended, 0 if there is none.
func (r *record[V]) holder() uint64 {
	if r.tried == nil {
		return 0
	}
	return r.tried.holder
}

// awaits reports whether the record must wait for an earlier holder, whose key was removed, to end.
func (r *record[V]) awaits() bool { return r.holder() != 0 && r.state != StateInFlight }

// asked returns the due time that was asked for, before tries put it off.
func (r *record[V]) asked() int64 {
	if r.tried == nil {
		return r.due
	}
	return r.tried.asked
}

// replace gives a waiting item what was added. It keeps its place among equal due times and its failed tries.
func (r *record[V]) replace(value V, due int64, exempt bool) {
	r.value, r.due, r.exempt = value, due, exempt
	if r.tried != nil {
		r.tried.asked = due
	}
}

// inOrder returns the keys of these records in the order in which they are due, then in that of their places. c.mu is
// held.
func (c *core[K, V]) inOrder(numbers []int32) []K {
	slices.SortFunc(numbers, func(a, b int32) int {
		x, y := c.records.At(a), c.records.At(b)
		if x.due != y.due {
			return cmp.Compare(x.due, y.due)
		}
		return cmp.Compare(x.seq, y.seq)
	})
	keys := make([]K, len(numbers))
	for at, number := range numbers {
		keys[at] = c.records.Key(number)
	}
	return keys
}

// keeps reports whether the policy keeps the old item, due when asked, if it is added again for due.
func (d Duplicate) keeps(asked, due int64) bool {
	return d == KeepFirst || d == KeepEarliest && due >= asked
}

// try returns the record's tried part, and makes it if need be.
func (c *core[K, V]) try(r *record[V]) *tried[V] {
	if r.tried == nil {
		if r.tried, c.spare = c.spare, nil; r.tried == nil {
			r.tried = new(tried[V])
		}
		r.tried.asked = r.due
	}
	return r.tried
}

// untry takes the tried part away.
func (c *core[K, V]) untry(r *record[V]) {
	if r.tried != nil {
		*r.tried = tried[V]{}
		r.tried, c.spare = nil, r.tried
	}
}
