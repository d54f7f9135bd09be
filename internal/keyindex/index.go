package keyindex

import "github.com/evictkit/evictkit/internal/slab"

// Index numbers keys. The zero Index is empty and ready for use.
type Index[K comparable] struct{ Table[K, struct{}] }

// Table is an Index that keeps a record with each key. The zero Table is empty and ready for use.
type Table[K comparable, R any] struct {
	directory []*segment // by the first depth bits of the hash; a segment with fewer bits appears several times
	depth     uint8
	spare     *segment // empty
	rows      slab.Slab[row[K, R]]
	numbers   numbers
	live      int
	gone      Place // of the key deleted last, as long as it is kept; or zero
}

// row is the key and the record of a number.
type row[K comparable, R any] struct {
	record R
	key    K
}

// probe looks for the key from the place that its hash says. It returns the key's slot, or the first free one.
func (x *Table[K, R]) probe(s *segment, hash uint32, key K) (at uint32, found bool) {
	mask := uint32(len(s.slots) - 1)
	for at = hash & mask; s.slots[at].number != 0; at = (at + 1) & mask {
		if here := s.slots[at]; here.hash == hash && x.rows.At(here.number-1).key == key {
			return at, true
		}
	}
	return at, false
}

func (x *Table[K, R]) segment(hash uint32) *segment { return x.directory[hash>>(32-x.depth)] }

// Find returns the key's number, or -1 and false if the key is not in the table.
func (x *Table[K, R]) Find(key K) (int32, bool) {
	hash := hash(key)
	if x.live == 0 {
		return -1, false
	}
	s := x.segment(hash)
	at, ok := x.probe(s, hash, key)
	number := s.slots[at].number
	if !ok || number == x.gone.number {
		return -1, false
	}
	return number - 1, true
}

// Insert returns the key's number. A new key gets the least free number and a zero record.
func (x *Table[K, R]) Insert(key K) (number int32, isNew bool) {
	if gone := x.gone.number; gone != 0 && x.rows.At(gone-1).key == key { // it comes back: everything is still in place
		x.gone = Place{}
		x.live++
		return gone - 1, true
	}
	hash := hash(key) // panics before anything is changed
	if x.directory == nil {
		x.directory = []*segment{newSegment(fewest)}
	}
	x.clean()
	s := x.segment(hash)
	at, ok := x.probe(s, hash, key)
	if ok {
		return s.slots[at].number - 1, false
	}
	if int(s.live) >= len(s.slots)*3/4 {
		s = x.room(s, hash)
		at = s.gap(hash)
	}
	number = x.numbers.take()
	x.rows.Use(number).key = key
	s.slots[at] = slot{hash, number + 1}
	s.live++
	x.live++
	return number, true
}

// Place is where a key was found. It is valid for DeleteAt until the table changes.
type Place struct {
	hash, at uint32
	number   int32 // plus one
}

// Number returns the number of the key that was found.
func (p Place) Number() int32 { return p.number - 1 }

// Locate is Find for callers who may then delete the key with DeleteAt, which need not look it up again.
func (x *Table[K, R]) Locate(key K) (place Place, ok bool) {
	hash := hash(key)
	if x.live == 0 {
		return Place{}, false
	}
	x.clean()
	s := x.segment(hash)
	at, ok := x.probe(s, hash, key)
	return Place{hash, at, s.slots[at].number}, ok
}

// DeleteAt removes the key at that place, and its record.
func (x *Table[K, R]) DeleteAt(place Place) {
	x.gone = place
	x.live--
	if x.live == 0 {
		x.clean()
		return
	}
	var zero R
	x.rows.At(place.Number()).record = zero
}

// clean removes from the table the key that was deleted last.
func (x *Table[K, R]) clean() {
	place := x.gone
	if place.number == 0 {
		return
	}
	x.gone = Place{}
	s := x.segment(place.hash)
	s.remove(place.at)
	x.rows.Free(place.Number())
	x.numbers.release(place.Number())
	x.merge(s, place.hash)
}

// Delete removes the key and reports whether it was there.
func (x *Table[K, R]) Delete(key K) bool {
	place, ok := x.Locate(key)
	if ok {
		x.DeleteAt(place)
	}
	return ok
}

// Key returns the key of a number in use.
func (x *Table[K, R]) Key(number int32) K { return x.rows.At(number).key }

// At returns the record of a number in use. It stays where it is until keys are deleted.
func (x *Table[K, R]) At(number int32) *R { return &x.rows.At(number).record }

// Has reports whether the number is in use.
func (x *Table[K, R]) Has(number int32) bool { return x.rows.Has(number) && number != x.gone.Number() }

// Each calls visit for every number in use, in order. visit may delete the key that it is called for.
func (x *Table[K, R]) Each(visit func(number int32, record *R)) {
	x.clean()
	x.rows.Each(func(number int32, r *row[K, R]) { visit(number, &r.record) })
}

// Len returns the number of keys.
func (x *Table[K, R]) Len() int { return x.live }

// Cap returns one more than the greatest number ever given out.
func (x *Table[K, R]) Cap() int { return x.numbers.given }
