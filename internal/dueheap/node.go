package dueheap

import "math"

// fanout is chosen so that a node takes 1,536 bytes, which is what Go allocates for it.
const fanout = 63

// node lists, in order, the ids of the nodes of the level below it, or of leaves. Entries below the one at an index are
// not before the bound at that index, and are before the next bound. The first bound of a node means nothing; the bound
// of the node itself, one level higher, applies.
type node struct {
	dues    [fanout + 1]int64 // of the bounds; the rest is math.MaxInt64
	seqs    [fanout]uint64
	numbers [fanout]int32
	below   [fanout]int32
	count   int32
}

func (x *node) bound(at int) entry { return entry{x.dues[at], x.seqs[at], x.numbers[at]} }

// below returns the id of the node or leaf, below a node, that an entry belongs to.
func (p *Places) below(id int32, one *entry) int32 {
	x := p.nodes[id]
	return x.below[x.find(one)]
}

// descend moves all entries down one level.
func (p *Places) descend(to *[slots]int32, all []entry) {
	for i := range all {
		to[i] = p.below(to[i], &all[i])
	}
}

// find returns the index that an entry belongs to. Unless due times are equal it reads nothing else and has no branch
// to mispredict, so the processor overlaps it with the search for the next entry.
func (x *node) find(one *entry) int {
	due := one.due
	at := 32 * x.passes(32, due)
	at += 16 * x.passes(at+16, due)
	at += 8 * x.passes(at+8, due)
	at += 4 * x.passes(at+4, due)
	at += 2 * x.passes(at+2, due)
	at += x.passes(at+1, due)
	if next := at + 1; next < int(x.count) && x.dues[next] == due {
		return x.among(at, one)
	}
	return at
}

// passes returns 1 if the due time is later than that of the bound, else 0, without a branch.
func (x *node) passes(at int, due int64) int {
	passes := 0
	if x.dues[at%(fanout+1)] < due {
		passes = 1
	}
	return passes
}

// among is find if bounds after at have the entry's due time.
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

// set writes a bound and an id at that index.
func (x *node) set(at int, bound *entry, id int32) {
	x.dues[at], x.seqs[at], x.numbers[at], x.below[at] = bound.due, bound.seq, bound.number, id
}

// put inserts a bound and an id at that index. There must be room.
func (x *node) put(at int, bound *entry, id int32) {
	x.shift(at+1, x, at, int(x.count))
	x.set(at, bound, id)
	x.count++
}

// drop removes what is at that index.
func (x *node) drop(at int) {
	x.shift(at, x, at+1, int(x.count))
	x.cut(int(x.count) - 1)
}

// cut keeps the first count entries.
func (x *node) cut(count int) {
	for at := count; at < int(x.count); at++ {
		x.dues[at] = math.MaxInt64
	}
	x.count = int32(count)
}

// shift copies a part of a node to that index.
func (x *node) shift(at int, from *node, begin, end int) {
	copy(x.dues[at:], from.dues[begin:end])
	copy(x.seqs[at:], from.seqs[begin:end])
	copy(x.numbers[at:], from.numbers[begin:end])
	copy(x.below[at:], from.below[begin:end])
}
