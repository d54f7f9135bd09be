package clientgo

import (
	"fmt"
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor"
)

// PartialError is the error of Cluster.Health if the guard sees the cluster well enough to act, but not all of it. The
// evictors go on: only the nodes that it names wait or live on.
type PartialError struct {
	// Lost names, in order, the nodes with a lease renewal that the watch has not delivered. The Confirmer reads a lease
	// from the API server again when its node has been silent for another grace period. A node leaves the list when the
	// watch delivers that renewal or a later one.
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

// unreadFor is for how long a failed read shows. The evictor asks again within Config.RetryMax, a minute by default.
const unreadFor = 2 * time.Minute

// answered notes that a suspect's lease was read, and when the node had renewed it.
func (g *guard) answered(node string, renewed time.Time, answer evictor.Answer) {
	lost := answer == evictor.Alive && !g.c.sees(node, renewed)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unread = nil
	if delete(g.lost, node); lost {
		if len(g.lost) == 0 {
			g.c.opts.Logger.Warn("the watch of leases has lost a renewal", "node", node)
		}
		g.lost[node] = renewed
	}
}

// unanswered notes that a suspect's lease could not be read.
func (g *guard) unanswered(err error) {
	now := g.c.opts.Clock.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unread, g.unreadAt = err, now
}

// partial returns what is not seen although the guard is content, or nil.
func (g *guard) partial() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := &PartialError{}
	for node, renewed := range g.lost {
		if _, exists := g.c.nodes.Node(node); !exists || g.c.sees(node, renewed) {
			delete(g.lost, node)
			continue
		}
		p.Lost = append(p.Lost, node)
	}
	slices.Sort(p.Lost)
	if g.unread != nil && g.c.opts.Clock.Now().Sub(g.unreadAt) < unreadFor {
		p.Unread = g.unread
	}
	if len(p.Lost) == 0 && p.Unread == nil {
		return nil
	}
	return p
}
