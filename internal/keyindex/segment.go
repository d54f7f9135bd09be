package keyindex

const (
	fewest  = 16 // slots of the first segment, which doubles as it fills
	slots   = 2048
	splitAt = slots * 3 / 4
	mergeAt = splitAt / 2 // of two together, so that many keys must go between a split and a merge
)

// segment is a hash table for the keys whose hashes begin with the same depth bits. It uses open addressing, with
// linear probing from the place that the last bits of the hash say. First and last bits overlap only from 2^21 segments
// on, which have room for more keys than there are numbers.
type segment struct {
	slots []slot // a power of two; less than the most only if there is one segment
	live  int32
	depth uint8
}

// slot holds a key's number plus one and 32 bits of the key's hash. The number is 0 if the slot is empty.
type slot struct {
	hash   uint32
	number int32
}

func newSegment(slots int) *segment { return &segment{slots: make([]slot, slots)} }

// gap returns the first free slot for the hash.
func (s *segment) gap(hash uint32) uint32 {
	mask := uint32(len(s.slots) - 1)
	at := hash & mask
	for s.slots[at].number != 0 {
		at = (at + 1) & mask
	}
	return at
}

// add fills a slot for a key that is not in the segment.
func (s *segment) add(one slot) {
	s.slots[s.gap(one.hash)] = one
	s.live++
}

// addAll adds the used slots of another segment.
func (s *segment) addAll(slots []slot) {
	for _, one := range slots {
		if one.number != 0 {
			s.add(one)
		}
	}
}

// remove empties a slot, and moves back what a probe could no longer find.
func (s *segment) remove(hole uint32) {
	mask := uint32(len(s.slots) - 1)
	for next := (hole + 1) & mask; s.slots[next].number != 0; next = (next + 1) & mask {
		home := s.slots[next].hash
		if (next-home)&mask >= (next-hole)&mask {
			s.slots[hole] = s.slots[next]
			hole = next
		}
	}
	s.slots[hole] = slot{}
	s.live--
}

// resize changes the number of slots.
func (s *segment) resize(slots int) {
	old := s.slots
	s.slots, s.live = make([]slot, slots), 0
	s.addAll(old)
}

// room makes room for one more key in the segment that the hash belongs to, and returns the segment.
func (x *Table[K, R]) room(s *segment, hash uint32) *segment {
	for int(s.live) >= len(s.slots)*3/4 {
		if len(s.slots) < slots {
			s.resize(2 * len(s.slots))
		} else {
			x.split(s, hash)
		}
		s = x.segment(hash)
	}
	return s
}

// split divides the segment that the hash belongs to.
func (x *Table[K, R]) split(s *segment, hash uint32) {
	if s.depth == x.depth {
		x.doubleDirectory()
	}
	halves := [2]*segment{x.takeSpare(), x.takeSpare()}
	for _, one := range s.slots {
		if one.number != 0 {
			halves[one.hash>>(31-s.depth)&1].add(one)
		}
	}
	places := x.places(s.depth, hash)
	for half, places := range [2][]*segment{places[:len(places)/2], places[len(places)/2:]} {
		halves[half].depth = s.depth + 1
		fill(places, halves[half])
	}
	x.keepSpare(s)
}

// merge joins the segment that the hash belongs to with its other half, as long as both are nearly empty. The only
// segment left keeps its slots, so that filling it again allocates nothing.
func (x *Table[K, R]) merge(s *segment, hash uint32) {
	for s.depth > 0 && s.live <= mergeAt {
		other := x.places(s.depth, hash^1<<(32-s.depth))[0]
		if other.depth != s.depth || s.live+other.live > mergeAt {
			return
		}
		s.addAll(other.slots)
		s.depth--
		fill(x.places(s.depth, hash), s)
		x.keepSpare(other)
		if s.depth == 0 {
			x.directory, x.depth = []*segment{s}, 0
		}
	}
}

// places returns the part of the directory for the hashes that share their first depth bits with this one.
func (x *Table[K, R]) places(depth uint8, hash uint32) []*segment {
	each := 1 << (x.depth - depth)
	first := int(hash>>(32-depth)) * each
	return x.directory[first : first+each]
}

func fill(places []*segment, s *segment) {
	for i := range places {
		places[i] = s
	}
}

func (x *Table[K, R]) doubleDirectory() {
	double := make([]*segment, 2*len(x.directory))
	for i := range double {
		double[i] = x.directory[i/2]
	}
	x.directory = double
	x.depth++
}

func (x *Table[K, R]) takeSpare() *segment {
	s := x.spare
	if s == nil {
		return newSegment(slots)
	}
	x.spare = nil
	return s
}

// keepSpare clears a segment that is no longer used and keeps it for the next split.
func (x *Table[K, R]) keepSpare(s *segment) {
	clear(s.slots)
	s.live, s.depth = 0, 0
	x.spare = s
}
