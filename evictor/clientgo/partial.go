package clientgo

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/evictkit/evictkit/internal/sighting"
)

// PartialError is the error of Cluster.Health if the guard sees the cluster well enough to act, but not all of it.
type PartialError struct {
	// Lost names, in order, the nodes with a lease renewal that the watch has not delivered. They live on: their leases
	// are read from the API server again before the next grace period ends. A node leaves the list when the watch delivers
	// that renewal or a later one.
	Lost []string
	// Unread is why a read of a silent node's lease failed in the last two minutes; nil if none did.
	Unread error
}

// Error implements error.
func (e *PartialError) Error() string {
	text := ""
	if n := len(e.Lost); n > 0 {
		text = fmt.Sprintf("the watch of leases has lost renewals of %d nodes, %s for one", n, e.Lost[0])
	}
	if e.Unread != nil {
		if text != "" {
			text += "; "
		}
		text += "silent nodes cannot become Unknown: " + e.Unread.Error()
	}
	return text
}

// Unwrap returns Unread.
func (e *PartialError) Unwrap() error { return e.Unread }

// unreadFor is for how long a failed read shows.
const unreadFor = 2 * time.Minute

// wasRead notes what was read of the lease of a node that is about to count as silent: when the node renewed it, the zero
// time if never, or why it cannot be read.
func (g *guard) wasRead(node string, renewed time.Time, err error) {
	lost := err == nil && !renewed.IsZero() && !g.c.sees(sighting.Renewal{Node: node, At: renewed})
	now := g.c.opts.Clock.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.unread = err; err != nil {
		g.unreadAt = now
		return
	}
	if delete(g.lost, node); lost {
		if len(g.lost) == 0 {
			g.c.opts.Logger.Warn("the watch of leases has lost a renewal", "node", node)
		}
		g.lost[node] = renewed
	}
}

// stillUnread is why the last read failed, if it was in the last two minutes. mu is held.
func (g *guard) stillUnread() error {
	if g.unread != nil && g.c.opts.Clock.Now().Sub(g.unreadAt) < unreadFor {
		return g.unread
	}
	return nil
}

// Unread returns why no lease can be read, or else why the last read of a silent node's lease failed, if it was in the last two
// minutes; nil if it did not. Until it can be read, nobody knows whether the node is alive.
func (c *Cluster) Unread() error {
	c.guard.mu.Lock()
	defer c.guard.mu.Unlock()
	return cmp.Or(c.guard.blind, c.guard.stillUnread())
}

// partial returns what is not seen although the guard is content, or nil.
func (g *guard) partial() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := &PartialError{}
	for node, renewed := range g.lost {
		if _, exists := g.c.nodes.Node(node); !exists || g.c.sees(sighting.Renewal{Node: node, At: renewed}) {
			delete(g.lost, node)
			continue
		}
		p.Lost = append(p.Lost, node)
	}
	slices.Sort(p.Lost)
	p.Unread = g.stillUnread()
	if len(p.Lost) == 0 && p.Unread == nil {
		return nil
	}
	return p
}
