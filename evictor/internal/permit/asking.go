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

// Recall answers a question without asking, if that can be: what is paused, or was refused within the interval, is refused.
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

// Answered takes over what the program answered, and returns it as it is told to others.
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

// refused is the last refusal as it is told, nil when there was none.
func (p *Permits) refused(q Question) error {
	if q.In {
		return p.MayIn(q.Domain)
	}
	return p.last(q).err
}

// Expire has every refusal asked about again.
func (p *Permits) Expire() {
	p.write.until, p.all.harm.until = time.Time{}, time.Time{}
	for _, d := range p.domains {
		d.harm.until = time.Time{}
	}
}

// Refused are the domains of which the program refused Harm, those whose refusal is over by now, in their order.
func (p *Permits) Refused(now time.Time) (keys []zone.Key) {
	for key, d := range p.domains {
		if d.asks() && !now.Before(d.harm.until) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, zone.Key.Compare)
	return keys
}

// asks says whether the domain is refused by nothing but the program.
func (d *domain) asks() bool { return d.harm.err != nil && len(d.pauses) == 0 }

// Next is when a refusal is to be asked about again, those left out that something else refuses too. It may lie in the past.
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
