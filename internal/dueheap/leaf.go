package dueheap

import "math/bits"

const (
	slots = 64 // of a leaf: the bits of a word; they take 1,536 bytes, which is what Go allocates for them
	few   = slots / 4
)

// leaf holds numbers: in its used slots, the others hold what was there or nothing. In the first leaf of a heap all from
// the first used slot to the last one are in order, what is not used any more among them.
type leaf struct {
	entries []entry
	used    uint64
}

// entry is a number in a leaf, or the bound of a node.
type entry struct {
	due    int64
	seq    uint64
	number int32
}

// before is the order of all that is in a heap. No two are equal in it.
func (a *entry) before(b *entry) bool {
	switch {
	case a.due != b.due:
		return a.due < b.due
	case a.seq != b.seq:
		return a.seq < b.seq
	}
	return a.number < b.number
}

func (l *leaf) len() int { return bits.OnesCount64(l.used) }

// least is the entry in the first used slot: in the first leaf of a heap that which is due first.
func (l *leaf) least() *entry { return &l.entries[bits.TrailingZeros64(l.used)] }

// all returns a copy, to go through the used slots by least and next.
func (l *leaf) all() leaf { return *l }

func (l *leaf) next() { l.used &= l.used - 1 }

// inOrder says whether the leaf is as the first one has to be.
func (l *leaf) inOrder() bool {
	start, end := bits.TrailingZeros64(l.used), slots-bits.LeadingZeros64(l.used)
	for at := start + 1; at < end; at++ {
		if l.entries[at].before(&l.entries[at-1]) {
			return false
		}
	}
	return end-start == l.len()
}

// after returns the slot before which an entry belongs in a leaf that is in order.
func (l *leaf) after(one *entry) int {
	low, high := bits.TrailingZeros64(l.used), slots-bits.LeadingZeros64(l.used)
	for low < high {
		if middle := (low + high) / 2; one.before(&l.entries[middle]) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}

// add puts an entry into the leaf to which it belongs. A leaf that is full is split first.
func (h *Heap) add(id int32, one *entry) {
	l := h.places.leaf(id)
	if l.used == ^uint64(0) {
		id = h.split(id, one)
		l = h.places.leaf(id)
	}
	at := bits.TrailingZeros64(^l.used)
	if id == h.first {
		at = h.places.room(id, one)
	}
	l.entries[at] = *one
	l.used |= 1 << at
	h.places.move(one.number, place(id, at))
}

// take empties the slot at that place.
func (h *Heap) take(at int32) {
	id, slot := at/slots, at%slots
	l := h.places.leaf(id)
	l.used &^= 1 << slot
	if left := l.len(); left == few || left == 0 {
		gone := l.entries[slot]
		h.settle(&gone)
	}
}

// room returns a free slot for an entry in a leaf that is in order. What lies between its place and the nearest
// free slot makes way.
func (p *Places) room(id int32, one *entry) int {
	l := p.leaf(id)
	if l.used == 0 {
		return slots - 1
	}
	at := l.after(one)
	if at == slots {
		p.pack(id)
		at = l.len()
	}
	free := ^l.used
	left, right := bits.Len64(free<<(slots-at)>>(slots-at))-1, bits.TrailingZeros64(free>>at<<at)
	if right < slots && (left < 0 || right-at <= at-1-left) {
		copy(l.entries[at+1:], l.entries[at:right])
		l.used |= 1 << right
		p.adopt(id, at+1, right+1)
		return at
	}
	copy(l.entries[left:], l.entries[left+1:at])
	l.used |= 1 << left
	p.adopt(id, left, at-1)
	return at - 1
}

// pack puts what is in a leaf in order, from its first slot on.
func (p *Places) pack(id int32) {
	l := p.leaf(id)
	e, n := l.entries, 0
	for rest := l.all(); rest.used != 0; rest.next() { // n slots have been read, or more
		one, at := *rest.least(), n
		for at > 0 && one.before(&e[at-1]) {
			e[at] = e[at-1]
			at--
		}
		e[at] = one
		n++
	}
	l.used = 1<<n - 1
	p.adopt(id, 0, n)
}

// adopt notes where entries of a leaf are.
func (p *Places) adopt(id int32, from, to int) {
	e := p.leaf(id).entries
	for at := from; at < to; at++ {
		p.move(e[at].number, place(id, at))
	}
}
