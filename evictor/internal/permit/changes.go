package permit

import (
	"maps"
	"slices"

	"github.com/evictkit/evictkit/zone"
)

// Change is a permission that was refused or granted.
type Change struct {
	// Question is what the permission answers; it is of Own if the zone policy has changed, which then says Pending.
	Question
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
	look := func(q Question) *gate {
		g, err := p.gate(q), p.refusal(q)
		if closed := err != nil; closed != g.toldClosed {
			text := texts[q.Of][0]
			if closed {
				text = texts[q.Of][1]
			}
			changes = append(changes, Change{Question: q, Err: err, Text: text})
			g.toldClosed = closed
		}
		return g
	}
	look(write)
	look(harm)
	for _, key := range slices.SortedFunc(maps.Keys(p.domains), zone.Key.Compare) {
		d := look(harmIn(key))
		if d.pending != d.toldPending {
			of := Question{Of: Own, In: true, Domain: key}
			changes = append(changes, Change{Question: of, Pending: d.pending, Err: p.Policy(key), Text: policies[d.pending]})
			d.toldPending = d.pending
		}
		if !d.toldClosed && d.pending == zone.GoOn {
			delete(p.domains, key)
		}
	}
	return changes
}
