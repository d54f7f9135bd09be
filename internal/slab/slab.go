package slab

import (
	"math/bits"
	"slices"
)

const (
	size   = 32       // numbers in a chunk; the bits of a word of used
	blocks = 32       // chunks in a block; the bits of block.some
	whole  = 4 * 1024 // from this number on a block has its records in one piece
	length = size * blocks
)

// Slab holds records of type T. The zero Slab is empty and ready. It is not safe for concurrent use,
// except that At and Has may run beside each other.
type Slab[T any] struct {
	blocks []block[T]
	spare  []T       // a piece, zeroed
	chunk  []T       // zeroed
	parts  *parts[T] // zeroed
}

// block is 1,024 numbers. Its records lie in one piece, or in chunks. These are slices and no pointers to arrays: Go asks
// of a pointer whether it is nil by reading what it points to, and the beginning of a piece is seldom in the cache.
type block[T any] struct {
	piece []T       // nil: in chunks
	parts *parts[T] // nil: none is in use
}

type parts[T any] struct {
	chunks [blocks][]T    // nil: none of the chunk is in use, or the block is in one piece
	used   [blocks]uint32 // of each chunk, which numbers are in use
	some   uint32         // which words of used are not 0
	count  int32          // how many numbers are in use
}

func (b *block[T]) at(i uint32) *T {
	if at := i % length; int(at) < len(b.piece) {
		return &b.piece[at]
	}
	return &b.parts.chunks[i%length/size][i%size]
}

// Use makes room for number i, which must not be negative, and returns its record, zeroed. The record
// stays where it is until Free is called. A number that is in use already is zeroed anew.
func (s *Slab[T]) Use(i int32) *T {
	n := uint32(i)
	for int(n/length) >= len(s.blocks) {
		s.blocks = append(s.blocks, block[T]{})
	}
	b := &s.blocks[n/length]
	if b.parts == nil {
		b.parts, s.parts = s.parts, nil
		if b.parts == nil {
			b.parts = new(parts[T])
		}
		if n >= whole {
			b.piece, s.spare = s.spare, nil
			if b.piece == nil {
				b.piece = make([]T, length)
			}
		}
	}
	p, c, bit := b.parts, n%length/size, uint32(1)<<(n%size)
	if b.piece == nil && p.chunks[c] == nil {
		p.chunks[c], s.chunk = s.chunk, nil
		if p.chunks[c] == nil {
			p.chunks[c] = make([]T, size)
		}
	}
	record := b.at(n)
	if p.used[c]&bit != 0 {
		var zero T
		*record = zero
		return record
	}
	p.used[c] |= bit
	p.some |= 1 << c
	p.count++
	return record
}

// At returns the record of number i, which is in use. It panics, or returns a zeroed record that must
// not be written, when the number is not in use: ask Has where that may be.
func (s *Slab[T]) At(i int32) *T { return s.blocks[uint32(i)/length].at(uint32(i)) }

// Has says whether number i is in use.
func (s *Slab[T]) Has(i int32) bool {
	n := uint32(i)
	if int(n/length) >= len(s.blocks) {
		return false
	}
	p := s.blocks[n/length].parts
	return p != nil && p.used[n%length/size]>>(n%size)&1 != 0
}

// Free zeroes the record and gives back what is not needed any more. It does nothing when the number is not in use.
// Records of other numbers may move.
func (s *Slab[T]) Free(i int32) {
	if !s.Has(i) {
		return
	}
	n := uint32(i)
	b := &s.blocks[n/length]
	var zero T
	*b.at(n) = zero
	p, c := b.parts, n%length/size
	p.used[c] &^= 1 << (n % size)
	p.count--
	if p.used[c] == 0 {
		p.some &^= 1 << c
		if b.piece == nil {
			s.chunk, p.chunks[c] = p.chunks[c], nil
		}
	}
	switch {
	case p.count == 0:
		if b.piece != nil {
			s.spare = b.piece
		}
		s.parts, *b = p, block[T]{}
	case b.piece != nil && p.count <= few:
		b.divide()
	}
}

// few is how many records a block has when it goes from one piece to chunks.
const few = length / size

// divide moves the few records of a block that is in one piece to chunks.
func (b *block[T]) divide() {
	p := b.parts
	for some := p.some; some != 0; some &= some - 1 {
		c := bits.TrailingZeros32(some)
		p.chunks[c] = slices.Clone(b.piece[c*size : (c+1)*size])
	}
	b.piece = nil
}

// Each calls visit for every number in use, in their order. It may free the number that it visits.
func (s *Slab[T]) Each(visit func(i int32, record *T)) {
	for at := range s.blocks {
		p := s.blocks[at].parts
		if p == nil {
			continue
		}
		for some := p.some; some != 0; some &= some - 1 {
			c := bits.TrailingZeros32(some)
			for used := p.used[c]; used != 0; used &= used - 1 {
				n := uint32(at*length + c*size + bits.TrailingZeros32(used))
				visit(int32(n), s.blocks[at].at(n))
			}
		}
	}
}
