package environment

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/timedworker"
	"github.com/evictkit/evictkit/zone"
)

// Permits is a Gate with a memory, so that a thousand pods ask once. It believes a refusal of Write or Harm for an
// interval, and one of a single eviction until the time that it names or, without one, for longer each time.
type Permits struct {
	gate     gate.Gate
	clock    *Clock
	waits    timedworker.Backoff
	panicked Panicked
	changed  func() // called with the lock held when writes or harm are refused or permitted again

	mu      sync.Mutex
	refused map[remembered]memory
	swept   time.Time
	asked   int // how often Reask was called
	blind   *Refusal
}

// Refusal is an answer of a Gate that is not yes. Again is zero only for a turn.
type Refusal struct {
	*gate.Refused
	Known bool // it was given before in the same words, and need not be reported again
}

// Why is the refusal as an error, nil if there is none.
func (r *Refusal) Why() error {
	if r == nil {
		return nil
	}
	return r.Refused
}

type remembered struct {
	do     gate.Do
	domain zone.Key  // of Harm
	pod    types.UID // of Evict
}

type memory struct {
	was   *Refusal
	until time.Time // by the steady clock
	times int
}

// Asks says whether there is anything to ask.
func (p *Permits) Asks() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gate != nil || p.blind != nil
}

// MayEvict asks about all that an eviction needs: harm, a write, the eviction itself, and the first two once more, because
// an answer about a single pod may be slow.
func (p *Permits) MayEvict(ctx context.Context, act gate.Act) *Refusal {
	harm, write := gate.Act{Do: gate.Harm, Domain: act.Domain}, gate.Act{Do: gate.Write}
	for _, act := range [...]gate.Act{harm, write, act, write, harm} {
		if no := p.May(ctx, act); no != nil {
			return no
		}
	}
	return nil
}

// May asks, unless a refusal is remembered.
func (p *Permits) May(ctx context.Context, act gate.Act) *Refusal {
	key := remembered{do: act.Do}
	switch act.Do {
	case gate.Harm:
		key.domain = act.Domain
	case gate.Evict:
		key.pod = act.Pod.UID
	}
	p.mu.Lock()
	old, blind, asked := p.refused[key], p.blind, p.asked
	p.mu.Unlock()
	switch {
	case act.Do == gate.Harm && blind != nil:
		return blind
	case p.gate == nil:
		return nil
	case old.was != nil && p.clock.Now().Before(old.until):
		return old.was
	}
	err := p.panicked.Guard(act.Node, func() error { return p.gate.May(ctx, act) })
	if errors.Is(err, errPanic) {
		err = &gate.Refused{Reason: "Panic", Err: err}
	}
	switch no := because(err); {
	case act.Do != gate.Turn:
		return p.note(key, no, asked)
	case no != nil:
		return &Refusal{Refused: no}
	}
	return nil
}

// note remembers an answer, nil for yes, and returns it with the time until which it is believed.
func (p *Permits) note(key remembered, no *gate.Refused, asked int) *Refusal {
	now := p.clock.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.refused[key]
	if (m.was == nil) != (no == nil) && key.do != gate.Evict {
		p.changed()
	}
	if delete(p.refused, key); no == nil {
		return nil
	}
	if m.times++; key.do != gate.Evict {
		m.times = 1
	}
	m.until = no.Again.Add(p.clock.Lead())
	if !m.until.After(now) {
		m.until = now.Add(p.waits.Delay(m.times, nil))
	}
	if p.asked != asked { // the answer may be older than what Reask was called for
		m.until = now
	}
	same := m.was != nil && m.was.Error() == no.Error()
	m.was = &Refusal{&gate.Refused{Reason: no.Reason, Err: no.Err, Pace: no.Pace, Again: p.clock.Shown(m.until)}, same}
	p.refused[key] = m
	return m.was
}

// Last is the last answer about Write or about Harm in a domain, without a question.
func (p *Permits) Last(do gate.Do, domain zone.Key) *Refusal {
	p.mu.Lock()
	defer p.mu.Unlock()
	if do == gate.Harm && p.blind != nil {
		return p.blind
	}
	return p.refused[remembered{do: do, domain: domain}].was
}

// Blind refuses harm because the evictor cannot see the cluster, until it is called with nil.
func (p *Permits) Blind(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.blind = nil; err != nil {
		p.blind = &Refusal{Refused: &gate.Refused{Reason: "Blind", Err: err}}
	}
}

// Refresh asks again about Write and Harm where its time has come.
func (p *Permits) Refresh(ctx context.Context) {
	for _, key := range p.expired(p.clock.Now()) {
		_ = p.May(ctx, gate.Act{Do: key.do, Domain: key.domain})
	}
}

// forgotten is for how many of the longest waits the refusal of a pod is kept about which nobody asks.
const forgotten = 30

// expired also forgets the refusals of pods about which nobody asks any more.
func (p *Permits) expired(now time.Time) (old []remembered) {
	p.mu.Lock()
	defer p.mu.Unlock()
	sweep := now.Sub(p.swept) > p.waits.Max
	for key, m := range p.refused {
		switch {
		case p.asksAgain(key) && !now.Before(m.until):
			old = append(old, key)
		case sweep && now.Sub(m.until) > forgotten*p.waits.Max:
			delete(p.refused, key)
		}
	}
	if sweep {
		p.swept = now
	}
	return old
}

// asksAgain says whether Refresh asks about it.
func (p *Permits) asksAgain(key remembered) bool {
	return key.do == gate.Write || key.do == gate.Harm && p.blind == nil
}

// Next is when Refresh has something to ask.
func (p *Permits) Next() (next time.Time, some bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, m := range p.refused {
		if p.asksAgain(key) && (!some || m.until.Before(next)) {
			next, some = m.until, true
		}
	}
	return next, some
}

// Reask believes no refusal of Write or Harm any more, and with pods none of single evictions.
func (p *Permits) Reask(pods bool) {
	now := p.clock.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	for key, m := range p.refused {
		if key.do != gate.Evict || pods {
			m.until = now
			p.refused[key] = m
		}
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
