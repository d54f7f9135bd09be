package dueheap

const stretch = 256 // numbers in a chunk of places

// Places tell of each number where it lies in its heap, 0: nowhere. The zero Places are ready. They keep
// chunks where a number is there, and one spare, like a slab.Slab, but one load is enough to answer of a
// number that is not there.
type Places struct {
	chunks [][]int32 // nowhere: nothing of the chunk is there
	used   []int32   // how many of the chunk are there
	spare  []int32   // zeroed
}

// Slices and no pointers to arrays: Go asks of these whether they are nil by reading their beginning, which is seldom in
// the cache.
var nowhere = make([]int32, stretch) // never written

// Has says whether the number is in a heap.
func (p *Places) Has(number int32) bool { return p.of(number) != 0 }

func (p *Places) of(number int32) int {
	c := uint32(number) / stretch
	if int(c) >= len(p.chunks) {
		return 0
	}
	return int(p.chunks[c][uint32(number)%stretch])
}

// move sets the place of a number that is there.
func (p *Places) move(number int32, at int) {
	p.chunks[uint32(number)/stretch][uint32(number)%stretch] = int32(at)
}

// use makes room for a number that is not there.
func (p *Places) use(number int32) {
	c := int(uint32(number) / stretch)
	for c >= len(p.chunks) {
		p.chunks = append(p.chunks, nowhere)
		p.used = append(p.used, 0)
	}
	if p.used[c] == 0 {
		if p.spare == nil {
			p.spare = make([]int32, stretch)
		}
		p.chunks[c], p.spare = p.spare, nil
	}
	p.used[c]++
}

// free forgets a number that is there.
func (p *Places) free(number int32) {
	c := uint32(number) / stretch
	p.chunks[c][uint32(number)%stretch] = 0
	p.used[c]--
	if p.used[c] == 0 {
		p.spare, p.chunks[c] = p.chunks[c], nowhere
	}
}
