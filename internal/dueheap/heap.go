package dueheap

// Heap is the order. The zero Heap is empty and ready.
type Heap struct {
	places *Places
	length int
	height int   // levels of nodes above the leaves
	root   int32 // a node, or the only leaf, or 0
	first  int32 // the leaf with what is due first, 0 when there is nothing
	last   int32 // the leaf with what is due last
	newest int32 // a leaf out of order, with what came last and belongs to neither of those; 0 before it is needed
	high   entry // what is before it belongs to the first leaf, where that is not the only one
	low    entry // what is not before it belongs to the last leaf, likewise
}

// Sharing returns an empty heap that keeps its places there, beside other heaps. A number is in one of
// them at most, and Due, Seq, Set and Remove are called only on the one that it is in, if it is in any.
func Sharing(places *Places) Heap { return Heap{places: places} }

// Len is how many numbers there are.
func (h *Heap) Len() int { return h.length }

// Has says whether the number is there.
func (h *Heap) Has(number int32) bool { return h.places != nil && h.places.Has(number) }

// Due is the due time of a number that is there.
func (h *Heap) Due(number int32) int64 { return h.places.items.At(number).due }

// Seq is the sequence number of a number that is there.
func (h *Heap) Seq(number int32) uint64 { return h.places.items.At(number).seq }

// Min is the number due first.
func (h *Heap) Min() (number int32, due int64, ok bool) {
	if h.first == 0 {
		return 0, 0, false
	}
	number = h.places.leaf(h.first).least()
	return number, h.places.items.At(number).due, true
}

// Set adds the number or moves it.
func (h *Heap) Set(number int32, due int64, seq uint64) {
	if h.places == nil {
		h.places = new(Places)
	}
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
	it.place = h.add(h.near(&one), &one)
}

// near returns a leaf for an entry that can be told without going down the tree.
func (h *Heap) near(one *entry) int32 {
	switch {
	case h.first == h.last || !one.before(&h.low): // very often what is set last is due last
		return h.last
	case one.before(&h.high):
		return h.first
	case h.newest == 0:
		h.newest = h.places.newLeaf()
	case h.places.leaf(h.newest).full():
		h.settleNewest()
	}
	return h.newest
}

// settleNewest moves what came last to where it belongs. All at once that is quicker than one by one: they go down
// level by level together, and do not wait for each other.
func (h *Heap) settleNewest() {
	if h.newest == 0 || h.places.leaf(h.newest).used == 0 {
		return
	}
	var all [slots]entry
	var to [slots]int32
	p, n := h.places, 0
	l := p.leaf(h.newest)
	for rest := *l; rest.used != 0; rest.next() {
		all[n], to[n] = p.entry(rest.least()), h.root
		n++
	}
	l.used = 0
	for range h.height {
		for i := range to[:n] {
			to[i] = p.below(to[i], &all[i])
		}
	}
	for i := range all[:n] {
		one, id := &all[i], to[i]
		full := p.leaf(id).full()
		p.items.At(one.number).place = h.add(id, one)
		for later := i + 1; full && later < n; later++ { // the leaf was split
			if to[later] == id {
				to[later] = h.find(&all[later])
			}
		}
	}
}

// find returns the leaf to which an entry belongs.
func (h *Heap) find(one *entry) int32 {
	id := h.root
	for range h.height {
		id = h.places.below(id, one)
	}
	return id
}

// Remove takes the number out, if it is there.
func (h *Heap) Remove(number int32) {
	if !h.Has(number) {
		return
	}
	h.length--
	h.take(number, h.places.items.At(number))
	h.places.items.Free(number)
}

// Each calls visit for every number, in no order. It must not change the heap.
func (h *Heap) Each(visit func(number int32, due int64, seq uint64)) {
	h.walk(func(number int32, it *item) bool {
		visit(number, it.due, it.seq)
		return true
	})
}

// Until calls visit for every number due then or before, in no order. It costs what it visits. It must
// not change the heap.
func (h *Heap) Until(due int64, visit func(number int32, due int64)) {
	h.walk(func(number int32, it *item) bool {
		if it.due <= due {
			visit(number, it.due)
		}
		return it.due <= due
	})
}

// walk visits all, but not what is behind a leaf in which visit was false: nothing there comes before that.
func (h *Heap) walk(visit func(number int32, it *item) bool) {
	h.walkFrom(h.root, h.height, visit)
	h.walkFrom(h.newest, 0, visit)
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
