//go:build go1.24

package keyindex

import "hash/maphash"

// Index numbers keys. The zero Index is empty and ready.
type Index[K comparable] struct {
	seed  maphash.Seed
	table []slot // open addressing with linear probing; its length is a power of two
	keys  []K
	free  []int32
	live  int
}

// slot holds the number of a key plus one, 0 when it is empty, and 32 bits of the key's hash.
type slot struct {
	hash   uint32
	number int32
}

func (x *Index[K]) find(key K) (hash uint32, at int, found bool) {
	hash = uint32(maphash.Comparable(x.seed, key))
	mask := len(x.table) - 1
	for at = int(hash) & mask; x.table[at].number != 0; at = (at + 1) & mask {
		if s := x.table[at]; s.hash == hash && x.keys[s.number-1] == key {
			return hash, at, true
		}
	}
	return hash, at, false
}

// Find returns the key's number.
func (x *Index[K]) Find(key K) (int32, bool) {
	if x.live == 0 {
		return -1, false
	}
	_, at, ok := x.find(key)
	return x.table[at].number - 1, ok
}

// Insert returns the key's number, a new one when the key is new.
func (x *Index[K]) Insert(key K) (number int32, isNew bool) {
	if x.live*4 >= len(x.table)*3 {
		x.grow()
	}
	hash, at, ok := x.find(key)
	if ok {
		return x.table[at].number - 1, false
	}
	if last := len(x.free) - 1; last >= 0 {
		number, x.free = x.free[last], x.free[:last]
		x.keys[number] = key
	} else {
		number = int32(len(x.keys))
		x.keys = append(x.keys, key)
	}
	x.table[at] = slot{hash, number + 1}
	x.live++
	return number, true
}

func (x *Index[K]) grow() {
	if x.table == nil {
		x.seed = maphash.MakeSeed()
	}
	old := x.table
	x.table = make([]slot, max(16, 2*len(old)))
	mask := len(x.table) - 1
	for _, s := range old {
		if s.number == 0 {
			continue
		}
		at := int(s.hash) & mask
		for x.table[at].number != 0 {
			at = (at + 1) & mask
		}
		x.table[at] = s
	}
}

// Delete removes the key and says whether it was there.
func (x *Index[K]) Delete(key K) bool {
	if x.live == 0 {
		return false
	}
	_, at, ok := x.find(key)
	if !ok {
		return false
	}
	number := x.table[at].number - 1
	var zero K
	x.keys[number] = zero
	x.free = append(x.free, number)
	x.live--
	// Close the gap: move back what a probe could not find any more.
	mask := len(x.table) - 1
	hole := at
	for next := (at + 1) & mask; x.table[next].number != 0; next = (next + 1) & mask {
		home := int(x.table[next].hash) & mask
		if (next-home)&mask >= (next-hole)&mask {
			x.table[hole] = x.table[next]
			hole = next
		}
	}
	x.table[hole] = slot{}
	return true
}

// Key returns the key of a number in use.
func (x *Index[K]) Key(number int32) K { return x.keys[number] }

// Len is how many keys there are, Cap one more than the greatest number ever given.
func (x *Index[K]) Len() int { return x.live }

// Cap is one more than the greatest number ever given.
func (x *Index[K]) Cap() int { return len(x.keys) }
