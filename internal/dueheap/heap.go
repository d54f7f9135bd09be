package dueheap

// Heap is a set of numbers ordered by due time. The zero Heap is empty and ready for use.
type Heap struct {
	places *Places
	length int
	height int     // levels of nodes above the leaves
	root   int32   // a node, or the only leaf, or 0
	first  int32   // the leaf with what is due first; 0 if there is none
	last   int32   // the leaf with what is due last
	taken  int32   // the leaf of the last removal, 0 for none: a number that moves often stays near
	high   entry   // entries before it belong to the first leaf, if there is more than one leaf
	low    entry   // entries not before it belong to the last leaf, if there is more than one
	newest []entry // added last, not in a leaf yet; at most slots, in no order
	least  entry   // what Min returned last
	looked bool    // since the last Set and Remove
}

// Sharing returns an empty heap that uses the same Places as other heaps. A number is in at most one of them. Call Due
// and Seq only on the heap that has it. Call Set and Remove on no other heap either while one has it.
func Sharing(places *Places) Heap { return Heap{places: places} }

// Len returns how many numbers are in the heap.
func (h *Heap) Len() int { return h.length }

// Has reports whether the number is in the heap, or in another one that shares its places.
func (h *Heap) Has(number int32) bool { return h.places != nil && h.places.Has(number) }

// Due returns the due time of a number in the heap.
func (h *Heap) Due(number int32) int64 { return h.places.items.At(number).due }

// Seq returns the sequence number of a number in the heap.
func (h *Heap) Seq(number int32) uint64 { return h.places.items.At(number).seq }

// Min returns the number that is due first, and its due time; false if the heap is empty.
func (h *Heap) Min() (number int32, due int64, ok bool) {
	if !h.looked {
		h.look()
	}
	return h.least.number, h.least.due, h.length > 0
}

// look finds what is due first. Far from every call of Min comes after a change.
//
//go:noinline
func (h *Heap) look() {
	h.looked = true
	if h.first != 0 {
		h.least = h.places.entry(h.places.leaf(h.first).least())
	}
}

// Set adds the number or changes its due time.
func (h *Heap) Set(number int32, due int64, seq uint64) {
	if h.places == nil {
		h.places = new(Places)
	}
	h.looked = false
	p := h.places
	one := entry{due, seq, number}
	var it *item
	if p.items.Has(number) {
		it = p.items.At(number)
		h.take(number, it)
	} else {
		it = p.items.Use(number)
		h.length++
	}
	it.due, it.seq = due, seq
	if h.root == 0 {
		h.root = p.newLeaf()
		h.first, h.last = h.root, h.root
	}
	it.place = h.put(&one)
}

// put adds an entry without a search from the root, and returns its place.
func (h *Heap) put(one *entry) (place int32) {
	switch {
	case h.first == h.last || !one.before(&h.low): // often what is set last is due last
		return h.add(h.last, one)
	case one.before(&h.high):
		return h.add(h.first, one)
	case h.taken != 0 && h.places.leaf(h.taken).holds(one.due):
		return h.add(h.taken, one)
	case h.newest == nil:
		h.newest = h.places.newNewest()
	case len(h.newest) == slots:
		h.settleNewest()
	}
	h.newest = append(h.newest, *one)
	return ^int32(len(h.newest) - 1)
}

// settleNewest moves the entries of newest to their leaves. Moving them down together, level by level, is faster than
// one by one, because their memory reads overlap.
func (h *Heap) settleNewest() {
	var to [slots]int32
	p, all := h.places, h.newest
	for i := range all {
		to[i] = h.root
	}
	for range h.height {
		p.descend(&to, all)
	}
	for i := range all {
		one, id := &all[i], to[i]
		full := p.leaf(id).full()
		p.items.At(one.number).place = h.add(id, one)
		for later := i + 1; full && later < len(all); later++ { // the leaf was split
			if to[later] == id {
				to[later] = h.find(&all[later])
			}
		}
	}
	h.newest = all[:0]
}

// find returns the leaf that an entry belongs to.
func (h *Heap) find(one *entry) int32 {
	id := h.root
	for range h.height {
		id = h.places.below(id, one)
	}
	return id
}

// Remove removes the number and reports whether it was in the heap.
func (h *Heap) Remove(number int32) bool {
	if !h.Has(number) {
		return false
	}
	h.looked = false
	h.length--
	h.take(number, h.places.items.At(number))
	h.places.items.Free(number)
	return true
}

// Each calls visit for every number, in no particular order. visit must not change the heap.
func (h *Heap) Each(visit func(number int32, due int64, seq uint64)) {
	h.walk(func(number int32, it *item) bool {
		visit(number, it.due, it.seq)
		return true
	})
}

// Until calls visit for every number due at that time or before, in no particular order. The cost grows with their
// number. visit must not change the heap.
func (h *Heap) Until(due int64, visit func(number int32, due int64)) {
	h.walk(func(number int32, it *item) bool {
		if it.due <= due {
			visit(number, it.due)
		}
		return it.due <= due
	})
}

// walk visits all numbers, but stops after a leaf in which visit returned false: everything in later leaves is due
// later.
func (h *Heap) walk(visit func(number int32, it *item) bool) {
	h.walkFrom(h.root, h.height, visit)
	for _, one := range h.newest {
		visit(one.number, h.places.items.At(one.number))
	}
}

func (h *Heap) walkFrom(id int32, level int, visit func(number int32, it *item) bool) (goOn bool) {
	goOn = true
	switch {
	case id == 0:
	case level > 0:
		x := h.places.nodes[id]
		for _, below := range x.below[:x.count] {
			if !h.walkFrom(below, level-1, visit) {
				return false
			}
		}
	default:
		for rest := *h.places.leaf(id); rest.used != 0; rest.next() {
			number := rest.least()
			goOn = visit(number, h.places.items.At(number)) && goOn
		}
	}
	return goOn
}
