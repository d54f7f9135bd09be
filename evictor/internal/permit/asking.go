package permit

import (
	"slices"
	"time"

	"github.com/evictkit/evictkit/zone"
)

// Question is one that the program answers: for Write or Harm, or for Harm in one domain.
type Question struct {
	Of     Permission // Write or Harm
	In     bool       // of Domain alone
	Domain zone.Key
}

var harm = Question{Of: Harm}

func harmIn(key zone.Key) Question { return Question{Of: Harm, In: true, Domain: key} }

// Recall answers a question without asking the program, if it can: it refuses what is paused or was refused within the
// interval. If known is false, the program must be asked.
func (p *Permits) Recall(q Question, now time.Time) (err error, known bool) {
	if g := p.gate(q); !p.stopped(q) && (g.err == nil || !now.Before(g.until)) {
		return nil, false
	}
	return p.refusal(q), true
}

// Answered records the program's answer, and returns it in the form in which observers see it.
func (p *Permits) Answered(q Question, err error, now time.Time) error {
	g := p.gate(q)
	if g.err == nil && err == nil {
		return nil
	}
	g.err, g.until = err, now.Add(p.interval)
	p.change(q, g)
	return p.refusal(q)
}

// stopped says whether the question is refused whatever the program says.
func (p *Permits) stopped(q Question) bool {
	return len(p.gate(q).pauses) > 0 || q == harm && p.observer != nil
}

// Expire makes every refusal expire, so that the program is asked again.
func (p *Permits) Expire() {
	p.write.until, p.all.until = time.Time{}, time.Time{}
	for key, g := range p.domains {
		g.until = time.Time{}
		p.domains[key] = g
	}
}

// Refused returns, in order, the domains in which the program refused Harm and should be asked again by now.
func (p *Permits) Refused(now time.Time) (keys []zone.Key) {
	for key, g := range p.domains {
		if g.err != nil && !p.stopped(harmIn(key)) && !now.Before(g.until) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, zone.Key.Compare)
	return keys
}

// Next returns when to ask about a refusal again. It leaves out those that something else refuses too, and may lie in the
// past.
func (p *Permits) Next() (next time.Time, ok bool) {
	consider := func(q Question) {
		if g := p.gate(q); g.err != nil && !p.stopped(q) && (!ok || g.until.Before(next)) {
			next, ok = g.until, true
		}
	}
	consider(Question{Of: Write})
	consider(harm)
	if p.all.err == nil && !p.stopped(harm) {
		for key := range p.domains {
			consider(harmIn(key))
		}
	}
	return next, ok
}
