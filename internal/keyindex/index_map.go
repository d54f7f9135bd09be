//go:build !go1.24

package keyindex

import "github.com/evictkit/evictkit/internal/slab"

// Index numbers keys. The zero Index is empty and ready. This is the form for Go before 1.24, which
// cannot hash any comparable key.
//
// A map of Go never gets smaller. When three quarters of the most keys that the map ever held are gone,
// the rest moves to a new map, a few keys in each operation, and the old one is dropped.
type Index[K comparable] struct {
	current map[K]int32
	most    int         // how many keys current ever held
	leaving map[K]int32 // keys with numbers from moved on may still be here
	moved   int32
	keys    slab.Slab[K]
	numbers numbers
}

const (
	worthMoving = 1024 // a map that never held more is not left
	movedAtOnce = 64   // numbers looked at in each operation
)

// Find returns the key's number, -1 when it is not there.
func (x *Index[K]) Find(key K) (int32, bool) {
	number, ok := x.current[key]
	if !ok && len(x.leaving) > 0 {
		number, ok = x.leaving[key]
	}
	if !ok {
		return -1, false
	}
	return number, true
}

// Insert returns the key's number, the least free one when the key is new.
func (x *Index[K]) Insert(key K) (number int32, isNew bool) {
	if number, ok := x.Find(key); ok {
		return number, false
	}
	if x.current == nil {
		x.current = make(map[K]int32)
	}
	number = x.numbers.take()
	*x.keys.Use(number) = key
	x.put(key, number)
	x.move()
	return number, true
}

func (x *Index[K]) put(key K, number int32) {
	x.current[key] = number
	x.most = max(x.most, len(x.current))
}

// Place is where a key was found. It is good for DeleteAt until the index changes.
type Place struct{ Number int32 }

// Locate is Find for those who may delete the key.
func (x *Index[K]) Locate(key K) (Place, bool) {
	number, ok := x.Find(key)
	return Place{number}, ok
}

// DeleteAt removes the key that was found there.
func (x *Index[K]) DeleteAt(place Place) { x.Delete(x.Key(place.Number)) }

// Delete removes the key and says whether it was there.
func (x *Index[K]) Delete(key K) bool {
	number, ok := x.Find(key)
	if !ok {
		return false
	}
	delete(x.current, key)
	delete(x.leaving, key)
	x.keys.Free(number)
	x.numbers.release(number)
	if x.leaving == nil && x.most > worthMoving && 4*len(x.current) < x.most {
		x.leaving, x.moved = x.current, 0
		x.current, x.most = make(map[K]int32), 0
	}
	x.move()
	return true
}

// move takes a few more keys out of the map that is left.
func (x *Index[K]) move() {
	if x.leaving == nil {
		return
	}
	for end := x.moved + movedAtOnce; x.moved < end && len(x.leaving) > 0; x.moved++ {
		if !x.keys.Has(x.moved) {
			continue
		}
		key := x.Key(x.moved)
		if number, ok := x.leaving[key]; ok {
			delete(x.leaving, key)
			x.put(key, number)
		}
	}
	if len(x.leaving) == 0 {
		x.leaving = nil
	}
}

// Key returns the key of a number in use.
func (x *Index[K]) Key(number int32) K { return *x.keys.At(number) }

// Len is how many keys there are.
func (x *Index[K]) Len() int { return len(x.current) + len(x.leaving) }

// Cap is one more than the greatest number ever given.
func (x *Index[K]) Cap() int { return x.numbers.given }
