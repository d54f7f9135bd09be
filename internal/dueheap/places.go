package dueheap

const stretch = 64 // numbers in a chunk of places

// Places tell of each number in which leaf of its heap it lies, 0: in none; and they keep the nodes of the heaps. The
// zero Places are ready. They keep chunks where a number is there, and one spare, like a slab.Slab, but one load is
// enough to answer of a number that is not there.
type Places struct {
	chunks []*[stretch]int32 // nowhere: nothing of the chunk is there
	used   []int32           // how many of the chunk are there
	spare  *[stretch]int32   // zeroed

	nodes  []*node // by id, nil where there is none
	free   []int32 // ids without a node
	spares []*node // a few that were given back, empty
}

var nowhere = new([stretch]int32) // never written

// Has says whether the number is in a heap.
func (p *Places) Has(number int32) bool { return p.of(number) != 0 }

func (p *Places) of(number int32) int32 {
	c := uint32(number) / stretch
	if int(c) >= len(p.chunks) {
		return 0
	}
	return p.chunks[c][uint32(number)%stretch]
}

// move sets the leaf of a number that is there.
func (p *Places) move(number, leaf int32) {
	p.chunks[uint32(number)/stretch][uint32(number)%stretch] = leaf
}

// use makes room for a number that is there from now on.
func (p *Places) use(number int32) {
	c := int(uint32(number) / stretch)
	for c >= len(p.chunks) {
		p.chunks = append(p.chunks, nowhere)
		p.used = append(p.used, 0)
	}
	chunk := p.chunks[c]
	if chunk == nowhere {
		if p.spare == nil {
			p.spare = new([stretch]int32)
		}
		chunk, p.spare = p.spare, nil
		p.chunks[c] = chunk
	}
	if chunk[uint32(number)%stretch] == 0 {
		p.used[c]++
	}
}

// forget forgets a number that is there.
func (p *Places) forget(number int32) {
	c := uint32(number) / stretch
	p.chunks[c][uint32(number)%stretch] = 0
	p.used[c]--
	if p.used[c] == 0 {
		p.spare, p.chunks[c] = p.chunks[c], nowhere
	}
}

// mostSpares is how many nodes are kept: so many as can be given back at once where a number more needs a level more.
const mostSpares = 4

// newNode returns an empty node.
func (p *Places) newNode(level int32) *node {
	var x *node
	if last := len(p.spares) - 1; last >= 0 {
		x, p.spares[last] = p.spares[last], nil
		p.spares = p.spares[:last]
	} else {
		x = new(node)
	}
	if len(p.nodes) == 0 {
		p.nodes = append(p.nodes, nil) // no node has the id 0
	}
	if last := len(p.free) - 1; last >= 0 {
		x.id, p.free = p.free[last], p.free[:last]
		p.nodes[x.id] = x
	} else {
		x.id = int32(len(p.nodes))
		p.nodes = append(p.nodes, x)
	}
	x.start, x.end, x.parent, x.level = 0, 0, 0, level
	return x
}

// giveBack ends a node.
func (p *Places) giveBack(x *node) {
	p.nodes[x.id] = nil
	p.free = append(p.free, x.id)
	if len(p.spares) < mostSpares {
		p.spares = append(p.spares, x)
	}
}
