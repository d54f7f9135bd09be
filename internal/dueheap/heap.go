// Package dueheap orders small numbers by a due time, and equal times by a sequence number. It is an
// indexed 4-ary heap: every operation is O(log n), by number. It is not safe for concurrent use.
//
// It grows and shrinks by chunks of 1,024 numbers, of which the first begins with less, so no operation copies
// more than that. It keeps what its numbers need, a spare chunk, and of their places a chunk for each 256
// numbers of which one is there.
// Heaps whose numbers are never the same may share their places, so that many heaps of few numbers each
// cost no more than one.
package dueheap

import "math"

// Heap is the heap. The zero Heap is empty and ready.
type Heap struct {
	chunks [][]family
	end    int // where the next item comes
	places *Places
}

// Sharing returns an empty heap that keeps its places there, beside other heaps. A number is in one of
// them at most, and Due, Set and Remove are called only on the one that it is in, if it is in any.
func Sharing(places *Places) Heap { return Heap{places: places} }

type item struct {
	due    int64
	seq    uint64
	number int32
}

// An item's place is its number in the chunks' items. The first three places are never used: with root
// at 3 the four children of place at are from 4*(at-2) on, so they are a family that lies in one chunk
// and begins at a place that is easy to come by.
type family [4]item

const (
	root      = 3
	families  = 256 // in a chunk
	chunkSize = 4 * families
	few       = 4 // families that the first chunk begins with; it doubles
)

// nobody is in the places of the last family that are not used: it comes before nothing.
var nobody = item{due: math.MaxInt64, seq: math.MaxUint64}

func (a *item) before(b *item) bool {
	return a.due < b.due || a.due == b.due && a.seq < b.seq
}

func (h *Heap) at(place int) *item {
	p := uint(place) // division by shifts
	return &h.chunks[p/chunkSize][p%chunkSize/4][p%4]
}

// Len is how many numbers there are.
func (h *Heap) Len() int { return max(0, h.end-root) }

// Has says whether the number is there.
func (h *Heap) Has(number int32) bool { return h.places != nil && h.places.Has(number) }

// Due is the due time of a number that is there.
func (h *Heap) Due(number int32) int64 { return h.at(h.places.of(number)).due }

// Min is the number due first.
func (h *Heap) Min() (number int32, due int64, ok bool) {
	if h.Len() == 0 {
		return 0, 0, false
	}
	first := &h.chunks[0][0][root]
	return first.number, first.due, true
}

// Set adds the number or moves it. Sequence numbers are below 2^64-1.
func (h *Heap) Set(number int32, due int64, seq uint64) {
	if h.places == nil {
		h.places = new(Places)
	}
	it := item{due, seq, number}
	if at := h.places.of(number); at != 0 {
		if it.before(h.at(at)) {
			h.up(at, it)
		} else {
			h.down(at, it)
		}
		return
	}
	h.end = max(h.end, root)
	if h.end%4 == 0 || h.end == root {
		h.grow()
	}
	h.places.use(number)
	h.end++
	h.up(h.end-1, it)
}

// grow makes room for a family, if there is none.
func (h *Heap) grow() {
	c := h.end / chunkSize
	switch {
	case len(h.chunks) == 0:
		h.chunks = append(h.chunks, newFamilies(few))
	case c == len(h.chunks):
		h.chunks = append(h.chunks, newFamilies(families))
	case h.end%chunkSize/4 == len(h.chunks[c]): // it is the first
		h.chunks[c] = append(h.chunks[c], newFamilies(len(h.chunks[c]))...)
	}
}

func newFamilies(count int) []family {
	made := make([]family, count)
	for i := range made {
		made[i] = family{nobody, nobody, nobody, nobody}
	}
	return made
}

// Remove takes the number out, if it is there.
func (h *Heap) Remove(number int32) {
	if !h.Has(number) {
		return
	}
	at := h.places.of(number)
	h.places.free(number)
	h.end--
	last := h.at(h.end)
	it := *last
	*last = nobody
	h.giveBack()
	if at == h.end {
		return
	}
	if at > root && it.before(h.at(parent(at))) {
		h.up(at, it)
	} else {
		h.down(at, it)
	}
}

// giveBack drops the last chunk when it is empty and the one before is half so, and half of a first one of which an
// eighth is left.
func (h *Heap) giveBack() {
	last := len(h.chunks) - 1
	switch {
	case last > 0:
		if h.end <= last*chunkSize-chunkSize/2 {
			h.chunks[last] = nil
			h.chunks = h.chunks[:last]
		}
	case len(h.chunks[0]) > few && h.end <= len(h.chunks[0])/2:
		h.chunks[0] = append([]family(nil), h.chunks[0][:len(h.chunks[0])/2]...)
	}
}

func parent(at int) int { return at>>2 + 2 }

// put writes an item, or one that moves, to the place at, whose record the caller has found already.
func (h *Heap) put(there *item, at int, it *item) {
	*there = *it
	h.places.move(it.number, at)
}

func (h *Heap) up(at int, it item) {
	there := h.at(at)
	for at > root {
		above := h.at(parent(at))
		if !it.before(above) {
			break
		}
		h.put(there, at, above)
		there, at = above, parent(at)
	}
	h.put(there, at, &it)
}

func (h *Heap) down(at int, it item) {
	there := h.at(at)
	for 4*(at-2) < h.end {
		below := uint(at - 2)
		children := &h.chunks[below/families][below%families]
		least, which := &children[0], 0
		if c := &children[1]; c.before(least) {
			least, which = c, 1
		}
		if c := &children[2]; c.before(least) {
			least, which = c, 2
		}
		if c := &children[3]; c.before(least) {
			least, which = c, 3
		}
		if !least.before(&it) {
			break
		}
		h.put(there, at, least)
		there, at = least, int(4*below)+which
	}
	h.put(there, at, &it)
}

// Each calls visit for every number, in no order. It must not change the heap.
func (h *Heap) Each(visit func(number int32, due int64, seq uint64)) {
	for at := root; at < h.end; at++ {
		it := h.at(at)
		visit(it.number, it.due, it.seq)
	}
}
