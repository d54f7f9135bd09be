package permit

import (
	"maps"
	"slices"

	"github.com/evictkit/evictkit/zone"
)

// told is what Changes last returned about a domain, or about all.
type told struct {
	closed  bool
	pending zone.Pending
}

// Change is a permission that was refused or granted.
type Change struct {
	// Of is Write or Harm, or Own if the zone policy has changed, which then says Pending.
	Of      Permission
	All     bool // for all domains together; otherwise for Domain
	Domain  zone.Key
	Pending zone.Pending
	// Err is why it is refused, nil if it is granted. Text says so in words.
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

// PolicyText says what becomes of evictions by our own taints, in words.
func PolicyText(pending zone.Pending) string { return policies[pending] }

// Changes returns what has changed since its last call: first for all domains together, then for each domain in order.
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
