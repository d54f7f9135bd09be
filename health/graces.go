package health

// ownGrace is what beats keeps for an entry with its own grace period: its place in a leftist heap, shortest grace
// first. Two such heaps join in O(log n), so that all clocks can start again at once. A heap ordered by deadline would
// have to be rebuilt then, because after a restart the shorter grace comes first.
type ownGrace struct {
	grace               int64
	left, right, parent int32
	rank                int32 // steps to the right until there is no child; the left child's rank is never less
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

// lean swaps the children if the right side is the longer one, and updates the rank. It reports whether the rank
// changed.
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

// eachOwn visits every entry of the heap whose grace is at most most, and costs what it visits.
func (b *beats) eachOwn(root int32, most int64, visit func(i int32)) {
	for at := root; at != none; {
		n := b.own.At(at)
		down := none
		if n.grace <= most {
			visit(at)
			down = n.left // without a left child there is no right one
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
