package ratelimitqueue

// record is what belongs to a key: as little as can be while it has not been handed out. A key whose state is 0 is not
// known: its record tells that an earlier holder has not ended yet.
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

// tried is what a record has once its item was handed out.
type tried[V any] struct {
	// holder has the item in hand, or had it when the key was removed, and has not ended; else it is 0. Until then the
	// key is not handed out again.
	holder   uint64
	asked    int64 // when the item was to be due before tries put it off
	attempts int32
	err      error // the last one given to Fail
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

// holder is who has not ended, 0 if there is nobody.
func (r *record[V]) holder() uint64 {
	if r.tried == nil {
		return 0
	}
	return r.tried.holder
}

// awaits says whether the record has to wait for a holder whose work was called off.
func (r *record[V]) awaits() bool { return r.holder() != 0 && r.state != StateInFlight }

// asked is when the item was to be due before tries put it off.
func (r *record[V]) asked() int64 {
	if r.tried == nil {
		return r.due
	}
	return r.tried.asked
}

// replace takes what was added in place of what waits; its place among equals and its failed tries stay.
func (r *record[V]) replace(value V, due int64, exempt bool) {
	r.value, r.due, r.exempt = value, due, exempt
	if r.tried != nil {
		r.tried.asked = due
	}
}

// keeps says whether a policy leaves what was to be due at that time as it is, when it is added again.
func (d Duplicate) keeps(asked, due int64) bool {
	return d == KeepFirst || d == KeepEarliest && due >= asked
}

// try returns what the record has from now on.
func (c *core[K, V]) try(r *record[V]) *tried[V] {
	if r.tried == nil {
		if r.tried, c.spare = c.spare, nil; r.tried == nil {
			r.tried = new(tried[V])
		}
		r.tried.asked = r.due
	}
	return r.tried
}

// untry takes that away.
func (c *core[K, V]) untry(r *record[V]) {
	if r.tried != nil {
		*r.tried = tried[V]{}
		r.tried, c.spare = nil, r.tried
	}
}
