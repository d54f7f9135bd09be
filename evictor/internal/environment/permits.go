package environment

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/zone"
)

// Permits is a Gate that remembers a refusal of Write or Harm until the time that it names or for an interval, so that a
// thousand pods ask once.
type Permits struct {
	gate     gate.Gate
	clock    *Clock
	interval time.Duration
	panicked Panicked
	changed  func() // called with the lock held when writes or harm are refused or permitted again

	mu      sync.Mutex
	refused map[remembered]memory
	asked   int
	blind   *gate.Refused
}

type remembered struct {
	do     gate.Do
	domain zone.Key // of Harm
}

type memory struct {
	no    *gate.Refused
	until time.Time // by the steady clock
}

// Why is a refusal as an error, nil if there is none.
func Why(no *gate.Refused) error {
	if no == nil {
		return nil
	}
	return no
}

// MayEvict asks about all that an eviction needs: harm, a write, the eviction itself, and the first two once more, because
// an answer about a single pod may be slow.
func (p *Permits) MayEvict(ctx context.Context, act gate.Act) *gate.Refused {
	harm, write := gate.Act{Do: gate.Harm, Domain: act.Domain}, gate.Act{Do: gate.Write}
	for _, act := range [...]gate.Act{harm, write, act, write, harm} {
		if no := p.May(ctx, act); no != nil {
			return no
		}
	}
	return nil
}

// May asks, unless a refusal is remembered.
func (p *Permits) May(ctx context.Context, act gate.Act) *gate.Refused {
	key := remembered{do: act.Do}
	if act.Do == gate.Harm {
		key.domain = act.Domain
	}
	p.mu.Lock()
	old, blind, asked := p.refused[key], p.blind, p.asked
	p.mu.Unlock()
	switch {
	case blind != nil:
		return blind
	case p.gate == nil:
		return nil
	case old.no != nil && p.clock.Now().Before(old.until):
		return old.no
	}
	err := p.panicked.Guard(act.Node, func() error { return p.gate.May(ctx, act) })
	if errors.Is(err, errPanic) {
		err = &gate.Refused{Reason: "Panic", Err: err}
	}
	no := because(err)
	if act.Do == gate.Write || act.Do == gate.Harm {
		p.note(key, no, asked)
	}
	return no
}

// note remembers an answer, nil for yes.
func (p *Permits) note(key remembered, no *gate.Refused, asked int) {
	at := p.clock.Read()
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, was := p.refused[key]; was != (no != nil) {
		p.changed()
	}
	if no == nil {
		delete(p.refused, key)
		return
	}
	until := no.Again.Add(at.Lead)
	if !until.After(at.Now) {
		until = at.Now.Add(p.interval)
	}
	if p.asked != asked { // the answer may be older than what Reask was called for
		until = at.Now
	}
	p.refused[key] = memory{no, until}
}

// Last is the last answer about Write or about Harm in a domain, without a question.
func (p *Permits) Last(do gate.Do, domain zone.Key) *gate.Refused {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.blind != nil {
		return p.blind
	}
	return p.refused[remembered{do, domain}].no
}

// Closed is the last answer that lets no pod leave in a domain: about harm there, or about writes.
func (p *Permits) Closed(domain zone.Key) *gate.Refused {
	return cmp.Or(p.Last(gate.Harm, domain), p.Last(gate.Write, zone.Key{}))
}

// Blind refuses everything because the evictor cannot see the cluster, until it is called with nil.
func (p *Permits) Blind(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.blind = nil; err != nil {
		p.blind = &gate.Refused{Reason: "Blind", Err: err}
	}
}

// Refresh asks again where its time has come.
func (p *Permits) Refresh(ctx context.Context) {
	var old []remembered
	now := p.clock.Now()
	p.mu.Lock()
	for key, m := range p.refused {
		if p.blind == nil && !now.Before(m.until) {
			old = append(old, key)
		}
	}
	p.mu.Unlock()
	for _, key := range old {
		_ = p.May(ctx, gate.Act{Do: key.do, Domain: key.domain})
	}
}

// Next is when Refresh has something to ask.
func (p *Permits) Next() (time.Time, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var soon Soonest
	for _, m := range p.refused {
		soon.Or(m.until, p.blind == nil)
	}
	return soon.Time, !soon.IsZero()
}

// Asked is how often Reask was called.
func (p *Permits) Asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// Reask believes no refusal any more.
func (p *Permits) Reask() {
	now := p.clock.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	for key, m := range p.refused {
		p.refused[key] = memory{m.no, now}
	}
}

// because makes a Refused of any error but nil.
func because(err error) *gate.Refused {
	var r *gate.Refused
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &r) || r == nil:
		return &gate.Refused{Reason: "Refused", Err: err}
	case error(r) == err: //nolint:errorlint // itself, not what it wraps
		return r
	}
	return &gate.Refused{Reason: r.Reason, Again: r.Again, Pace: r.Pace, Err: err}
}
