package dueheap

// fanout is chosen so that a node takes 1,280 bytes, which is what Go allocates for it.
const fanout = 62

// node is one of a B+ tree. A leaf, level 0, holds numbers in their order. One of a higher level holds the
// ids of nodes of the level below it: what is in one of them is not before its entry here, and before the next
// one; but for the first one the entry says nothing, only that of this node one level higher does.
type node struct {
	dues       [fanout]int64
	seqs       [fanout]uint64
	numbers    [fanout]int32
	start, end int32 // the entries that are in use
	id         int32 // never 0
	parent     int32 // 0: it is the root
	level      int32
}

// entry is one of a node.
type entry struct {
	due    int64
	seq    uint64
	number int32
}

func (x *node) entry(at int32) entry { return entry{x.dues[at], x.seqs[at], x.numbers[at]} }

func (x *node) len() int32 { return x.end - x.start }

func (one *entry) before(x *node, at int32) bool {
	return one.due < x.dues[at] || one.due == x.dues[at] && one.seq < x.seqs[at]
}

// after is where an entry belongs: behind all that it is not before.
func (x *node) after(one *entry) int32 {
	low, high := x.start, x.end
	for low < high {
		if middle := int32(uint32(low+high) / 2); one.before(x, middle) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}

// find is where a number is that is there.
func (x *node) find(number int32) int32 {
	at := x.start
	for x.numbers[at] != number {
		at++
	}
	return at
}

// put makes room at that place, which there is, and puts the entry there. It moves the lesser part.
func (x *node) put(at int32, one entry) int32 {
	if x.end == fanout || x.start > 0 && at-x.start < x.end-at {
		x.shift(x.start, at, -1)
		x.start--
		at--
	} else {
		x.shift(at, x.end, 1)
		x.end++
	}
	x.dues[at], x.seqs[at], x.numbers[at] = one.due, one.seq, one.number
	return at
}

// shift moves entries by one.
func (x *node) shift(from, to, by int32) {
	if from == to {
		return
	}
	copy(x.dues[from+by:to+by], x.dues[from:to])
	copy(x.seqs[from+by:to+by], x.seqs[from:to])
	copy(x.numbers[from+by:to+by], x.numbers[from:to])
}

// drop takes out the entry at that place. It moves the lesser part.
func (x *node) drop(at int32) {
	if at-x.start < x.end-1-at {
		x.shift(x.start, at, 1)
		x.start++
	} else {
		x.shift(at+1, x.end, -1)
		x.end--
	}
}

// append puts entries of another node behind those that are there; there is room after its start was moved.
func (x *node) append(y *node, from, to int32) {
	if x.start > 0 {
		count := x.len()
		copy(x.dues[:], x.dues[x.start:x.end])
		copy(x.seqs[:], x.seqs[x.start:x.end])
		copy(x.numbers[:], x.numbers[x.start:x.end])
		x.start, x.end = 0, count
	}
	copy(x.dues[x.end:], y.dues[from:to])
	copy(x.seqs[x.end:], y.seqs[from:to])
	copy(x.numbers[x.end:], y.numbers[from:to])
	x.end += to - from
}
