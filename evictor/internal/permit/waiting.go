package permit

import (
	"cmp"
	"slices"

	"github.com/evictkit/evictkit/zone"
)

// What is what of a node waits.
type What uint8

// What may wait, together.
const (
	Tried     What = 1 << iota // a write that was tried, and will be again by and by
	Planned                    // a write that was planned without harm, and will not be tried
	Evictions                  // of its pods
)

// place is where nodes wait. Write is the same for all domains.
type place struct {
	permission Permission
	domain     zone.Key
}

// Freed is a node of which something needs to wait no more.
type Freed struct {
	Node string
	What What
}

// Wait notes that something of a node waits for a permission in its domain.
func (p *Permits) Wait(permission Permission, key zone.Key, node string, what What) {
	at := place{permission, key}
	if permission == Write {
		at.domain = zone.Key{}
	}
	if p.waiting[at] == nil {
		p.waiting[at] = make(map[string]What)
	}
	p.waiting[at][node] |= what
	p.opened = p.opened || p.May(permission, key) == nil
}

// Forget forgets that anything of the node waits, and returns what did.
func (p *Permits) Forget(node string) (what What) {
	for at, nodes := range p.waiting {
		what |= nodes[node]
		if delete(nodes, node); len(nodes) == 0 {
			delete(p.waiting, at)
		}
	}
	return what
}

// Freed are those that wait no more, in the order of their names: what they waited for is permitted. It costs what is freed, and
// nothing for those that do not wait.
func (p *Permits) Freed() (freed []Freed) {
	if !p.opened {
		return nil
	}
	p.opened = false
	for at, nodes := range p.waiting {
		if p.May(at.permission, at.domain) != nil {
			continue
		}
		delete(p.waiting, at)
		for node, what := range nodes {
			freed = append(freed, Freed{node, what})
		}
	}
	slices.SortFunc(freed, func(a, b Freed) int { return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.What, b.What)) })
	merged := freed[:0]
	for _, f := range freed {
		if last := len(merged) - 1; last >= 0 && merged[last].Node == f.Node {
			merged[last].What |= f.What
		} else {
			merged = append(merged, f)
		}
	}
	return merged
}
