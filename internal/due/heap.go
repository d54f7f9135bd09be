package due

import (
	"slices"
	"sync"
)

// Heap orders items by due time, and equal due times by a sequence number. Min is O(1), all else O(log n). The zero Heap is
// empty and ready for use.
//
// It is the usual heap in a slice, but with four entries below each, which halves the number of levels.
type Heap[T any] struct {
	entries []entry[T]
	rooms   sync.Pool // of *[]entry[T], empty: what was given back, until the garbage collector takes it
}

// Place says where in a Heap an item is, so that it can be moved and removed. It must not be copied while it is in a
// heap. The zero Place is in none.
type Place struct{ at int } // in Heap.entries, plus one

// In reports whether the item is in a heap.
func (p *Place) In() bool { return p.at > 0 }

type entry[T any] struct {
	due   int64
	seq   uint64
	place *Place
	item  T
}

func (a *entry[T]) before(b *entry[T]) bool { return a.due < b.due || a.due == b.due && a.seq < b.seq }

// Len returns how many items are in the heap.
func (h *Heap[T]) Len() int { return len(h.entries) }

// Min returns the item that is due first, and its due time; false if the heap is empty.
func (h *Heap[T]) Min() (item T, due int64, ok bool) {
	if len(h.entries) == 0 {
		return item, 0, false
	}
	return h.entries[0].item, h.entries[0].due, true
}

// Set adds the item, or moves it if it is in the heap already.
func (h *Heap[T]) Set(item T, place *Place, due int64, seq uint64) {
	if !place.In() {
		if n := len(h.entries); n == cap(h.entries) {
			h.grow(n)
		}
		h.entries = append(h.entries, entry[T]{})
		place.at = len(h.entries)
	}
	h.settle(place.at-1, entry[T]{due, seq, place, item})
}

// Remove removes the item at that place, and reports whether it was in the heap.
func (h *Heap[T]) Remove(place *Place) bool {
	if !place.In() {
		return false
	}
	at, last := place.at-1, len(h.entries)-1
	moved := h.entries[last]
	h.entries[last] = entry[T]{}
	h.entries = h.entries[:last]
	if at < last {
		h.settle(at, moved)
	}
	place.at = 0
	if excessive(cap(h.entries), last) {
		h.leave()
	}
	return true
}

// leave moves to a room of the right size.
func (h *Heap[T]) leave() {
	old := h.entries
	h.entries = slices.Clone(old)
	clear(old)
	h.rooms.Put(&old)
}

// grow makes room: that which was given back, unless n entries would be few in it, else twice as much, up to a size from
// which append's smaller steps save more memory than time.
func (h *Heap[T]) grow(n int) {
	if n >= few {
		if r, ok := h.rooms.Get().(*[]entry[T]); ok && excessive(cap(*r), n) {
			h.rooms.Put(r)
		} else if ok && cap(*r) > n {
			h.entries = append((*r)[:0], h.entries...)
			return
		}
	}
	if n < 16*few {
		h.entries = append(make([]entry[T], 0, 2*n+2), h.entries...)
	}
}

// settle puts an entry where it belongs, beginning at an unused index.
func (h *Heap[T]) settle(at int, one entry[T]) {
	for at > 0 && one.before(&h.entries[(at-1)/4]) {
		h.put(at, &h.entries[(at-1)/4])
		at = (at - 1) / 4
	}
	for at*4+1 < len(h.entries) {
		below := h.entries[at*4+1 : min(at*4+5, len(h.entries))]
		least := 0
		for i := 1; i < len(below); i++ {
			if below[i].before(&below[least]) {
				least = i
			}
		}
		if one.before(&below[least]) {
			break
		}
		h.put(at, &below[least])
		at = at*4 + 1 + least
	}
	h.put(at, &one)
}

func (h *Heap[T]) put(at int, one *entry[T]) {
	h.entries[at] = *one
	one.place.at = at + 1
}

// Until calls visit for every item that is due at that time or before, in no particular order, and costs what it visits.
// visit must not change the heap.
func (h *Heap[T]) Until(due int64, visit func(item T)) { h.until(0, due, visit) }

func (h *Heap[T]) until(at int, due int64, visit func(item T)) {
	if at >= len(h.entries) || h.entries[at].due > due {
		return
	}
	visit(h.entries[at].item)
	for below := at*4 + 1; below < at*4+5; below++ {
		h.until(below, due, visit)
	}
}
