package ratelimitqueue

import (
	"cmp"
	"slices"

	"github.com/evictkit/evictkit/internal/due"
)

// record is what is kept for a key: as little as possible until it is handed out. A key whose state is 0 is not known; its
// record exists only because an earlier holder has not ended yet.
type record[K comparable, V any] struct {
	key      K
	value    V
	identity string
	added    int64
	due      int64
	seq      uint64
	tried    *tried[V] // nil until it is handed out; never nil in flight
	line     *line[K, V]
	place    due.Place // in a heap of the line
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
func (r *record[K, V]) holder() uint64 {
	if r.tried == nil {
		return 0
	}
	return r.tried.holder
}

// awaits reports whether the record must wait for an earlier holder, whose key was removed, to end.
func (r *record[K, V]) awaits() bool { return r.holder() != 0 && r.state != StateInFlight }

// asked returns the due time that was asked for, before tries put it off.
func (r *record[K, V]) asked() int64 {
	if r.tried == nil {
		return r.due
	}
	return r.tried.asked
}

// replace gives a waiting item what was added. It keeps its place among equal due times and its failed tries.
func (r *record[K, V]) replace(value V, due int64, exempt bool) {
	r.value, r.due, r.exempt = value, due, exempt
	if r.tried != nil {
		r.tried.asked = due
	}
}

// inOrder returns the keys of these records in the order in which they are due, then in that of their places. c.mu is
// held.
func inOrder[K comparable, V any](records []*record[K, V]) []K {
	slices.SortFunc(records, func(a, b *record[K, V]) int {
		if a.due != b.due {
			return cmp.Compare(a.due, b.due)
		}
		return cmp.Compare(a.seq, b.seq)
	})
	keys := make([]K, len(records))
	for i, r := range records {
		keys[i] = r.key
	}
	return keys
}

// keeps reports whether the policy keeps the old item, due when asked, if it is added again for due.
func (d Duplicate) keeps(asked, due int64) bool {
	return d == KeepFirst || d == KeepEarliest && due >= asked
}

// try returns the record's tried part, and makes it if need be.
func (c *core[K, V]) try(r *record[K, V]) *tried[V] {
	if r.tried == nil {
		if r.tried, c.spare = c.spare, nil; r.tried == nil {
			r.tried = new(tried[V])
		}
		r.tried.asked = r.due
	}
	return r.tried
}

// untry takes the tried part away.
func (c *core[K, V]) untry(r *record[K, V]) {
	if r.tried != nil {
		*r.tried = tried[V]{}
		r.tried, c.spare = nil, r.tried
	}
}
