package dueheap

import "math/bits"

const (
	slots = 64 // of a leaf: the bits of a word
	few   = slots / 4
)

// leaf holds numbers in its used slots; what is in the others says nothing. In the first leaf of a heap they are in
// order.
type leaf struct {
	numbers []int32
	used    uint64
}

// entry is a number with what orders it.
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

func (l *leaf) full() bool { return l.used == ^uint64(0) }

// least is what the first used slot has: in the first leaf of a heap that which is due first.
func (l *leaf) least() int32 { return l.numbers[bits.TrailingZeros64(l.used)] }

// next goes on to the next used slot, in a copy.
func (l *leaf) next() { l.used &= l.used - 1 }

// add puts an entry into the leaf to which it belongs, and returns its place. A leaf that is full is split first.
func (h *Heap) add(id int32, one *entry) (place int32) {
	l := h.places.leaf(id)
	if l.full() {
		id = h.split(id, one)
		l = h.places.leaf(id)
	}
	at := bits.TrailingZeros64(^l.used)
	if id == h.first {
		at = h.places.room(id, one)
	}
	l.numbers[at] = one.number
	l.used |= 1 << at
	return placeOf(id, at)
}

// take empties the slot of a number.
func (h *Heap) take(number int32, it *item) {
	id := it.place / slots
	l := h.places.leaf(id)
	l.used &^= 1 << (it.place % slots)
	if left := l.len(); (left == few || left == 0) && id != h.newest {
		h.settle(&entry{it.due, it.seq, number})
	}
}

// room returns a free slot for an entry in a leaf that is in order. What lies between its place and the nearest
// free slot makes way.
func (p *Places) room(id int32, one *entry) int {
	l := p.leaf(id)
	if l.used == 0 {
		return slots - 1
	}
	at := p.after(l, one)
	if at == slots {
		p.pack(id)
		at = l.len()
	}
	free := ^l.used
	left, right := bits.Len64(free<<(slots-at)>>(slots-at))-1, bits.TrailingZeros64(free>>at<<at)
	if right < slots && (left < 0 || right-at <= at-1-left) {
		copy(l.numbers[at+1:], l.numbers[at:right])
		l.used |= 1 << right
		p.adopt(id, at+1, right+1)
		return at
	}
	copy(l.numbers[left:], l.numbers[left+1:at])
	l.used |= 1 << left
	p.adopt(id, left, at-1)
	return at - 1
}

// after returns the slot before which an entry belongs in a leaf that is in order: what it is not before is in the
// slots below, and the rest is not.
func (p *Places) after(l *leaf, one *entry) int {
	low, high := bits.TrailingZeros64(l.used), slots-bits.LeadingZeros64(l.used)
	for low < high {
		middle := (low + high) / 2
		next := bits.TrailingZeros64(l.used >> middle << middle)
		if next < high {
			if other := p.entry(l.numbers[next]); !one.before(&other) {
				low = next + 1
				continue
			}
		}
		high = middle
	}
	return low
}

// inOrder says whether a leaf is as the first one has to be.
func (p *Places) inOrder(id int32) bool {
	rest := *p.leaf(id)
	last := p.entry(rest.least())
	for rest.next(); rest.used != 0; rest.next() {
		one := p.entry(rest.least())
		if one.before(&last) {
			return false
		}
		last = one
	}
	return true
}

// pack puts what is in a leaf in order, from its first slot on.
func (p *Places) pack(id int32) {
	var all [slots]entry
	l, n := p.leaf(id), 0
	for rest := *l; rest.used != 0; rest.next() { // on its own: these loads do not wait for each other
		all[n] = p.entry(rest.least())
		n++
	}
	for i := 1; i < n; i++ {
		one, at := all[i], i
		for at > 0 && one.before(&all[at-1]) {
			all[at] = all[at-1]
			at--
		}
		all[at] = one
	}
	for at := range all[:n] {
		l.numbers[at] = all[at].number
	}
	l.used = 1<<n - 1
	p.adopt(id, 0, n)
}

// adopt notes where numbers of a leaf are.
func (p *Places) adopt(id int32, from, to int) {
	for at, number := range p.leaf(id).numbers[from:to] {
		p.items.At(number).place = placeOf(id, from+at)
	}
}
