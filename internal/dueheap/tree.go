package dueheap

import "math/bits"

// split makes two leaves of a full one and returns the one that an entry belongs to. If entries are added in order, at
// either end of the heap, it leaves full leaves behind.
func (h *Heap) split(id int32, one *entry) int32 {
	p := h.places
	right := p.newLeaf()
	l, r, all := p.leaf(id), p.leaf(right), p.all(p.leaf(id))
	bound, cutNodes := *one, fanout/2
	switch {
	case id == h.last && allBefore(&all, one):
		cutNodes = fanout
	case id == h.first && one.before(&all[0]):
		bound, cutNodes = all[0], 1
	case id == h.first:
		bound = all[slots/2]
	default:
		bound = middle(&all)
	}
	p.move(&all, &bound, id, right)
	l.until, r.from, r.until = bound.due, bound.due, l.until
	if id == h.first {
		h.high = bound
	}
	if id == h.last {
		h.last, h.low = right, bound
	}
	h.link(bound, right, cutNodes)
	if one.before(&bound) {
		return id
	}
	return right
}

// link adds a new leaf to the tree.
func (h *Heap) link(bound entry, id int32, cut int) {
	if h.height > 0 {
		if bound, id = h.places.insert(h.root, h.height, bound, id, cut); id == 0 {
			return
		}
	}
	root := h.places.newNode()
	x := h.places.nodes[root]
	x.put(0, &entry{}, h.root)
	x.put(1, &bound, id)
	h.root = root
	h.height++
}

// insert adds a new leaf below a node. If that node is full, it keeps what is before the cut, the rest goes to a new
// node, and insert returns that node and its bound for the level above. Otherwise the returned id is 0.
func (p *Places) insert(to int32, level int, bound entry, id int32, cut int) (entry, int32) {
	x := p.nodes[to]
	at := x.find(&bound)
	if level > 1 {
		if bound, id = p.insert(x.below[at], level-1, bound, id, cut); id == 0 {
			return bound, 0
		}
	}
	at++
	if x.count < fanout {
		x.put(at, &bound, id)
		return bound, 0
	}
	newer := p.newNode()
	right := p.nodes[newer]
	right.shift(0, x, cut, fanout)
	right.count = int32(fanout - cut)
	x.cut(cut)
	if at < cut {
		x.put(at, &bound, id)
	} else {
		right.put(at-cut, &bound, id)
	}
	return right.bound(0), newer
}

// settle is called for the leaf of an entry when few or no numbers are left in it. An empty leaf is freed. Another one
// is merged with a neighbour if both together leave room.
func (h *Heap) settle(one *entry) {
	p := h.places
	h.settleNewest()
	h.taken = 0 // it may be freed
	switch {
	case h.height > 0:
		if !h.shrink(h.root, h.height, one) {
			return
		}
	case p.leaf(h.root).used != 0:
		return
	default:
		p.giveBackLeaf(h.root)
		h.root, h.first, h.last = 0, 0, 0
		return
	}
	for h.height > 0 && p.nodes[h.root].count == 1 {
		below := p.nodes[h.root].below[0]
		p.giveBackNode(h.root)
		h.root = below
		h.height--
	}
	if h.height == 0 && h.newest != nil {
		p.spareNewest, h.newest = h.newest, nil
	}
	h.ends()
}

// shrink is settle below a node. It says whether anything has changed.
func (h *Heap) shrink(id int32, level int, one *entry) bool {
	p := h.places
	x := p.nodes[id]
	at := x.find(one)
	below := x.below[at]
	if level == 1 {
		if p.leaf(below).used == 0 {
			p.giveBackLeaf(below)
			x.drop(at)
			return true
		}
		return p.join(x, at, p.joinLeaves)
	}
	if !h.shrink(below, level-1, one) {
		return false
	}
	switch count := p.nodes[below].count; {
	case count == 0:
		p.giveBackNode(below)
		x.drop(at)
	case count <= fanout/4:
		p.join(x, at, p.joinNodes)
	}
	return true
}

// join merges what is at that index with its right neighbour, or else its left one, if pair can. It says whether it
// did.
func (p *Places) join(x *node, at int, pair func(x *node, at int) bool) bool {
	return at+1 < int(x.count) && pair(x, at) || at > 0 && pair(x, at-1)
}

// joinLeaves joins the leaf at that index with the one after it, if there is room. The numbers of the smaller one move.
func (p *Places) joinLeaves(x *node, at int) bool {
	id, other := x.below[at], x.below[at+1]
	l, r := p.leaf(id), p.leaf(other)
	if l.len()+r.len() > slots*3/4 {
		return false
	}
	from, until := l.from, r.until
	if l.len() < r.len() {
		id, other, l, r = other, id, r, l
	}
	for rest := *r; rest.used != 0; rest.next() {
		at := bits.TrailingZeros64(^l.used)
		l.numbers[at] = rest.least()
		l.used |= 1 << at
		p.adopt(id, at, at+1)
	}
	l.from, l.until, x.below[at] = from, until, id
	p.giveBackLeaf(other)
	x.drop(at + 1)
	return true
}

// joinNodes moves what is in the node after that index into the node at the index, if there is room.
func (p *Places) joinNodes(x *node, at int) bool {
	left, right := p.nodes[x.below[at]], p.nodes[x.below[at+1]]
	if left.count+right.count > fanout*3/4 {
		return false
	}
	bound := x.bound(at + 1)
	right.set(0, &bound, right.below[0])
	left.shift(int(left.count), right, 0, int(right.count))
	left.count += right.count
	p.giveBackNode(x.below[at+1])
	x.drop(at + 1)
	return true
}

// ends finds the first leaf, and puts it in order, and the last one.
func (h *Heap) ends() {
	h.first, h.last = h.root, h.root
	for range h.height {
		x := h.places.nodes[h.first]
		if x.count > 1 {
			h.high = x.bound(1)
		}
		h.first = x.below[0]
		x = h.places.nodes[h.last]
		if x.count > 1 {
			h.low = x.bound(int(x.count) - 1)
		}
		h.last = x.below[x.count-1]
	}
	if !h.places.inOrder(h.first) {
		h.places.pack(h.first)
	}
}
