package dueheap

// insert puts an entry into a node, which is in order, at that place. A full node is split first.
func (h *Heap) insert(x *node, at int32, one *entry) {
	if x.len() < fanout {
		from, to := x.put(at, one)
		h.adopt(x, from, to)
		return
	}
	cut := h.cut(x, at)
	right := h.places.newNode(x.level)
	right.end = int32(copy(right.entries[:], x.entries[cut:x.end]))
	x.end = cut
	if at > cut || x.len() == fanout {
		right.put(at-cut, one)
		h.adopt(right, right.start, right.end)
	} else {
		from, to := x.put(at, one)
		h.adopt(x, from, to)
		h.adopt(right, right.start, right.end)
	}
	if h.last == x {
		h.last = right
	}
	h.link(x, right)
}

// cut is from where on a full node gives its entries to a new one, so that there is room for one more. Where entries
// come in order, at either end of all, what they leave behind is full.
func (h *Heap) cut(x *node, at int32) int32 {
	switch {
	case at == x.end && h.edge(x, false):
		return x.end
	case x.level == 0 && at == x.start && x == h.first:
		return x.start
	case x.level > 0 && at == x.start+1 && h.edge(x, true):
		return at
	}
	return x.start + fanout/2
}

// edge says whether the node is the first or the last one of its level.
func (h *Heap) edge(x *node, first bool) bool {
	for x.parent != 0 {
		above := h.places.nodes[x.parent]
		if first && above.entries[above.start].number != x.id || !first && above.entries[above.end-1].number != x.id {
			return false
		}
		x = above
	}
	return true
}

// link makes a new node known to the parent of the one before it.
func (h *Heap) link(x, right *node) {
	if x.parent == 0 {
		above := h.places.newNode(x.level + 1)
		h.root, x.parent = above.id, above.id
		above.put(0, &entry{number: x.id})
	}
	one := right.entries[right.start]
	one.number = right.id
	above := h.places.nodes[x.parent]
	h.insert(above, above.find(x.id)+1, &one)
}

// adopt notes where entries of a node are: numbers with their places, or nodes.
func (h *Heap) adopt(x *node, from, to int32) {
	for i := from; i < to; i++ {
		number := x.entries[i].number
		if x.level == 0 {
			h.places.move(number, place(x.id, i))
		} else {
			h.places.nodes[number].parent = x.id
		}
	}
}

// settle looks after a node from which an entry was taken. One that is empty is given back, and one with few entries is
// joined with one beside it when both together leave room.
func (h *Heap) settle(x *node) {
	switch {
	case x.len() > fanout/4:
	case x.len() == 0:
		h.unlink(x)
	case x.parent == 0:
		h.lower(x)
	default:
		h.join(x)
	}
}

// unlink gives back a node that is empty.
func (h *Heap) unlink(x *node) {
	if x.parent == 0 {
		h.root = 0
	} else {
		above := h.places.nodes[x.parent]
		above.drop(above.find(x.id))
		h.settle(above)
	}
	h.places.giveBack(x)
	if x == h.first {
		if h.first = h.end(true); h.first != nil {
			h.sort(h.first)
		}
	}
	if x == h.last {
		h.last = h.end(false)
	}
}

// end is the first leaf or the last one.
func (h *Heap) end(first bool) *node {
	if h.root == 0 {
		return nil
	}
	x := h.places.nodes[h.root]
	for x.level > 0 {
		at := x.end - 1
		if first {
			at = x.start
		}
		x = h.places.nodes[x.entries[at].number]
	}
	return x
}

// lower gives back the root while there is only one node below it.
func (h *Heap) lower(x *node) {
	for x.level > 0 && x.len() == 1 {
		below := h.places.nodes[x.entries[x.start].number]
		h.root, below.parent = below.id, 0
		h.places.giveBack(x)
		x = below
	}
}

// join moves the entries of a node, or of the one behind it, to the one before, if they are few.
func (h *Heap) join(x *node) {
	above := h.places.nodes[x.parent]
	at := above.find(x.id)
	if at+1 < above.end && h.joinAt(above, at) {
		return
	}
	if at > above.start {
		h.joinAt(above, at-1)
	}
}

func (h *Heap) joinAt(above *node, at int32) bool {
	x, right := h.places.nodes[above.entries[at].number], h.places.nodes[above.entries[at+1].number]
	if x.len()+right.len() > fanout*3/4 {
		return false
	}
	if x.level > 0 { // what its first entry did not say is said above
		said := &right.entries[right.start]
		said.due, said.seq = above.entries[at+1].due, above.entries[at+1].seq
	}
	from := x.end
	if x.start > 0 {
		from, x.end, x.start = 0, int32(copy(x.entries[:], x.all())), 0
	}
	x.end += int32(copy(x.entries[x.end:], right.all()))
	h.adopt(x, from, x.end)
	x.sorted = x.sorted && right.sorted
	if h.last == right {
		h.last = x
	}
	if h.first == x {
		h.sort(x)
	}
	above.drop(at + 1)
	h.settle(above)
	h.places.giveBack(right)
	return true
}
