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
	m.records[key] = r
	m.most = max(m.most, len(m.records))
	return r
}

// Delete forgets a key and its record.
func (m *Map[K, R]) Delete(key K, r *R) {
	delete(m.records, key)
	*r = *new(R)
	m.spare.Put(r)
	if excessive(m.most, len(m.records)) {
		old := m.records
		m.most = len(old)
		m.records = make(map[K]*R, len(old))
		maps.Copy(m.records, old)
	}
}

// Len returns the number of keys.
func (m *Map[K, R]) Len() int { return len(m.records) }

// All yields every key with its record, in no particular order. The loop may delete keys that it has seen.
func (m *Map[K, R]) All() iter.Seq2[K, *R] { return maps.All(m.records) }
