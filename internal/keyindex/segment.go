//go:build go1.24

package keyindex

const (
	fewest  = 16  // slots of the first segment, which doubles as it fills
	kept    = 256 // slots that it keeps however few keys are left: what fills and empties again and again allocates nothing
	slots   = 2048
	splitAt = slots * 3 / 4
	mergeAt = splitAt / 2 // of two together, so that many keys must go before a merge follows a split
)

// segment is a hash table of its own for the keys whose hashes begin with the same depth bits: open
// addressing with linear probing from the place that the last bits of the hash tell. The two meet only
// at 2^21 segments, which have room for more keys than there are numbers.
type segment struct {
	slots []slot // a power of two; only that of all hashes has less than the most
	live  int32
	depth uint8
}

// slot holds the number of a key plus one, 0 when it is empty, and 32 bits of the key's hash.
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

// add puts in a slot whose key is not there.
func (s *segment) add(one slot) {
	s.slots[s.gap(one.hash)] = one
	s.live++
}

// addAll puts in what is in the slots of another segment.
func (s *segment) addAll(slots []slot) {
	for _, one := range slots {
		if one.number != 0 {
			s.add(one)
		}
	}
}

// remove empties a slot and moves back what a probe could not find any more.
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

// resize gives a segment more slots, or less.
func (s *segment) resize(slots int) {
	old := s.slots
	s.slots, s.live = make([]slot, slots), 0
	s.addAll(old)
}

// room makes room for one more key in the segment to which the hash belongs, and returns it.
func (x *Index[K]) room(s *segment, hash uint32) *segment {
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

// split makes two of the segment to which the hash belongs.
func (x *Index[K]) split(s *segment, hash uint32) {
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

// merge joins the segment to which the hash belongs with its other half while both are nearly empty. The last one that is
// left gives its slots back by halves.
func (x *Index[K]) merge(s *segment, hash uint32) {
	if s.depth == 0 && len(s.slots) > kept && int(s.live) <= len(s.slots)/8 {
		s.resize(len(s.slots) / 2)
	}
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
func (x *Index[K]) places(depth uint8, hash uint32) []*segment {
	each := 1 << (x.depth - depth)
	first := int(hash>>(32-depth)) * each
	return x.directory[first : first+each]
}

func fill(places []*segment, s *segment) {
	for i := range places {
		places[i] = s
	}
}

func (x *Index[K]) doubleDirectory() {
	double := make([]*segment, 2*len(x.directory))
	for i := range double {
		double[i] = x.directory[i/2]
	}
	x.directory = double
	x.depth++
}

func (x *Index[K]) takeSpare() *segment {
	s := x.spare
	if s == nil {
		return newSegment(slots)
	}
	x.spare = nil
	return s
}

// keepSpare empties a segment that is not used any more and keeps it for the next split.
func (x *Index[K]) keepSpare(s *segment) {
	clear(s.slots)
	s.live, s.depth = 0, 0
	x.spare = s
}
