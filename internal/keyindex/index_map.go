//go:build !go1.24

package keyindex

// Index numbers keys. The zero Index is empty and ready. This is the form for Go before 1.24, which
// cannot hash any comparable key.
type Index[K comparable] struct {
	numbers map[K]int32
	keys    []K
	free    []int32
}

// Find returns the key's number.
func (x *Index[K]) Find(key K) (int32, bool) {
	number, ok := x.numbers[key]
	if !ok {
		return -1, false
	}
	return number, true
}

// Insert returns the key's number, a new one when the key is new.
func (x *Index[K]) Insert(key K) (number int32, isNew bool) {
	if number, ok := x.numbers[key]; ok {
		return number, false
	}
	if x.numbers == nil {
		x.numbers = make(map[K]int32)
	}
	if last := len(x.free) - 1; last >= 0 {
		number, x.free = x.free[last], x.free[:last]
		x.keys[number] = key
	} else {
		number = int32(len(x.keys))
		x.keys = append(x.keys, key)
	}
	x.numbers[key] = number
	return number, true
}

// Delete removes the key and says whether it was there.
func (x *Index[K]) Delete(key K) bool {
	number, ok := x.numbers[key]
	if !ok {
		return false
	}
	delete(x.numbers, key)
	var zero K
	x.keys[number] = zero
	x.free = append(x.free, number)
	return true
}

// Key returns the key of a number in use.
func (x *Index[K]) Key(number int32) K { return x.keys[number] }

// Len is how many keys there are.
func (x *Index[K]) Len() int { return len(x.numbers) }

// Cap is one more than the greatest number ever given.
func (x *Index[K]) Cap() int { return len(x.keys) }
