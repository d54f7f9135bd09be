package simulation

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor"
)

// held is a renewal that the watch shows at a later time.
type held struct {
	turn
	renewed int64
}

// ForgetHeld drops the renewals that the watch has still to show: who begins to watch now has read the leases.
func (c *cluster) ForgetHeld() { c.held = nil }

// miss has the watch miss the renewal that the node has just made.
func (c *cluster) miss(n *node) {
	if n.later == 0 {
		return
	}
	l := held{turn{n.renewed + n.later, c.nodeByID[n.name], n.epoch}, n.renewed}
	at, _ := slices.BinarySearchFunc(c.held, l, func(a, b held) int { return cmp.Or(cmp.Compare(a.at, b.at), -1) })
	c.held = slices.Insert(c.held, at, l)
}

// show takes the next renewal that is shown late. One that is older than what was seen since is no news.
func (c *cluster) show() {
	l := c.held[0]
	c.held = c.held[1:]
	n := &c.nodes[l.node]
	if n.deleted || n.epoch != l.epoch || c.blind {
		return
	}
	if l.renewed > n.seen {
		n.seen, c.advanced = l.renewed, c.now()
	}
	if l.renewed <= n.shown {
		return
	}
	n.shown, n.missed = l.renewed, l.renewed < n.renewed
	if c.Late != nil {
		c.Late(n.name, Epoch.Add(time.Duration(l.renewed)))
	}
}

// Confirm implements evictor.Confirmer: it reads the lease as the API has it. If the watch has delivered all there is,
// there is nothing to read.
func (c *cluster) Confirm(_ context.Context, suspect evictor.Suspect) (evictor.Answer, error) {
	i, ok := c.nodeByID[suspect.Node]
	if !ok || c.nodes[i].uid != suspect.UID || !c.nodes[i].missed {
		return evictor.Silent, nil
	}
	c.nodes[i].shown = c.nodes[i].renewed
	return suspect.Lease(Epoch.Add(time.Duration(c.nodes[i].renewed)), ""), nil
}
