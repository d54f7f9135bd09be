package gate

import (
	"slices"

	"github.com/evictkit/evictkit/zone"
)

// place is what nodes wait for.
type place struct {
	class  Class
	domain zone.Key
}

// Wait records that the node waits until the gates of a class in its domain are open.
func (g *Gates) Wait(class Class, domain zone.Key, node string) {
	at := place{class, domain}
	if g.waiting[at] == nil {
		g.waiting[at] = make(map[string]bool)
	}
	g.waiting[at][node] = true
	g.opened = g.opened || g.May(class, domain, node) == nil
}

// Unwait forgets what the node waits for, and says whether it waited.
func (g *Gates) Unwait(node string) (waited bool) {
	for at, nodes := range g.waiting {
		waited = waited || nodes[node]
		if delete(nodes, node); len(nodes) == 0 {
			delete(g.waiting, at)
		}
	}
	return waited
}

// Forget forgets the node's own gate, of which nothing more is told.
func (g *Gates) Forget(node string) {
	at := Gate{Class: Own, Node: node}
	if g.known[at] != nil {
		delete(g.known, at)
		delete(g.touched, at)
		g.opened = true
	}
}

// Freed returns the nodes that wait no more, because what they waited for is permitted, sorted by name. Its cost grows with
// what is freed and, for evictions by our own taints, with what waits where they are permitted; not with the cluster.
func (g *Gates) Freed() (freed []string) {
	if !g.opened {
		return nil
	}
	g.opened = false
	for at, nodes := range g.waiting {
		if g.May(at.class, at.domain, "") != nil {
			continue
		}
		for node := range nodes {
			if g.May(at.class, at.domain, node) == nil {
				freed = append(freed, node)
				delete(nodes, node)
			}
		}
		if len(nodes) == 0 {
			delete(g.waiting, at)
		}
	}
	slices.Sort(freed)
	return slices.Compact(freed)
}
