package permit

import (
	"maps"
	"slices"

	"github.com/evictkit/evictkit/zone"
)

// place is what nodes wait for.
type place struct {
	permission Permission
	domain     zone.Key
}

// Wait records that the node waits for a permission in its domain.
func (p *Permits) Wait(permission Permission, key zone.Key, node string) {
	at := place{permission, key}
	if p.waiting[at] == nil {
		p.waiting[at] = make(map[string]bool)
	}
	p.waiting[at][node] = true
	p.opened = p.opened || p.May(permission, key) == nil
}

// Forget forgets what the node waits for, and says whether it waited.
func (p *Permits) Forget(node string) (waited bool) {
	for at, nodes := range p.waiting {
		waited = waited || nodes[node]
		if delete(nodes, node); len(nodes) == 0 {
			delete(p.waiting, at)
		}
	}
	return waited
}

// Freed returns the nodes whose permission has been granted, sorted by name, and forgets that they waited for it. Its cost
// grows with what is freed, not with the cluster.
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
