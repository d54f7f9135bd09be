package dueheap

import "math/bits"

const (
	slots = 64 // in a leaf: the bits of a word
	few   = slots / 4
)

// leaf holds numbers in its used slots; the contents of the others mean nothing. In the first leaf of a heap the used
// slots are in order.
type leaf struct {
	numbers     []int32
	used        uint64
	from, until int64 // what is due strictly between the two belongs here, and perhaps more
}

// entry is a number and what orders it.
type entry struct {
	due    int64
	seq    uint64
	number int32
}

// before orders a heap. No two of its entries are equal.
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

// holds says whether everything due at that time belongs here.
func (l *leaf) holds(due int64) bool { return l.from < due && due < l.until }

func (l *leaf) full() bool { return l.used == ^uint64(0) }

// least returns the number in the first used slot. In the first leaf of a heap that is the number due first.
func (l *leaf) least() int32 { return l.numbers[bits.TrailingZeros64(l.used)] }

// next moves on to the next used slot. It is called on a copy.
func (l *leaf) next() { l.used &= l.used - 1 }

// add puts an entry into the leaf that it belongs to, and returns its place. A full leaf is split first.
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

// take removes a number from its slot.
func (h *Heap) take(number int32, it *item) {
	if it.place < 0 {
		h.takeNewest(^it.place)
		return
	}
	h.taken = it.place / slots
	l := h.places.leaf(h.taken)
	l.used &^= 1 << (it.place % slots)
	if left := l.len(); left == few || left == 0 {
		h.settle(&entry{it.due, it.seq, number})
	}
}

// takeNewest removes an entry of newest. The last entry takes its place.
func (h *Heap) takeNewest(at int32) {
	last := len(h.newest) - 1
	h.newest[at] = h.newest[last]
	h.places.items.At(h.newest[at].number).place = ^at
	h.newest = h.newest[:last]
}

// room returns a free slot for an entry in a leaf that is in order. It moves the numbers between the entry's place and
// the nearest free slot.
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

// after returns the slot before which an entry belongs in a leaf that is in order: lower slots hold what is not after
// it, the others what is.
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

// inOrder says whether a leaf is in order, as the first one must be.
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

// pack puts the numbers of a leaf in order, into the first slots.
func (p *Places) pack(id int32) {
	var some, near [slots]entry
	l, n := p.leaf(id), 0
	for rest := *l; rest.used != 0; rest.next() { // a loop of its own, so that these reads overlap
		some[n] = p.entry(rest.least())
		n++
	}
	all := some[:n]
	if n > few {
		nearOrder(all, near[:n])
		all = near[:n]
	}
	for i := 1; i < n; i++ {
		one, at := all[i], i
		for at > 0 && one.before(&all[at-1]) {
			all[at] = all[at-1]
			at--
		}
		all[at] = one
	}
	for at := range all {
		l.numbers[at] = all[at].number
	}
	l.used = 1<<n - 1
	p.adopt(id, 0, n)
}

// nearOrder copies entries near to their places in order, in a few passes: it divides the time between the first and the
// last into slots. What has the same slot stays as it is.
func nearOrder(all, near []entry) {
	least, most := all[0].due, all[0].due
	for i := range all {
		least, most = min(least, all[i].due), max(most, all[i].due)
	}
	shift := max(0, bits.Len64(uint64(most)-uint64(least))-bits.Len(slots-1))
	var ends [slots]uint8 // of each slot
	for i := range all {
		ends[(uint64(all[i].due)-uint64(least))>>shift]++
	}
	sum := uint8(0)
	for at := range ends {
		begin := sum
		sum += ends[at]
		ends[at] = begin
	}
	for i := range all {
		end := &ends[(uint64(all[i].due)-uint64(least))>>shift]
		near[*end] = all[i]
		*end++
	}
}

// all returns the entries of a full leaf by slot.
func (p *Places) all(l *leaf) (all [slots]entry) {
	for at, number := range l.numbers {
		all[at] = p.entry(number)
	}
	return all
}

// allBefore says whether all entries of a full leaf are before that one.
func allBefore(all *[slots]entry, one *entry) bool {
	for at := range all {
		if one.before(&all[at]) {
			return false
		}
	}
	return true
}

// middle returns a bound that divides the entries of a full leaf into halves that do not differ by much. Usually the mean
// of the due times does. If not, Hoare's selection finds the entry in the middle.
func middle(all *[slots]entry) entry {
	sum := 0.0
	for at := range all {
		sum += float64(all[at].due)
	}
	mean, before := entry{due: int64(sum / slots)}, 0
	for at := range all {
		if all[at].due < mean.due {
			before++
		}
	}
	if before >= slots*3/8 && before <= slots*5/8 {
		return mean
	}
	some := *all
	for from, to := 0, slots-1; from < to; {
		pivot, left, right := some[(from+to)/2], from, to
		for left <= right {
			for some[left].before(&pivot) {
				left++
			}
			for pivot.before(&some[right]) {
				right--
			}
			if left <= right {
				some[left], some[right] = some[right], some[left]
				left++
				right--
			}
		}
		switch {
		case right >= slots/2:
			to = right
		case left <= slots/2:
			from = left
		default:
			return some[slots/2]
		}
	}
	return some[slots/2]
}

// move moves what is not before a bound from a full leaf, which has all these, to an empty one. An order stays.
func (p *Places) move(all *[slots]entry, bound *entry, id, to int32) {
	from, into, free := p.leaf(id), p.leaf(to), 0
	for at := range all {
		if !all[at].before(bound) {
			from.used &^= 1 << at
			into.numbers[free] = all[at].number
			free++
		}
	}
	into.used = 1<<free - 1
	p.adopt(to, 0, free)
}

// adopt records the places of the numbers in a part of a leaf.
func (p *Places) adopt(id int32, from, to int) {
	for at, number := range p.leaf(id).numbers[from:to] {
		p.items.At(number).place = placeOf(id, from+at)
	}
}
