package dueheap

// add puts an entry into the leaf to which it belongs. A leaf that is full is split first.
func (h *Heap) add(x *node, one *entry) {
	switch {
	case x.len() == fanout:
		h.sort(x)
		h.insert(x, x.after(one), one)
	case x == h.first:
		from, to := x.put(x.after(one), one)
		h.adopt(x, from, to)
	case x.end < fanout:
		x.sorted = x.sorted && !one.before(&x.entries[x.end-1])
		x.entries[x.end] = *one
		x.end++
		h.adopt(x, x.end-1, x.end)
	default:
		x.sorted = x.sorted && one.before(&x.entries[x.start])
		x.start--
		x.entries[x.start] = *one
		h.adopt(x, x.start, x.start+1)
	}
}

// take takes out the entry at that place of a leaf.
func (h *Heap) take(x *node, at int32) {
	switch {
	case x.sorted && at == x.start:
		x.start++
	case x == h.first:
		from, to := x.drop(at)
		h.adopt(x, from, to)
	default:
		x.end--
		if at < x.end {
			x.entries[at] = x.entries[x.end]
			x.sorted = false
			h.adopt(x, at, at+1)
		}
	}
	h.settle(x)
}

// sort puts a leaf in order.
func (h *Heap) sort(x *node) {
	if x.sorted {
		return
	}
	e := x.all()
	for i := 1; i < len(e); i++ {
		one, at := e[i], i
		for at > 0 && one.before(&e[at-1]) {
			e[at] = e[at-1]
			at--
		}
		e[at] = one
	}
	x.sorted = true
	h.adopt(x, x.start, x.end)
}
