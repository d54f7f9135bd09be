package dueheap

// fanout is chosen so that a node takes 1,536 bytes, which is what Go allocates for it.
const fanout = 63

// node is one of a B+ tree. A leaf, level 0, holds numbers. One of a higher level holds, in order, the ids of nodes of
// the level below it: what is in one of them is not before its entry here, and before the next one; but for the first
// one the entry says nothing, only that of this node one level higher does.
type node struct {
	entries    [fanout]entry
	start, end int32 // those that are in use
	id         int32 // never 0
	parent     int32 // 0: it is the root
	level      int16
	sorted     bool // its entries are in order: of what is not a leaf, and of the first leaf, they always are
}

// entry is one of a node.
type entry struct {
	due    int64
	seq    uint64
	number int32
}

func (a *entry) before(b *entry) bool {
	return a.due < b.due || a.due == b.due && a.seq < b.seq
}

func (x *node) len() int32 { return x.end - x.start }

func (x *node) all() []entry { return x.entries[x.start:x.end] }

// after is where an entry belongs in a node that is in order: behind all that it is not before. It is written so that
// where most due times differ the processor has to guess little.
func (x *node) after(one *entry) int32 {
	e, at := x.all(), 0
	for n := len(e); n > 1; {
		half := n / 2
		if e[at+half].due <= one.due {
			at += half
		}
		n -= half
	}
	switch {
	case len(e) == 0 || one.due < e[at].due:
		return x.start
	case one.due > e[at].due:
		return x.start + int32(at) + 1
	}
	low := 0 // among equals
	for at++; low < at; {
		if middle := (low + at) / 2; one.before(&e[middle]) {
			at = middle
		} else {
			low = middle + 1
		}
	}
	return x.start + int32(low)
}

// find is where the node of that id is.
func (x *node) find(id int32) int32 {
	at := x.start
	for x.entries[at].number != id {
		at++
	}
	return at
}

// put makes room at that place and puts the entry there; there is room. It moves the lesser part, and returns which
// entries have another place now.
func (x *node) put(at int32, one *entry) (from, to int32) {
	if x.end == fanout || x.start > 0 && at-x.start < x.end-at {
		copy(x.entries[x.start-1:], x.entries[x.start:at])
		x.start--
		x.entries[at-1] = *one
		return x.start, at
	}
	copy(x.entries[at+1:], x.entries[at:x.end])
	x.end++
	x.entries[at] = *one
	return at, x.end
}

// drop takes out the entry at that place. It moves the lesser part, and returns which entries have another place now.
func (x *node) drop(at int32) (from, to int32) {
	if at-x.start < x.end-1-at {
		copy(x.entries[x.start+1:], x.entries[x.start:at])
		x.start++
		return x.start, at + 1
	}
	copy(x.entries[at:], x.entries[at+1:x.end])
	x.end--
	return at, x.end
}
