package permit

import (
	"slices"

	"github.com/evictkit/evictkit/zone"
)

// told is what Changes has told of a domain.
type told struct {
	closed  bool
	pending zone.Pending
}

// Change is what was refused or permitted since the last one: of all domains together, or of one.
type Change struct {
	All    bool
	Domain zone.Key
	// Harm says that Harm changed, for all or for this one alone; Err is why it is refused, nil when it is not any more.
	Harm bool
	Err  error
	// Policy says that what the zone policy says has changed, to Pending. It never does for all.
	Policy  bool
	Pending zone.Pending
}

// Changes tells what has changed since the last call, all domains together first and then each, in their order.
func (p *Permits) Changes() (changes []Change) {
	if err := p.refusal(); (err != nil) != p.all.told.closed {
		p.all.told.closed = err != nil
		changes = append(changes, Change{All: true, Harm: true, Err: err})
	}
	first := len(changes)
	for key, d := range p.domains {
		c := Change{Domain: key, Err: d.refusal(key), Pending: d.pending}
		c.Harm, c.Policy = (c.Err != nil) != d.told.closed, c.Pending != d.told.pending
		if c.Harm || c.Policy {
			changes = append(changes, c)
		}
		d.told = told{c.Err != nil, c.Pending}
		if c.Err == nil && d.pending == zone.GoOn {
			delete(p.domains, key)
		}
	}
	slices.SortFunc(changes[first:], func(a, b Change) int { return a.Domain.Compare(b.Domain) })
	return changes
}
