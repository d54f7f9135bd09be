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
	x := h.first
	if x == nil {
		return 0, 0, false
	}
	one := &x.entries[x.start]
	return one.number, one.due, true
}

// Set adds the number or moves it.
func (h *Heap) Set(number int32, due int64, seq uint64) {
	if h.places == nil {
		h.places = new(Places)
	}
	if at := h.places.use(number); at != 0 {
		x, i := h.places.at(at)
		h.take(x, i)
	} else {
		h.length++
	}
	one := entry{due, seq, number}
	x := h.last
	if x == nil {
		x = h.places.newNode(0)
		h.root, h.first, h.last = x.id, x, x
	} else if !x.sorted || one.before(&x.entries[x.end-1]) { // very often what is set last is due last
		x = h.leaf(&one)
	}
	h.add(x, &one)
}

// leaf returns the one to which an entry belongs.
func (h *Heap) leaf(one *entry) *node {
	x := h.places.nodes[h.root]
	for x.level > 0 {
		x = h.places.nodes[x.entries[max(x.after(one)-1, x.start)].number]
	}
	return x
}

// Remove takes the number out, if it is there.
func (h *Heap) Remove(number int32) {
	if h.places == nil {
		return
	}
	if at := h.places.forget(number); at != 0 {
		h.length--
		x, i := h.places.at(at)
		h.take(x, i)
	}
}

// Each calls visit for every number, in no order. It must not change the heap.
func (h *Heap) Each(visit func(number int32, due int64, seq uint64)) {
	h.walk(h.root, func(leaf *node) bool {
		for _, one := range leaf.all() {
			visit(one.number, one.due, one.seq)
		}
		return true
	})
}

// Until calls visit for every number due then or before, in no order. It costs what it visits. It must
// not change the heap.
func (h *Heap) Until(due int64, visit func(number int32, due int64)) {
	h.walk(h.root, func(leaf *node) (goOn bool) {
		goOn = true
		for _, one := range leaf.all() {
			if one.due <= due {
				visit(one.number, one.due)
				continue
			}
			goOn = false // nor is anything in the leaves behind it
			if leaf.sorted {
				break
			}
		}
		return goOn
	})
}

// walk visits the leaves below a node, in order, while visit says so.
func (h *Heap) walk(id int32, visit func(leaf *node) bool) bool {
	if id == 0 {
		return true
	}
	x := h.places.nodes[id]
	if x.level == 0 {
		return visit(x)
	}
	for _, below := range x.all() {
		if !h.walk(below.number, visit) {
			return false
		}
	}
	return true
}
