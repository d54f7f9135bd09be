package dueheap

// Heap is the order. The zero Heap is empty and ready.
type Heap struct {
	places *Places
	length int
	height int   // levels of nodes above the leaves
	root   int32 // a node, or the only leaf, or 0
	first  int32 // the leaf with what is due first, 0 when there is nothing
	last   int32 // the leaf with what is due last
	low    entry // what is not before it belongs to the last leaf, where that is not the only one
}

// Sharing returns an empty heap that keeps its places there, beside other heaps. A number is in one of
// them at most, and Due, Seq, Set and Remove are called only on the one that it is in, if it is in any.
func Sharing(places *Places) Heap { return Heap{places: places} }

// Len is how many numbers there are.
func (h *Heap) Len() int { return h.length }

// Has says whether the number is there.
func (h *Heap) Has(number int32) bool { return h.places != nil && h.places.Has(number) }

// Due is the due time of a number that is there.
func (h *Heap) Due(number int32) int64 { return h.places.entry(number).due }

// Seq is the sequence number of a number that is there.
func (h *Heap) Seq(number int32) uint64 { return h.places.entry(number).seq }

// Min is the number due first.
func (h *Heap) Min() (number int32, due int64, ok bool) {
	if h.first == 0 {
		return 0, 0, false
	}
	one := h.places.leaf(h.first).least()
	return one.number, one.due, true
}

// Set adds the number or moves it.
func (h *Heap) Set(number int32, due int64, seq uint64) {
	if h.places == nil {
		h.places = new(Places)
	}
	if at := h.places.use(number); at != 0 {
		h.take(at)
	} else {
		h.length++
	}
	one := entry{due, seq, number}
	if h.root == 0 {
		h.root = h.places.newLeaf()
		h.first, h.last = h.root, h.root
	}
	id := h.last // very often what is set last is due last
	if h.first != h.last && one.before(&h.low) {
		id = h.find(&one)
	}
	h.add(id, &one)
}

// find returns the leaf to which an entry belongs.
func (h *Heap) find(one *entry) int32 {
	id := h.root
	for range h.height {
		x := h.places.nodes[id]
		id = x.below[x.find(one)]
	}
	return id
}

// Remove takes the number out, if it is there.
func (h *Heap) Remove(number int32) {
	if h.places == nil {
		return
	}
	if at := h.places.forget(number); at != 0 {
		h.length--
		h.take(at)
	}
}

// Each calls visit for every number, in no order. It must not change the heap.
func (h *Heap) Each(visit func(number int32, due int64, seq uint64)) {
	h.walk(h.root, h.height, func(one *entry) bool {
		visit(one.number, one.due, one.seq)
		return true
	})
}

// Until calls visit for every number due then or before, in no order. It costs what it visits. It must
// not change the heap.
func (h *Heap) Until(due int64, visit func(number int32, due int64)) {
	h.walk(h.root, h.height, func(one *entry) bool {
		if one.due <= due {
			visit(one.number, one.due)
		}
		return one.due <= due
	})
}

// walk visits the entries below a node, or of a leaf, and goes no further than to the end of the leaf in which
// visit was false: nothing behind it is before that entry.
func (h *Heap) walk(id int32, level int, visit func(one *entry) bool) (goOn bool) {
	goOn = true
	switch {
	case id == 0:
	case level > 0:
		x := h.places.nodes[id]
		for _, below := range x.below[:x.count] {
			if !h.walk(below, level-1, visit) {
				return false
			}
		}
	default:
		for l := h.places.leaf(id).all(); l.used != 0; l.next() {
			goOn = visit(l.least()) && goOn
		}
	}
	return goOn
}
