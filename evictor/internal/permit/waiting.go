package permit

import (
	"maps"
	"slices"

	"github.com/evictkit/evictkit/zone"
)

// place is where nodes wait. Write is the same for all domains.
type place struct {
	permission Permission
	domain     zone.Key
}

// Wait notes that something of a node waits for a permission in its domain.
func (p *Permits) Wait(permission Permission, key zone.Key, node string) {
	at := place{permission, key}
	if permission == Write {
		at.domain = zone.Key{}
	}
	if p.waiting[at] == nil {
		p.waiting[at] = make(map[string]struct{})
	}
	p.waiting[at][node] = struct{}{}
	p.opened = p.opened || p.May(permission, key) == nil
}

// Forget forgets that anything of the node waits, and says whether something did.
func (p *Permits) Forget(node string) (waited bool) {
	for at, nodes := range p.waiting {
		_, here := nodes[node]
		waited = waited || here
		if delete(nodes, node); len(nodes) == 0 {
			delete(p.waiting, at)
		}
	}
	return waited
}

// Freed are the nodes of which something needs to wait no more, in the order of their names: what it waited for is permitted. It costs
// what is freed, and nothing for those that do not wait.
func (p *Permits) Freed() []string {
	if !p.opened {
		return nil
	}
	p.opened = false
	var freed []string
	for at, nodes := range p.waiting {
		if p.May(at.permission, at.domain) == nil {
			freed = slices.AppendSeq(freed, maps.Keys(nodes))
			delete(p.waiting, at)
		}
	}
	slices.Sort(freed)
	return slices.Compact(freed)
}
