package due

import (
	"iter"
	"maps"
	"sync"
)

// Map has a record for each key. The zero Map is empty and ready for use.
//
// It is Go's map, except that it is copied when little is left in it, because Go's map never shrinks. Records of deleted
// keys are used again, so a pointer to a record is good for as long as its key is there.
type Map[K comparable, R any] struct {
	records map[K]*R
	most    int       // records since records was made
	spare   sync.Pool // of zero records
	rooms   sync.Pool // of *room[K, R]
}

// room is a map that was given back. A loop of All may still go through it. It is used again unless the garbage
// collector takes it before: filling it allocates nothing, see BenchmarkRefillPlain100000.
type room[K comparable, R any] struct {
	records map[K]*R
	most    int
}

// Get returns the key's record, or nil.
func (m *Map[K, R]) Get(key K) *R { return m.records[key] }

// Add returns a new, zero record for a key that has none.
func (m *Map[K, R]) Add(key K) *R {
	if m.records == nil {
		m.records = make(map[K]*R)
	}
	r, ok := m.spare.Get().(*R)
	if !ok {
		r = new(R)
	}
	if n := len(m.records); n >= few && n&(n-1) == 0 {
		m.reuse(n)
	}
	m.records[key] = r
	m.most = max(m.most, len(m.records))
	return r
}

// reuse moves n records to a larger room, if there is one, unless they would be few in it.
func (m *Map[K, R]) reuse(n int) {
	if r, ok := m.rooms.Get().(*room[K, R]); !ok || r.most <= n {
		return
	} else if excessive(r.most, n) {
		m.rooms.Put(r)
	} else {
		clear(r.records)
		maps.Copy(r.records, m.records)
		m.records, m.most = r.records, r.most
	}
}

// Delete forgets a key and its record.
func (m *Map[K, R]) Delete(key K, r *R) {
	delete(m.records, key)
	*r = *new(R)
	m.spare.Put(r)
	if excessive(m.most, len(m.records)) {
		m.leave()
	}
}

// leave moves to a room of the right size.
func (m *Map[K, R]) leave() {
	old := &room[K, R]{m.records, m.most}
	m.most = len(old.records)
	m.records = make(map[K]*R, m.most)
	maps.Copy(m.records, old.records)
	m.rooms.Put(old)
}

// Len returns the number of keys.
func (m *Map[K, R]) Len() int { return len(m.records) }

// All yields every key with its record, in no particular order. The loop may delete keys that it has seen.
func (m *Map[K, R]) All() iter.Seq2[K, *R] { return maps.All(m.records) }
