package permit

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/evictkit/evictkit/zone"
)

// ErrPaused is wrapped by the refusal of a pause.
var ErrPaused = errors.New("paused")

// Permission is what may be refused.
type Permission uint8

// The permissions. Own is Harm because of our own taints.
const (
	Write Permission = iota + 1
	Harm
	Own
)

// Permits are the answers in force. Make them with New.
type Permits struct {
	interval time.Duration
	observer error    // these two refuse Harm in all domains
	pauses   []string // oldest first
	write    gate
	all      gate               // of Harm in all domains together
	domains  map[zone.Key]*gate // of Harm in one domain; only those to which something applies
	news     bool               // something may have changed since Changes
	opened   bool               // something may have been permitted since Freed
	waiting  map[place]map[string]bool
}

// gate is what is known about a Question, and for Harm in one domain also what the zone policy says of it.
type gate struct {
	err     error     // the program's last answer
	until   time.Time // after a refusal, the program is not asked again before
	pending zone.Pending

	toldClosed  bool // what Changes last returned
	toldPending zone.Pending
}

// New returns Permits that permit everything. After a refusal the program is not asked again for the interval.
func New(interval time.Duration) *Permits {
	return &Permits{interval: interval, domains: make(map[zone.Key]*gate), waiting: make(map[place]map[string]bool)}
}

// Name returns a domain's name for people.
func Name(key zone.Key) string {
	if key == (zone.Key{}) {
		return "nodes without a zone"
	}
	return "zone " + key.String()
}

// Pause refuses Harm until Resume with the same reason. Several pauses may be in force.
func (p *Permits) Pause(reason string) {
	p.change(harm)
	if !slices.Contains(p.pauses, reason) {
		p.pauses = append(p.pauses, reason)
	}
}

// Resume ends the Pause with that reason. It returns false if there was none.
func (p *Permits) Resume(reason string) bool {
	p.change(harm)
	i := slices.Index(p.pauses, reason)
	if i >= 0 {
		p.pauses = slices.Delete(p.pauses, i, i+1)
	}
	return i >= 0
}

// Paused returns the reasons of the pauses in force, oldest first.
func (p *Permits) Paused() []string { return slices.Clone(p.pauses) }

// open is the gate of a question that nothing applies to. It is never changed.
var open gate

// gate returns what is known about the question, to be read.
func (p *Permits) gate(q Question) *gate {
	switch {
	case q.Of == Write:
		return &p.write
	case !q.In:
		return &p.all
	}
	return p.in(q.Domain)
}

// in is gate for Harm in one domain.
func (p *Permits) in(key zone.Key) *gate {
	if d := p.domains[key]; d != nil {
		return d
	}
	return &open
}

// change returns it to be changed.
func (p *Permits) change(q Question) *gate {
	p.news, p.opened = true, true
	if q.In && p.domains[q.Domain] == nil {
		p.domains[q.Domain] = new(gate)
	}
	return p.gate(q)
}

// SetObserver records why the observer cannot see the cluster, nil if it can, and returns the value before.
func (p *Permits) SetObserver(err error) (was error) {
	was, p.observer = p.observer, err
	p.change(harm)
	return was
}

// Observer returns why the observer cannot see the cluster; nil if it can.
func (p *Permits) Observer() error { return p.observer }

// SetPending records what the zone policy says of evictions by our own taints, and whether that has changed.
func (p *Permits) SetPending(key zone.Key, pending zone.Pending) (changed bool) {
	if changed = p.Pending(key) != pending; changed {
		p.change(harmIn(key)).pending = pending
	}
	return changed
}

// Pending returns what the zone policy says about evictions in the domain by our own taints.
func (p *Permits) Pending(key zone.Key) zone.Pending { return p.in(key).pending }

// May returns nil if that is permitted, as far as is known, or else why not. Write is the same for all domains.
func (p *Permits) May(permission Permission, key zone.Key) error {
	if permission == Write {
		return p.write.err
	}
	err := p.refusal(harm)
	if err == nil {
		err = p.MayIn(key)
	}
	if err == nil && permission == Own {
		err = p.Policy(key)
	}
	return err
}

// MayIn is May(Harm) by what applies to the domain alone.
func (p *Permits) MayIn(key zone.Key) error { return p.refusal(harmIn(key)) }

// Policy returns why, by the zone policy, our own taints evict no pods in the domain; nil if they do.
func (p *Permits) Policy(key zone.Key) error {
	if pending := p.Pending(key); pending != zone.GoOn {
		return fmt.Errorf("policy of %s: %s", Name(key), pending)
	}
	return nil
}

// refusal returns why the answer to the question alone is no; nil if it is yes.
func (p *Permits) refusal(q Question) error {
	g := p.gate(q)
	switch {
	case q == harm && len(p.pauses) > 0:
		return fmt.Errorf("%w: %s", ErrPaused, p.pauses[0])
	case q == harm && p.observer != nil:
		return fmt.Errorf("observer is not healthy: %w", p.observer)
	case q.In && g.err != nil:
		return fmt.Errorf("%s: %w", Name(q.Domain), g.err)
	}
	return g.err
}
