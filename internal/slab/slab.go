package slab

import (
	"math/bits"
	"sync"
)

const (
	size       = 32       // numbers in a chunk; the bits of a word
	blocks     = 32       // chunks in a block
	keptChunks = 32       // so that as many records as are in a block come and go without an allocation
	whole      = 4 * 1024 // numbers before this one have their records in chunks that are in no block
	length     = size * blocks
)

// Slab holds records of type T. The zero Slab is empty and ready for use. It is not safe for concurrent use, except that
// At and Has may run at the same time.
type Slab[T any] struct {
	low    []*[size]T // the chunks of the first numbers; an element is nil if its chunk is unused
	blocks []block[T] // of the numbers from whole on
	used   []uint32   // for each chunk, which numbers are in use
	chunks []*[size]T // zeroed, at most keptChunks
	empty  *[blocks]*[size]T
	more   *spares // nil before there are any
}

// spares stay until the next garbage collections, zeroed.
type spares struct{ chunks, pieces sync.Pool } // of *[size]T and *[length]T

// block is 1,024 numbers. Its records are in one piece or in chunks. The piece is a slice and not a pointer to an array
// because indexing through such a pointer checks for nil by reading the array's beginning, which is seldom in the
// cache.
type block[T any] struct {
	piece  []T               // nil if in chunks
	chunks *[blocks]*[size]T // nil if unused or in one piece; an element is nil if its chunk is unused
	count  int32             // how many numbers are in use
}

func (b *block[T]) at(i uint32) *T {
	if at := i % length; int(at) < len(b.piece) {
		return &b.piece[at]
	}
	return &b.chunks[i%length/size][i%size]
}

func (s *Slab[T]) block(n uint32) *block[T] { return &s.blocks[(n-whole)/length] }

// Use makes room for number i, which must not be negative, and returns its record, zeroed. The record stays where it is
// until the next call of Free, for any number. If i is already in use its record is zeroed again.
func (s *Slab[T]) Use(i int32) *T {
	n := uint32(i)
	for int(n/size) >= len(s.used) {
		s.used = append(s.used, make([]uint32, blocks)...)
	}
	word, bit := &s.used[n/size], uint32(1)<<(n%size)
	if *word&bit != 0 {
		record := s.At(i)
		var zero T
		*record = zero
		return record
	}
	if *word == 0 {
		s.makeRoom(n)
	}
	*word |= bit
	if n >= whole {
		s.block(n).count++
	}
	return s.At(i)
}

// makeRoom is called for the first number of a chunk.
func (s *Slab[T]) makeRoom(n uint32) {
	if n < whole {
		for int(n/size) >= len(s.low) {
			s.low = append(s.low, nil)
		}
		s.low[n/size] = s.newChunk()
		return
	}
	for int((n-whole)/length) >= len(s.blocks) {
		s.blocks = append(s.blocks, block[T]{})
	}
	b := s.block(n)
	if b.count == 0 {
		b.piece = s.newPiece()
	}
	if b.piece == nil {
		s.useChunk(b, n%length/size)
	}
}

func (s *Slab[T]) useChunk(b *block[T], c uint32) {
	if b.chunks == nil {
		b.chunks, s.empty = s.empty, nil
		if b.chunks == nil {
			b.chunks = new([blocks]*[size]T)
		}
	}
	b.chunks[c] = s.newChunk()
}

func (s *Slab[T]) newChunk() *[size]T {
	if last := len(s.chunks) - 1; last >= 0 {
		spare := s.chunks[last]
		s.chunks[last], s.chunks = nil, s.chunks[:last]
		return spare
	}
	if s.more != nil {
		if spare, ok := s.more.chunks.Get().(*[size]T); ok {
			return spare
		}
	}
	return new([size]T)
}

func (s *Slab[T]) giveBack(chunk *[size]T) {
	if len(s.chunks) < keptChunks {
		s.chunks = append(s.chunks, chunk)
	} else {
		s.spares().chunks.Put(chunk)
	}
}

func (s *Slab[T]) newPiece() []T {
	if s.more != nil {
		if spare, ok := s.more.pieces.Get().(*[length]T); ok {
			return spare[:]
		}
	}
	return make([]T, length)
}

func (s *Slab[T]) spares() *spares {
	if s.more == nil {
		s.more = new(spares)
	}
	return s.more
}

// At returns the record of number i, which must be in use. If it is not, At panics or returns a zeroed record that must
// not be written to; if in doubt, call Has first.
func (s *Slab[T]) At(i int32) *T {
	n := uint32(i)
	if c := n / size; int(c) < len(s.low) {
		return &s.low[c][n%size]
	}
	return s.block(n).at(n)
}

// Has reports whether number i is in use.
func (s *Slab[T]) Has(i int32) bool {
	c := uint32(i) / size
	return int(c) < len(s.used) && s.used[c]>>(uint32(i)%size)&1 != 0
}

// Free zeroes the record and frees memory that is no longer needed. It does nothing if the number is not in use.
// Records of other numbers may move.
func (s *Slab[T]) Free(i int32) {
	if !s.Has(i) {
		return
	}
	n := uint32(i)
	word := &s.used[n/size]
	var zero T
	*s.At(i) = zero
	*word &^= 1 << (n % size)
	switch {
	case n >= whole:
		s.freeIn(s.block(n), n, *word == 0)
	case *word == 0:
		s.giveBack(s.low[n/size])
		s.low[n/size] = nil
	}
}

// freeIn frees what a block no longer needs without a number, which may have been the last one of its chunk.
func (s *Slab[T]) freeIn(b *block[T], n uint32, last bool) {
	b.count--
	if last && b.piece == nil {
		c := &b.chunks[n%length/size]
		s.giveBack(*c)
		*c = nil
	}
	switch {
	case b.count > few:
	case b.count > 0:
		if b.piece != nil {
			s.divide(b, n/length*blocks)
		}
	case b.piece != nil:
		s.spares().pieces.Put((*[length]T)(b.piece))
		b.piece = nil
	default:
		s.empty, b.chunks = b.chunks, nil
	}
}

// few is the number of records at which a block goes from one piece to chunks.
const few = length / size

// divide moves the few records of a block, from that chunk on, from its one piece to chunks.
func (s *Slab[T]) divide(b *block[T], from uint32) {
	piece := b.piece
	b.piece = nil
	for c, used := range s.used[from : from+blocks] {
		if used != 0 {
			s.useChunk(b, uint32(c))
			copy(b.chunks[c][:], piece[c*size:])
		}
	}
	clear(piece)
	s.spares().pieces.Put((*[length]T)(piece))
}

// Each calls visit for every number in use, in order. visit may free the number that it is called for.
func (s *Slab[T]) Each(visit func(i int32, record *T)) {
	for c, used := range s.used {
		for ; used != 0; used &= used - 1 {
			n := uint32(c*size + bits.TrailingZeros32(used))
			visit(int32(n), s.At(int32(n)))
		}
	}
}
