package gate

import (
	"cmp"
	"maps"
	"slices"

	"github.com/evictkit/evictkit/zone"
)

// Change is a gate that was closed or opened.
type Change struct {
	Gate
	Pending zone.Pending // of a gate of Own
	// Err is why it is closed, nil if it is open. Text says so in words.
	Err  error
	Text string
}

var texts = [...][2]string{
	Write: {"writes go on", "writes are held back"},
	Harm:  {"taints and evictions go on", "taints and evictions are held back"},
}

var rulings = [...]string{
	zone.GoOn:   "evictions by our own taints go on",
	zone.Wait:   "evictions by our own taints wait",
	zone.Cancel: "our own taints and evictions by them are given up",
}

// Changes returns what has changed since its last call: first the gates that stand everywhere, then those of each domain,
// then those of each node, in order.
func (g *Gates) Changes() (changes []Change) {
	if len(g.touched) == 0 {
		return nil
	}
	for _, at := range slices.SortedFunc(maps.Keys(g.touched), Gate.compare) {
		s := g.at(at)
		c := Change{Gate: at, Pending: s.pending, Err: s.err()}
		closed := c.Err != nil
		switch {
		case at.Class == Own && s.pending != s.toldPending:
			c.Text, s.toldPending = rulings[s.pending], s.pending
			changes = append(changes, c)
		case at.Class != Own && closed != s.toldClosed:
			c.Text, s.toldClosed = texts[at.Class][0], closed
			if closed {
				c.Text = texts[at.Class][1]
			}
			changes = append(changes, c)
		}
		if !closed {
			delete(g.known, at)
		}
	}
	clear(g.touched)
	return changes
}

// compare orders the gates that stand everywhere before those of a domain, and these before those of a node.
func (at Gate) compare(other Gate) int {
	rank := func(at Gate) int {
		switch {
		case at.Node != "":
			return 2
		case at.In:
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(rank(at), rank(other)), at.Domain.Compare(other.Domain), cmp.Compare(at.Node, other.Node), cmp.Compare(at.Class, other.Class))
}
