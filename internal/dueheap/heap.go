// Package dueheap orders small numbers by a due time, and equal times by a sequence number. It is an
// indexed 4-ary heap: every operation is O(log n), by number. It is not safe for concurrent use.
package dueheap

// Heap is the heap. The zero Heap is empty and ready.
type Heap struct {
	items    []item
	position []int32 // of each number in items, plus one; 0: not there
}

type item struct {
	due    int64
	seq    uint32
	number int32
}

// before compares sequence numbers around their overflow: what is queued together is closer than half
// of their range.
func (a item) before(b item) bool {
	return a.due < b.due || a.due == b.due && int32(a.seq-b.seq) < 0
}

// Len is how many numbers there are.
func (h *Heap) Len() int { return len(h.items) }

// Has says whether the number is there.
func (h *Heap) Has(number int32) bool {
	return int(number) < len(h.position) && h.position[number] != 0
}

// Due is the due time of a number that is there.
func (h *Heap) Due(number int32) int64 { return h.items[h.position[number]-1].due }

// Min is the number due first.
func (h *Heap) Min() (number int32, due int64, ok bool) {
	if len(h.items) == 0 {
		return 0, 0, false
	}
	return h.items[0].number, h.items[0].due, true
}

// Set adds the number or moves it.
func (h *Heap) Set(number int32, due int64, seq uint32) {
	for int(number) >= len(h.position) {
		h.position = append(h.position, 0)
	}
	it := item{due, seq, number}
	at := int(h.position[number]) - 1
	if at < 0 {
		h.items = append(h.items, it)
		h.up(len(h.items)-1, it)
		return
	}
	if it.before(h.items[at]) {
		h.up(at, it)
	} else {
		h.down(at, it)
	}
}

// Remove takes the number out, if it is there.
func (h *Heap) Remove(number int32) {
	if !h.Has(number) {
		return
	}
	at := int(h.position[number]) - 1
	h.position[number] = 0
	last := len(h.items) - 1
	it := h.items[last]
	h.items = h.items[:last]
	if at == last {
		return
	}
	if at > 0 && it.before(h.items[(at-1)/4]) {
		h.up(at, it)
	} else {
		h.down(at, it)
	}
}

func (h *Heap) place(at int, it item) {
	h.items[at] = it
	h.position[it.number] = int32(at) + 1
}

func (h *Heap) up(at int, it item) {
	for at > 0 {
		parent := (at - 1) / 4
		if !it.before(h.items[parent]) {
			break
		}
		h.place(at, h.items[parent])
		at = parent
	}
	h.place(at, it)
}

func (h *Heap) down(at int, it item) {
	for {
		first := 4*at + 1
		if first >= len(h.items) {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, len(h.items)); c++ {
			if h.items[c].before(h.items[least]) {
				least = c
			}
		}
		if !h.items[least].before(it) {
			break
		}
		h.place(at, h.items[least])
		at = least
	}
	h.place(at, it)
}

// Each calls visit for every number, in no order.
func (h *Heap) Each(visit func(number int32, due int64, seq uint32)) {
	for _, it := range h.items {
		visit(it.number, it.due, it.seq)
	}
}
