package dueheap

const stretch = 256 // numbers in a chunk of places

// Places tell of each number where in the leaves of its heap it lies, 0: nowhere; and they keep the nodes of the heaps. The
// zero Places are ready. They keep chunks where a number is there, and one spare, like a slab.Slab, but one load is
// enough to answer of a number that is not there.
type Places struct {
	chunks [][]int32 // nowhere: nothing of the chunk is there
	used   []int32   // how many of the chunk are there
	spare  []int32   // zeroed

	nodes  []*node // by id, nil where there is none
	free   []int32 // ids without a node
	spares []*node // a few that were given back, empty
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

// place is where a number is: in which leaf, whose id is never 0, and which entry there.
func place(id, i int32) int32 { return id<<6 | i }

func (p *Places) at(place int32) (leaf *node, i int32) { return p.nodes[place>>6], place & (1<<6 - 1) }

// entry is that of a number that is there.
func (p *Places) entry(number int32) *entry {
	x, i := p.at(p.of(number))
	return &x.entries[i]
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

// mostSpares is how many nodes are kept: so many as can be given back at once where a number more needs a level more.
const mostSpares = 4

// newNode returns an empty node.
func (p *Places) newNode(level int16) *node {
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
	x.start, x.end, x.parent, x.level, x.sorted = 0, 0, 0, level, true
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
