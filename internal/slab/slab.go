package slab

import (
	"math/bits"
	"slices"
	"sync"
)

const (
	size = 32 // numbers in a chunk; the bits of a word
	kept = 16 // spare chunks, so that 512 records come and go without an allocation
)

// Slab holds records of type T. The zero Slab is empty and ready for use. It is not safe for concurrent use, except that
// At and Has may run at the same time.
type Slab[T any] struct {
	chunks []*[size]T // an element is nil if its chunk is unused
	used   []uint32   // for each chunk, which numbers are in use
	spare  []*[size]T // zeroed, at most kept
	more   *sync.Pool // of zeroed chunks, which stay until the next garbage collections; nil before there are any
}

// Use makes room for number i, which must not be negative, and returns its record, zeroed. The record stays where it is
// until the number is freed. If i is already in use its record is zeroed again.
func (s *Slab[T]) Use(i int32) *T {
	c, bit := int(i/size), uint32(1)<<(i%size)
	for c >= len(s.used) {
		s.chunks, s.used = append(s.chunks, nil), append(s.used, 0)
	}
	switch word := s.used[c]; {
	case word == 0:
		s.chunks[c] = s.newChunk()
	case word&bit != 0:
		var zero T
		*s.At(i) = zero
	}
	s.used[c] |= bit
	return s.At(i)
}

func (s *Slab[T]) newChunk() *[size]T {
	if last := len(s.spare) - 1; last >= 0 {
		chunk := s.spare[last]
		s.spare[last], s.spare = nil, s.spare[:last]
		return chunk
	}
	if s.more != nil {
		if chunk, ok := s.more.Get().(*[size]T); ok {
			return chunk
		}
	}
	return new([size]T)
}

func (s *Slab[T]) giveBack(chunk *[size]T) {
	if len(s.spare) < kept {
		s.spare = append(s.spare, chunk)
		return
	}
	if s.more == nil {
		s.more = new(sync.Pool)
	}
	s.more.Put(chunk)
}

// At returns the record of number i, which must be in use. If it is not, At panics or returns a zeroed record that must
// not be written to; if in doubt, call Has first.
func (s *Slab[T]) At(i int32) *T { return &s.chunks[uint32(i)/size][uint32(i)%size] }

// Has reports whether number i is in use.
func (s *Slab[T]) Has(i int32) bool {
	c := uint32(i) / size
	return int(c) < len(s.used) && s.used[c]>>(uint32(i)%size)&1 != 0
}

// Free zeroes the record and frees memory that is no longer needed. It does nothing if the number is not in use.
func (s *Slab[T]) Free(i int32) {
	if !s.Has(i) {
		return
	}
	var zero T
	*s.At(i) = zero
	c := i / size
	s.used[c] &^= 1 << (i % size)
	if s.used[c] == 0 {
		s.giveBack(s.chunks[c])
		s.chunks[c] = nil
		s.trim()
	}
}

// trim forgets unused chunks at the end, and moves to smaller slices once less than a quarter is used.
func (s *Slab[T]) trim() {
	n := len(s.used)
	for n > 0 && s.used[n-1] == 0 {
		n--
	}
	s.chunks, s.used = s.chunks[:n], s.used[:n]
	if cap(s.used) > 4*max(n, kept) {
		s.chunks, s.used = slices.Clone(s.chunks), slices.Clone(s.used)
	}
}

// Each calls visit for every number in use, in order. visit may free the number that it is called for.
func (s *Slab[T]) Each(visit func(i int32, record *T)) {
	for c, used := range s.used {
		for ; used != 0; used &= used - 1 {
			n := int32(c*size + bits.TrailingZeros32(used))
			visit(n, s.At(n))
		}
	}
}
