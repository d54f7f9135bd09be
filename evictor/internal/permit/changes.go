package permit

import (
	"maps"
	"slices"

	"github.com/evictkit/evictkit/zone"
)

// told is what Changes has told of a domain, or of all.
type told struct {
	closed  bool
	pending zone.Pending
}

// Change is what was refused or permitted since the last one.
type Change struct {
	// Of is Write, Harm, or Own where the zone policy has changed, which is now Pending.
	Of      Permission
	All     bool // of all domains together, or else of Domain
	Domain  zone.Key
	Pending zone.Pending
	// Err is why it is refused, nil when it is not any more, and Text says so in words.
	Err  error
	Text string
}

var texts = [...][2]string{
	Write: {"writes go on", "writes are held back"},
	Harm:  {"taints and evictions go on", "taints and evictions are held back"},
}

var policies = [...]string{
	zone.GoOn:   "evictions by our own taints go on",
	zone.Wait:   "evictions by our own taints wait",
	zone.Cancel: "our own taints and evictions by them are given up",
}

// Changes tells what has changed since the last call, of all domains together first and then of each, in their order.
func (p *Permits) Changes() (changes []Change) {
	if !p.news {
		return nil
	}
	p.news = false
	change := func(was *bool, c Change) {
		if is := c.Err != nil; is != *was {
			if *was, c.Text = is, texts[c.Of][0]; is {
				c.Text = texts[c.Of][1]
			}
			changes = append(changes, c)
		}
	}
	change(&p.told, Change{Of: Write, All: true, Err: p.write.err})
	change(&p.all.told.closed, Change{Of: Harm, All: true, Err: p.refusal()})
	for _, key := range slices.SortedFunc(maps.Keys(p.domains), zone.Key.Compare) {
		d := p.domains[key]
		change(&d.told.closed, Change{Of: Harm, Domain: key, Err: d.refusal(key)})
		if d.pending != d.told.pending {
			d.told.pending = d.pending
			changes = append(changes, Change{Of: Own, Domain: key, Pending: d.pending, Err: d.policy(key), Text: policies[d.pending]})
		}
		if !d.told.closed && d.pending == zone.GoOn {
			delete(p.domains, key)
		}
	}
	return changes
}
