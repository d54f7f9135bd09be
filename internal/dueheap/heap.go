package dueheap

// Heap is the order. The zero Heap is empty and ready.
type Heap struct {
	places *Places
	root   int32
	length int
	first  *node // the leaf with what is due first, nil when there is nothing
	last   *node // the leaf with what is due last
}

// Sharing returns an empty heap that keeps its places there, beside other heaps. A number is in one of
// them at most, and Due, Set and Remove are called only on the one that it is in, if it is in any.
func Sharing(places *Places) Heap { return Heap{places: places} }

// Len is how many numbers there are.
func (h *Heap) Len() int { return h.length }

// Has says whether the number is there.
func (h *Heap) Has(number int32) bool { return h.places != nil && h.places.Has(number) }

// Due is the due time of a number that is there.
func (h *Heap) Due(number int32) int64 {
	x := h.places.nodes[h.places.of(number)]
	return x.dues[x.find(number)]
}

// Seq is the sequence number of a number that is there.
func (h *Heap) Seq(number int32) uint64 {
	x := h.places.nodes[h.places.of(number)]
	return x.seqs[x.find(number)]
}

// Min is the number due first.
func (h *Heap) Min() (number int32, due int64, ok bool) {
	x := h.first
	if x == nil {
		return 0, 0, false
	}
	return x.numbers[x.start], x.dues[x.start], true
}

// Set adds the number or moves it.
func (h *Heap) Set(number int32, due int64, seq uint64) {
	if h.places == nil {
		h.places = new(Places)
	}
	if at := h.places.of(number); at != 0 {
		h.remove(h.places.nodes[at], number)
	}
	one := entry{due, seq, number}
	h.length++
	if h.root == 0 {
		x := h.places.newNode(0)
		h.root, h.first, h.last = x.id, x, x
	}
	x := h.last
	at := x.end
	if x.start < at && one.before(x, at-1) { // very often what is set last is due last
		x = h.leaf(&one)
		at = x.after(&one)
	}
	h.places.use(number)
	h.insert(x, at, one)
}

// leaf returns the one to which an entry belongs.
func (h *Heap) leaf(one *entry) *node {
	x := h.places.nodes[h.root]
	for x.level > 0 {
		x = h.places.nodes[x.numbers[max(x.after(one)-1, x.start)]]
	}
	return x
}

// Remove takes the number out, if it is there.
func (h *Heap) Remove(number int32) {
	if h.places == nil {
		return
	}
	at := h.places.of(number)
	if at == 0 {
		return
	}
	h.remove(h.places.nodes[at], number)
	h.places.forget(number)
}

func (h *Heap) remove(x *node, number int32) {
	h.length--
	h.take(x, x.find(number))
}

// Each calls visit for every number, in their order. It must not change the heap.
func (h *Heap) Each(visit func(number int32, due int64, seq uint64)) {
	h.walk(h.root, func(x *node, at int32) bool {
		visit(x.numbers[at], x.dues[at], x.seqs[at])
		return true
	})
}

// Until calls visit for every number due then or before, in their order. It costs what it visits. It must
// not change the heap.
func (h *Heap) Until(due int64, visit func(number int32, due int64)) {
	h.walk(h.root, func(x *node, at int32) bool {
		if x.dues[at] > due {
			return false
		}
		visit(x.numbers[at], x.dues[at])
		return true
	})
}

// walk visits what is below a node, in order, while visit says so.
func (h *Heap) walk(id int32, visit func(leaf *node, at int32) bool) bool {
	if id == 0 {
		return true
	}
	x := h.places.nodes[id]
	for at := x.start; at < x.end; at++ {
		if x.level == 0 && !visit(x, at) || x.level > 0 && !h.walk(x.numbers[at], visit) {
			return false
		}
	}
	return true
}
