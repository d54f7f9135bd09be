package dueheap

import "math"

// fanout is chosen so that a node takes 1,536 bytes, which is what Go allocates for it.
const fanout = 63

// node has, in order, the ids of the nodes of the level below it, or of leaves: what is in one of them is not before
// its bound, and before that of the next one. The bound of the first one says nothing, only that of this node one
// level higher does.
type node struct {
	dues    [fanout + 1]int64 // of the bounds, math.MaxInt64 behind them
	seqs    [fanout]uint64
	numbers [fanout]int32
	below   [fanout]int32
	count   int32
}

func (x *node) bound(at int) entry { return entry{x.dues[at], x.seqs[at], x.numbers[at]} }

// below returns the id of the node or leaf below a node to which an entry belongs.
func (p *Places) below(id int32, one *entry) int32 {
	x := p.nodes[id]
	return x.below[x.find(one)]
}

// find is where an entry belongs. Where due times differ it reads nothing else, and the processor has nothing to
// guess: the loads do not wait for each other.
func (x *node) find(one *entry) int {
	d, due := &x.dues, one.due
	at := 8 * (less(d[8], due) + less(d[16], due) + less(d[24], due) + less(d[32], due) +
		less(d[40], due) + less(d[48], due) + less(d[56], due))
	e := d[at : at+8]
	at += less(e[1], due) + less(e[2], due) + less(e[3], due) + less(e[4], due) +
		less(e[5], due) + less(e[6], due) + less(e[7], due)
	if next := at + 1; next < int(x.count) && d[next] == due {
		return x.among(at, one)
	}
	return at
}

// less is 1 for less, else 0, without a branch.
func less(a, b int64) int {
	less := 0
	if a < b {
		less = 1
	}
	return less
}

// among is find where the bounds behind that one have the entry's due time, or a later one.
func (x *node) among(at int, one *entry) int {
	for end := int(x.count); end-at > 1; {
		middle := (at + end) / 2
		if bound := x.bound(middle); one.before(&bound) {
			end = middle
		} else {
			at = middle
		}
	}
	return at
}

// set says what is at that place.
func (x *node) set(at int, bound *entry, id int32) {
	x.dues[at], x.seqs[at], x.numbers[at], x.below[at] = bound.due, bound.seq, bound.number, id
}

// put makes room at that place and puts the id there; there is room.
func (x *node) put(at int, bound *entry, id int32) {
	x.shift(at+1, x, at, int(x.count))
	x.set(at, bound, id)
	x.count++
}

// drop takes out what is at that place.
func (x *node) drop(at int) {
	x.shift(at, x, at+1, int(x.count))
	x.cut(int(x.count) - 1)
}

// cut leaves so many.
func (x *node) cut(count int) {
	for at := count; at < int(x.count); at++ {
		x.dues[at] = math.MaxInt64
	}
	x.count = int32(count)
}

// shift copies a part of a node to that place.
func (x *node) shift(at int, from *node, begin, end int) {
	copy(x.dues[at:], from.dues[begin:end])
	copy(x.seqs[at:], from.seqs[begin:end])
	copy(x.numbers[at:], from.numbers[begin:end])
	copy(x.below[at:], from.below[begin:end])
}
