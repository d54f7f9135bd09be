package simulation

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/leases"
)

// held is a renewal that the watch shows at a later time.
type held struct {
	turn
	renewed int64
}

// nextHeld returns when the watch next shows a renewal late; never if it holds none.
func (c *cluster) nextHeld() time.Duration {
	if len(c.held) == 0 {
		return never
	}
	return time.Duration(c.held[0].at)
}

// miss has the watch miss the renewal that the node has just made.
func (c *cluster) miss(n *node) {
	if n.later == 0 {
		return
	}
	l := held{turn{n.renewed + n.later, c.nodeByID[n.Name], n.epoch}, n.renewed}
	at, _ := slices.BinarySearchFunc(c.held, l, func(a, b held) int { return cmp.Or(cmp.Compare(a.at, b.at), -1) })
	c.held = slices.Insert(c.held, at, l)
}

// show takes the next renewal that is shown late. One that is older than what was seen since is no news.
func (c *cluster) show() {
	l := c.held[0]
	c.held = c.held[1:]
	n := &c.nodes[l.node]
	if n.Deleted || n.epoch != l.epoch || c.blind {
		return
	}
	if l.renewed > n.seen {
		n.seen, c.advanced = l.renewed, c.now()
	}
	if l.renewed <= n.shown {
		return
	}
	n.shown, n.missed = l.renewed, l.renewed < n.renewed
	c.world.late(n.Name, Epoch.Add(time.Duration(l.renewed)))
}

// ReadLease reads a node's lease as the API has it, whatever the watch has shown.
func (c *cluster) ReadLease(name string) (lease leases.Lease) {
	i, ok := c.nodeByID[name]
	if !ok || c.nodes[i].renewed == 0 {
		return lease
	}
	n := &c.nodes[i]
	if n.missed {
		n.shown = n.renewed
	}
	return leases.Lease{RenewTime: Epoch.Add(time.Duration(n.renewed))}
}

// ReadLease reads a node's lease live, as leases.Reader needs it: it sees renewals that LoseLeases makes the watch lose.
func (w *World) ReadLease(_ context.Context, node string) (leases.Lease, error) {
	if w.player.apiDown {
		return leases.Lease{}, errAPIDown
	}
	return w.player.cluster.ReadLease(node), nil
}

// readLeases has the leases read of nodes that are about to count as silent. Until the watch has first failed to deliver
// what there is, there is nothing to read.
func (w *World) readLeases(ctx context.Context) (next time.Time) {
	p, now := w.player, w.player.cluster.Clock.Now()
	doubts := p.apiDown || p.cluster.loses || p.cluster.blind
	for _, r := range w.readers {
		if r.begun = r.begun || doubts; !r.begun {
			continue
		}
		if !now.Before(r.next) {
			r.next = r.Once(ctx)
		}
		if next.IsZero() || r.next.Before(next) {
			next = r.next
		}
	}
	return next
}

// reader reads leases for one target.
type reader struct {
	leases.Reader
	next  time.Time
	begun bool // who reads leases goes on: what falls silent waits to be read
}

func (w *World) addReader(to evictor.Target) {
	if judge, ok := to.(leases.Judge); ok {
		w.readers = append(w.readers, &reader{Reader: leases.Reader{Judge: judge, Clock: w.player.cluster.Clock, Read: w.ReadLease}})
	}
}
