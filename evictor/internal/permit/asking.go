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

// Recall answers a question without asking the program, if it can: it refuses what is paused or was refused within the
// interval. If known is false, the program must be asked.
func (p *Permits) Recall(q Question, now time.Time) (err error, known bool) {
	last := p.last(q)
	switch {
	case q.Of == Write:
	case q.In:
		if d := p.domains[q.Domain]; d != nil && len(d.pauses) > 0 {
			return d.refusal(q.Domain), true
		}
	case len(p.all.pauses) > 0 || p.observer != nil:
		return p.refusal(), true
	}
	if last.err != nil && now.Before(last.until) {
		return p.refused(q), true
	}
	return nil, false
}

// Answered records the program's answer, and returns it in the form in which observers see it.
func (p *Permits) Answered(q Question, err error, now time.Time) error {
	next := answer{err: err}
	if err != nil {
		next.until = now.Add(p.interval)
	}
	was := p.last(q).err
	if was == nil && err == nil {
		return nil
	}
	if was == nil || err == nil {
		p.touch()
	}
	switch {
	case q.Of == Write:
		p.write = next
	case !q.In:
		p.all.harm = next
	default:
		p.domain(q.Domain).harm = next
	}
	return p.refused(q)
}

func (p *Permits) last(q Question) answer {
	switch d := p.domains[q.Domain]; {
	case q.Of == Write:
		return p.write
	case !q.In:
		return p.all.harm
	case d != nil:
		return d.harm
	}
	return answer{}
}

// refused returns the last refusal in that form; nil if there was none.
func (p *Permits) refused(q Question) error {
	if q.In {
		return p.MayIn(q.Domain)
	}
	return p.last(q).err
}

// Expire makes every refusal expire, so that the program is asked again.
func (p *Permits) Expire() {
	p.write.until, p.all.harm.until = time.Time{}, time.Time{}
	for _, d := range p.domains {
		d.harm.until = time.Time{}
	}
}

// Refused returns, in order, the domains in which the program refused Harm and should be asked again by now.
func (p *Permits) Refused(now time.Time) (keys []zone.Key) {
	for key, d := range p.domains {
		if d.asks() && !now.Before(d.harm.until) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, zone.Key.Compare)
	return keys
}

// asks says whether only the program refuses Harm in the domain.
func (d *domain) asks() bool { return d.harm.err != nil && len(d.pauses) == 0 }

// Next returns when to ask about a refusal again. It leaves out those that something else refuses too, and may lie in the
// past.
func (p *Permits) Next() (next time.Time, ok bool) {
	consider := func(a answer) {
		if a.err != nil && (!ok || a.until.Before(next)) {
			next, ok = a.until, true
		}
	}
	consider(p.write)
	if len(p.all.pauses) > 0 || p.observer != nil {
		return next, ok
	}
	consider(p.all.harm)
	if p.all.harm.err != nil {
		return next, ok
	}
	for _, d := range p.domains {
		if d.asks() {
			consider(d.harm)
		}
	}
	return next, ok
}
