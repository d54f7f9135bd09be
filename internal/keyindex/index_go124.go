//go:build go1.24

package keyindex

import (
	"hash/maphash"

	"github.com/evictkit/evictkit/internal/slab"
)

var seed = maphash.MakeSeed()

// Index numbers keys. The zero Index is empty and ready.
type Index[K comparable] struct {
	directory []*segment // by the first depth bits of the hash; a segment of fewer bits stands there several times
	depth     uint8
	spare     *segment // empty
	keys      slab.Slab[K]
	numbers   numbers
	live      int
}

// probe looks for the key where its hash says: it returns its slot, or the first free one.
func (x *Index[K]) probe(s *segment, hash uint32, key K) (at uint32, found bool) {
	mask := uint32(len(s.slots) - 1)
	for at = hash & mask; s.slots[at].number != 0; at = (at + 1) & mask {
		if here := s.slots[at]; here.hash == hash && *x.keys.At(here.number - 1) == key {
			return at, true
		}
	}
	return at, false
}

func (x *Index[K]) segment(hash uint32) *segment { return x.directory[hash>>(32-x.depth)] }

// Find returns the key's number, -1 when it is not there.
func (x *Index[K]) Find(key K) (int32, bool) {
	hash := uint32(maphash.Comparable(seed, key))
	if x.live == 0 {
		return -1, false
	}
	s := x.segment(hash)
	at, ok := x.probe(s, hash, key)
	return s.slots[at].number - 1, ok
}

// Insert returns the key's number, the least free one when the key is new.
func (x *Index[K]) Insert(key K) (number int32, isNew bool) {
	hash := uint32(maphash.Comparable(seed, key)) // it panics before anything is changed
	if x.directory == nil {
		x.directory = []*segment{newSegment(fewest)}
	}
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
	*x.keys.Use(number) = key
	s.slots[at] = slot{hash, number + 1}
	s.live++
	x.live++
	return number, true
}

// Place is where a key was found. It is good for DeleteAt until the index changes.
type Place struct {
	Number   int32
	hash, at uint32
}

// Locate is Find for those who may delete the key: DeleteAt does not look for it again.
func (x *Index[K]) Locate(key K) (place Place, ok bool) {
	place = Place{Number: -1, hash: uint32(maphash.Comparable(seed, key))}
	if x.live == 0 {
		return place, false
	}
	s := x.segment(place.hash)
	place.at, ok = x.probe(s, place.hash, key)
	place.Number = s.slots[place.at].number - 1
	return place, ok
}

// DeleteAt removes the key that was found there.
func (x *Index[K]) DeleteAt(place Place) {
	s := x.segment(place.hash)
	s.remove(place.at)
	x.keys.Free(place.Number)
	x.numbers.release(place.Number)
	x.live--
	x.merge(s, place.hash)
}

// Delete removes the key and says whether it was there.
func (x *Index[K]) Delete(key K) bool {
	place, ok := x.Locate(key)
	if ok {
		x.DeleteAt(place)
	}
	return ok
}

// Key returns the key of a number in use.
func (x *Index[K]) Key(number int32) K { return *x.keys.At(number) }

// Len is how many keys there are.
func (x *Index[K]) Len() int { return x.live }

// Cap is one more than the greatest number ever given.
func (x *Index[K]) Cap() int { return x.numbers.given }
