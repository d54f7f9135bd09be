package dueheap

import (
	"math"

	"github.com/evictkit/evictkit/internal/slab"
)

const block = 256 // leaves that are made at once

// Places tell of each number when it is due and in which slot of which leaf it lies, and they keep the leaves and
// nodes of the heaps. The zero Places are ready.
type Places struct {
	items slab.Slab[item]

	leaves    [][]leaf // by id, in blocks; the id 0 has none
	leafIDs   ids
	spareLeaf []int32

	nodes      []*node // by id; nil where there is none
	nodeIDs    ids
	spareNodes []*node
}

// item is what is known of a number.
type item struct {
	due   int64
	seq   uint64
	place int32 // see placeOf
}

// placeOf is where a number is: in which leaf, and in which slot.
func placeOf(leaf int32, slot int) int32 { return leaf*slots | int32(slot) }

// Has says whether the number is in a heap.
func (p *Places) Has(number int32) bool { return p.items.Has(number) }

// entry is that of a number that is there.
func (p *Places) entry(number int32) entry {
	it := p.items.At(number)
	return entry{it.due, it.seq, number}
}

// ids gives out small numbers from 1 on, those given back first.
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
	if int(id/block) == len(p.leaves) {
		p.leaves = append(p.leaves, make([]leaf, block))
	}
	l := p.leaf(id)
	l.numbers, p.spareLeaf = p.spareLeaf, nil
	if l.numbers == nil {
		l.numbers = make([]int32, slots)
	}
	return id
}

// giveBackLeaf ends a leaf.
func (p *Places) giveBackLeaf(id int32) {
	l := p.leaf(id)
	p.spareLeaf = l.numbers
	*l = leaf{}
	p.leafIDs.free = append(p.leafIDs.free, id)
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

// giveBackNode ends a node.
func (p *Places) giveBackNode(id int32) {
	if len(p.spareNodes) < mostSpares {
		p.spareNodes = append(p.spareNodes, p.nodes[id])
	}
	p.nodes[id] = nil
	p.nodeIDs.free = append(p.nodeIDs.free, id)
}

// mostSpares is how many nodes are kept: so many as can be given back at once where a number more needs a level more.
const mostSpares = 3
