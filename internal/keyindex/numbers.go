package keyindex

import "math/bits"

// numbers gives out the least free number. It is a tree of bits. levels[0] has a bit for each number, set while the
// number is in use. Each higher level has a bit for each word of the level below, set while that word is full. The
// highest level has one word. Words are allocated when they are first needed, and kept: one bit for each number ever
// given out.
type numbers struct {
	levels [][]uint64
	given  int // one more than the greatest number ever given out
	first  int // plus one: the first word of levels[0] that is not full; 0 if it is to be looked for
}

// take returns the least free number and marks it as used.
func (n *numbers) take() int32 {
	if n.first == 0 {
		n.first = n.find() + 1
	}
	at := n.first - 1
	number := at*64 + bits.TrailingZeros64(^n.levels[0][at])
	n.given = max(n.given, number+1)
	for level, at := 0, number; level < len(n.levels); level++ {
		word := &n.levels[level][at/64]
		*word |= 1 << (at % 64)
		if *word != ^uint64(0) {
			break
		}
		n.first = 0
		at /= 64
	}
	return int32(number)
}

// find looks for the first word of levels[0] that is not full, and adds it if there is none.
func (n *numbers) find() int {
	top := len(n.levels) - 1
	if top < 0 || n.levels[top][0] == ^uint64(0) {
		first := uint64(0)
		if top >= 0 {
			first = 1 // the first word of the level below is full
		}
		n.levels = append(n.levels, []uint64{first})
		top++
	}
	at := 0
	for level := top; ; level-- {
		if at == len(n.levels[level]) {
			n.levels[level] = append(n.levels[level], 0)
		}
		if level == 0 {
			return at
		}
		at = at*64 + bits.TrailingZeros64(^n.levels[level][at])
	}
}

// release frees a number.
func (n *numbers) release(number int32) {
	at := int(number)
	n.first = min(n.first, at/64+1)
	for level := range n.levels {
		word := &n.levels[level][at/64]
		wasFull := *word == ^uint64(0)
		*word &^= 1 << (at % 64)
		if !wasFull {
			return
		}
		at /= 64
	}
}
