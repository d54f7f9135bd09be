package slab

import "math/bits"

const size = 32 // numbers in a chunk; the bits of used

// Slab holds records of type T. The zero Slab is empty and ready. It is not safe for concurrent use,
// except that At and Has may run beside each other.
type Slab[T any] struct {
	chunks []*[size]T // nil: none of the chunk is in use
	used   []uint32   // of each chunk, which numbers are in use
	spare  *[size]T   // zeroed
}

// Use makes room for number i, which must not be negative, and returns its record, zeroed. The record
// stays where it is until Free. A number that is in use already is zeroed anew.
func (s *Slab[T]) Use(i int32) *T {
	c, bit := uint32(i)/size, uint32(1)<<(uint32(i)%size)
	for int(c) >= len(s.chunks) {
		s.chunks = append(s.chunks, nil)
		s.used = append(s.used, 0)
	}
	if s.chunks[c] == nil {
		s.chunks[c] = s.takeSpare()
	}
	record := &s.chunks[c][uint32(i)%size]
	if s.used[c]&bit != 0 {
		var zero T
		*record = zero
	}
	s.used[c] |= bit
	return record
}

func (s *Slab[T]) takeSpare() *[size]T {
	chunk := s.spare
	if chunk == nil {
		return new([size]T)
	}
	s.spare = nil
	return chunk
}

// At returns the record of number i, which is in use. It panics, or returns a zeroed record that must
// not be written, when the number is not in use: ask Has where that may be.
func (s *Slab[T]) At(i int32) *T { return &s.chunks[uint32(i)/size][uint32(i)%size] }

// Has says whether number i is in use.
func (s *Slab[T]) Has(i int32) bool {
	c := uint32(i) / size
	return int(c) < len(s.used) && s.used[c]>>(uint32(i)%size)&1 != 0
}

// Free zeroes the record and gives its chunk back when it was the last one in use there. It does
// nothing when the number is not in use.
func (s *Slab[T]) Free(i int32) {
	if !s.Has(i) {
		return
	}
	c := uint32(i) / size
	var zero T
	s.chunks[c][uint32(i)%size] = zero
	s.used[c] &^= 1 << (uint32(i) % size)
	if s.used[c] == 0 {
		s.spare, s.chunks[c] = s.chunks[c], nil
	}
}

// Each calls visit for every number in use, in their order. It may free the number that it visits.
func (s *Slab[T]) Each(visit func(i int32, record *T)) {
	for c, used := range s.used {
		for ; used != 0; used &= used - 1 {
			at := bits.TrailingZeros32(used)
			visit(int32(c*size+at), &s.chunks[c][at])
		}
	}
}
