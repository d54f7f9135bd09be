package dueheap

import (
	"math"

	"github.com/evictkit/evictkit/internal/slab"
)

const block = 256 // how many leaves are allocated at once

// Places know for each number when it is due and which slot of which leaf it is in. They also hold the leaves and nodes
// of the heaps. The zero Places are ready for use.
type Places struct {
	items slab.Slab[item]

	leaves     [][]leaf // by id, in blocks; a block is nil if none of it is in use; id 0 is not used
	used       []int32  // how many of each block are in use
	leafIDs    ids
	spareLeaf  []int32
	spareBlock []leaf // zeroed

	nodes      []*node // by id; nil if there is none
	nodeIDs    ids
	spareNodes []*node

	spareNewest []entry // empty, with room for slots
}

// item is what is known about a number.
type item struct {
	due   int64
	seq   uint64
	place int32 // see placeOf; if negative, ^place is the index in Heap.newest
}

// placeOf encodes a leaf and a slot.
func placeOf(leaf int32, slot int) int32 { return leaf*slots | int32(slot) }

// Has reports whether the number is in a heap.
func (p *Places) Has(number int32) bool { return p.items.Has(number) }

// entry returns the entry of a number that is in a heap.
func (p *Places) entry(number int32) entry {
	it := p.items.At(number)
	return entry{it.due, it.seq, number}
}

// ids gives out small numbers from 1 on. Those given back are used first.
type ids struct {
	most int32
	free []int32
}

func (i *ids) take() int32 {
	if last := len(i.free) - 1; last >= 0 {
		id := i.free[last]
		i.free = i.free[:last]
		return id
	}
	i.most++
	return i.most
}

func (p *Places) leaf(id int32) *leaf { return &p.leaves[uint32(id)/block][uint32(id)%block] }

// newLeaf returns an empty leaf.
func (p *Places) newLeaf() int32 {
	id := p.leafIDs.take()
	in := id / block
	if int(in) == len(p.leaves) {
		p.leaves, p.used = append(p.leaves, nil), append(p.used, 0)
	}
	if p.leaves[in] == nil {
		p.leaves[in], p.spareBlock = p.spareBlock, nil
	}
	if p.leaves[in] == nil {
		p.leaves[in] = make([]leaf, block)
	}
	p.used[in]++
	l := p.leaf(id)
	l.from, l.until = math.MinInt64, math.MaxInt64
	l.numbers, p.spareLeaf = p.spareLeaf, nil
	if l.numbers == nil {
		l.numbers = make([]int32, slots)
	}
	return id
}

// giveBackLeaf frees a leaf.
func (p *Places) giveBackLeaf(id int32) {
	l := p.leaf(id)
	p.spareLeaf = l.numbers
	*l = leaf{}
	if p.used[id/block]--; p.used[id/block] == 0 {
		p.spareBlock, p.leaves[id/block] = p.leaves[id/block], nil
	}
	p.leafIDs.free = append(p.leafIDs.free, id)
}

// newNewest returns room for Heap.newest.
func (p *Places) newNewest() []entry {
	newest := p.spareNewest
	p.spareNewest = nil
	if newest == nil {
		newest = make([]entry, 0, slots)
	}
	return newest
}

// newNode returns an empty node.
func (p *Places) newNode() int32 {
	var x *node
	if last := len(p.spareNodes) - 1; last >= 0 {
		x, p.spareNodes[last] = p.spareNodes[last], nil
		p.spareNodes = p.spareNodes[:last]
	} else {
		x = new(node)
	}
	for at := range x.dues {
		x.dues[at] = math.MaxInt64
	}
	x.count = 0
	id := p.nodeIDs.take()
	for int(id) >= len(p.nodes) {
		p.nodes = append(p.nodes, nil)
	}
	p.nodes[id] = x
	return id
}

// giveBackNode frees a node.
func (p *Places) giveBackNode(id int32) {
	if len(p.spareNodes) < mostSpares {
		p.spareNodes = append(p.spareNodes, p.nodes[id])
	}
	p.nodes[id] = nil
	p.nodeIDs.free = append(p.nodeIDs.free, id)
}

// mostSpares is how many free nodes are kept: as many as can be freed at once where adding one number needs another
// level.
const mostSpares = 3
