package dueheap

import "math"

const (
	stretch = 256 // numbers in a chunk of places
	block   = 256 // leaves in a block
)

// Places tell of each number in which leaf of its heap it lies, and in which slot there, 0: nowhere; and they keep the
// leaves and nodes of the heaps. The zero Places are ready. They keep chunks where a number is there, and one spare, like
// a slab.Slab, but one load is enough to answer of a number that is not there.
type Places struct {
	chunks [][]int32 // nowhere: nothing of the chunk is there
	used   []int32   // how many of the chunk are there
	spare  []int32   // zeroed

	leaves     [][]leaf // by id, in blocks, so that no more than one is made at once; the id 0 has none
	leafIDs    ids
	spareSlots []entry

	nodes      []*node // by id; nil where there is none
	nodeIDs    ids
	spareNodes []*node // a few that were given back, empty
}

// Slices and no pointers to arrays: Go asks of these whether they are nil by reading their beginning, which is seldom in
// the cache.
var nowhere = make([]int32, stretch) // never written

// Has says whether the number is in a heap.
func (p *Places) Has(number int32) bool { return p.of(number) != 0 }

func (p *Places) of(number int32) int32 {
	c := uint32(number) / stretch
	if int(c) >= len(p.chunks) {
		return 0
	}
	return p.chunks[c][uint32(number)%stretch]
}

// place is where a number is: in which leaf, whose id is never 0, and in which slot.
func place(id int32, slot int) int32 { return id*slots | int32(slot) }

// entry is that of a number that is there.
func (p *Places) entry(number int32) *entry {
	at := p.of(number)
	return &p.leaf(at / slots).entries[at%slots]
}

// move sets the place of a number that is there.
func (p *Places) move(number, place int32) {
	p.chunks[uint32(number)/stretch][uint32(number)%stretch] = place
}

// use returns the place of a number. One that is not there is counted, and has to be moved to its place.
func (p *Places) use(number int32) int32 {
	c := int(uint32(number) / stretch)
	for c >= len(p.chunks) {
		p.chunks = append(p.chunks, nowhere)
		p.used = append(p.used, 0)
	}
	if at := p.chunks[c][uint32(number)%stretch]; at != 0 {
		return at
	}
	if p.used[c] == 0 {
		if p.spare == nil {
			p.spare = make([]int32, stretch)
		}
		p.chunks[c], p.spare = p.spare, nil
	}
	p.used[c]++
	return 0
}

// forget returns the place of a number, which is nowhere from now on; 0 when it was so before.
func (p *Places) forget(number int32) int32 {
	c := uint32(number) / stretch
	if int(c) >= len(p.chunks) {
		return 0
	}
	place := &p.chunks[c][uint32(number)%stretch]
	at := *place
	if at == 0 {
		return 0
	}
	*place = 0
	p.used[c]--
	if p.used[c] == 0 {
		p.spare, p.chunks[c] = p.chunks[c], nowhere
	}
	return at
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
	l.entries, p.spareSlots = p.spareSlots, nil
	if l.entries == nil {
		l.entries = make([]entry, slots)
	}
	return id
}

// giveBackLeaf ends a leaf.
func (p *Places) giveBackLeaf(id int32) {
	l := p.leaf(id)
	p.spareSlots = l.entries
	*l = leaf{}
	p.leafIDs.free = append(p.leafIDs.free, id)
}

// mostSpares is how many nodes are kept: so many as can be given back at once where a number more needs a level more.
const mostSpares = 3

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
