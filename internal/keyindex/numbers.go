package keyindex

import "math/bits"

// numbers gives out the least number that is free. It is a tree of bits: levels[0] has a bit for each
// number, set while the number is in use, and each higher level has a bit for each word of the level
// below, set while that word is full. The highest level has one word. Words are made when they are
// first needed and kept: one bit for each number ever given. Where what was released last is the least free
// number, as it is where keys go and others come in turn, it is held for the next key, and no level is touched.
type numbers struct {
	levels [][]uint64
	given  int   // one more than the greatest number ever given
	held   int32 // a number plus one that is free, in use by the levels, and less than all that is free by them; or 0
	floor  int32 // nothing less is free by the levels
}

// take gives out the least free number.
func (n *numbers) take() int32 {
	if number := n.held - 1; number >= 0 {
		n.held = 0
		return number
	}
	top := len(n.levels) - 1
	if top < 0 || n.levels[top][0] == ^uint64(0) {
		first := uint64(0)
		if top >= 0 {
			first = 1 // the level below is full
		}
		n.levels = append(n.levels, []uint64{first})
		top++
	}
	at := 0
	for level := top; level >= 0; level-- {
		if at == len(n.levels[level]) {
			n.levels[level] = append(n.levels[level], 0)
		}
		at = at*64 + bits.TrailingZeros64(^n.levels[level][at])
	}
	n.given = max(n.given, at+1)
	number := int32(at)
	n.floor = number + 1
	for level := range n.levels {
		word := &n.levels[level][at/64]
		*word |= 1 << (at % 64)
		if *word != ^uint64(0) {
			break
		}
		at /= 64
	}
	return number
}

// release makes a number in use free.
func (n *numbers) release(number int32) {
	switch {
	case n.held == 0 && number < n.floor:
		n.held = number + 1
		return
	case number < n.held-1:
		number, n.held = n.held-1, number+1
	}
	n.floor = min(n.floor, number)
	at := int(number)
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
