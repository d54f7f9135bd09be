package health

// ownGrace is what beats keeps of an entry with a grace period of its own: its place in a leftist heap, the shortest
// grace first. Two such heaps join in O(log n), which is what lets all clocks start anew at once; a heap by deadlines
// would have to be built anew, because then the one with the shorter grace comes first.
type ownGrace struct {
	grace               int64
	left, right, parent int32
	rank                int32 // how far it is to the right to where nobody is: at the left it is never less
}

func (b *beats) rank(i int32) int32 {
	if i == none {
		return 0
	}
	return b.own.At(i).rank
}

// meld joins two heaps and returns the root, whose parent the caller sets.
func (b *beats) meld(x, y int32) int32 {
	switch {
	case x == none:
		return y
	case y == none:
		return x
	case b.own.At(y).grace < b.own.At(x).grace:
		x, y = y, x
	}
	n := b.own.At(x)
	n.right = b.meld(n.right, y)
	b.own.At(n.right).parent = x
	b.lean(n)
	return x
}

// lean sees to it that the right side is the shorter one, and to the rank. It says whether that changed.
func (b *beats) lean(n *ownGrace) bool {
	if b.rank(n.left) < b.rank(n.right) {
		n.left, n.right = n.right, n.left
	}
	was := n.rank
	n.rank = b.rank(n.right) + 1
	return n.rank != was
}

func (b *beats) insertOwn(root *int32, i int32) {
	n := b.own.At(i)
	n.left, n.right, n.rank = none, none, 1
	*root = b.meld(*root, i)
	b.own.At(*root).parent = none
}

func (b *beats) removeOwn(root *int32, i int32) {
	n := b.own.At(i)
	at := n.parent
	below := b.meld(n.left, n.right)
	if below != none {
		b.own.At(below).parent = at
	}
	if at == none {
		*root = below
		return
	}
	if above := b.own.At(at); above.left == i {
		above.left = below
	} else {
		above.right = below
	}
	for at != none && b.lean(b.own.At(at)) {
		at = b.own.At(at).parent
	}
}

// eachOwn visits every entry below the root whose grace is at most that, and costs what it visits.
func (b *beats) eachOwn(root int32, most int64, visit func(i int32)) {
	for at := root; at != none; {
		n := b.own.At(at)
		down := none
		if n.grace <= most {
			visit(at)
			down = n.left // there is no right side without a left one
		}
		for down == none {
			if at == root {
				return
			}
			child := at
			at = b.own.At(at).parent
			if n := b.own.At(at); n.left == child {
				down = n.right
			}
		}
		at = down
	}
}
