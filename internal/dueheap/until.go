package dueheap

// Until calls visit for every number due then or before, in no order. It costs what it visits. It must not change the
// heap.
func (h *Heap) Until(due int64, visit func(number int32, due int64)) {
	if h.Len() > 0 {
		h.until(root, due, visit)
	}
}

func (h *Heap) until(place int, due int64, visit func(number int32, due int64)) {
	it := h.at(place)
	if it.due > due {
		return
	}
	visit(it.number, it.due)
	for child := 4 * (place - 2); child < min(4*(place-2)+4, h.end); child++ {
		h.until(child, due, visit)
	}
}
