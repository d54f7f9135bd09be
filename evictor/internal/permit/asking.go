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

var write, harm = Question{Of: Write}, Question{Of: Harm}

func harmIn(key zone.Key) Question { return Question{Of: Harm, In: true, Domain: key} }

// Recall answers a question without asking the program, if it can: it refuses what is paused or was refused within the
// interval. If known is false, the program must be asked.
func (p *Permits) Recall(q Question, now time.Time) (err error, known bool) {
	if p.stopped(q) || p.asks(q) && now.Before(p.gate(q).until) {
		return p.refusal(q), true
	}
	return nil, false
}

// Answered records the program's answer, and returns it in the form in which observers see it.
func (p *Permits) Answered(q Question, err error, now time.Time) error {
	if p.gate(q).err == nil && err == nil {
		return nil
	}
	g := p.change(q)
	g.err, g.until = err, now.Add(p.interval)
	return p.refusal(q)
}

// stopped says whether the question is refused whatever the program says.
func (p *Permits) stopped(q Question) bool {
	return q == harm && (len(p.pauses) > 0 || p.observer != nil)
}

// asks says whether only the program refuses the question.
func (p *Permits) asks(q Question) bool { return p.gate(q).err != nil && !p.stopped(q) }

// Expire makes every refusal expire, so that the program is asked again.
func (p *Permits) Expire() {
	p.write.until, p.all.until = time.Time{}, time.Time{}
	for _, d := range p.domains {
		d.until = time.Time{}
	}
}

// Refused returns, in order, the domains in which the program refused Harm and should be asked again by now.
func (p *Permits) Refused(now time.Time) (keys []zone.Key) {
	for key, d := range p.domains {
		if p.asks(harmIn(key)) && !now.Before(d.until) {
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
		if until := p.gate(q).until; p.asks(q) && (!ok || until.Before(next)) {
			next, ok = until, true
		}
	}
	consider(write)
	consider(harm)
	if !p.stopped(harm) && !p.asks(harm) {
		for key := range p.domains {
			consider(harmIn(key))
		}
	}
	return next, ok
}
