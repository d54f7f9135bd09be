package permit

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/evictkit/evictkit/zone"
)

// ErrPaused is wrapped by what a pause answers.
var ErrPaused = errors.New("paused")

// Permission is what may be refused.
type Permission uint8

// The permissions. Own is Harm where our own taints ask for it.
const (
	Write Permission = iota + 1
	Harm
	Own
)

// Permits are the answers in force. Make them with New.
type Permits struct {
	interval time.Duration
	observer error
	write    answer
	told     bool   // that write is refused
	news     bool   // something was said since Changes
	opened   bool   // something may be permitted, or wait in vain, since Freed
	all      domain // what holds for all domains: it has no policy
	domains  map[zone.Key]*domain
	waiting  map[place]map[string]struct{}
}

// domain is what was said of one. A domain of which nothing is said is not kept.
type domain struct {
	pauses  []string
	harm    answer
	pending zone.Pending
	told    told
}

// answer is what the program said last. A refusal is not asked about again until then.
type answer struct {
	err   error
	until time.Time
}

// New returns Permits by which all is permitted. A refusal is left alone for the interval.
func New(interval time.Duration) *Permits {
	return &Permits{interval: interval, domains: make(map[zone.Key]*domain), waiting: make(map[place]map[string]struct{})}
}

// Name is what people call a domain.
func Name(key zone.Key) string {
	if key == (zone.Key{}) {
		return "nodes without a zone"
	}
	return "zone " + key.String()
}

// Pause refuses Harm until Resume with the same reason; reasons add up.
func (p *Permits) Pause(reason string) {
	p.touch()
	p.all.pause(reason)
}

// Resume ends Pause, and says whether there was one.
func (p *Permits) Resume(reason string) bool {
	p.touch()
	return p.all.resume(reason)
}

// Paused are the reasons in force, oldest first.
func (p *Permits) Paused() []string { return slices.Clone(p.all.pauses) }

// PauseDomain is Pause for one domain, whether or not there is such a one now.
func (p *Permits) PauseDomain(key zone.Key, reason string) { p.domain(key).pause(reason) }

// ResumeDomain ends PauseDomain, and says whether there was one.
func (p *Permits) ResumeDomain(key zone.Key, reason string) bool { return p.domain(key).resume(reason) }

// PausedDomain are the reasons in force for that domain alone.
func (p *Permits) PausedDomain(key zone.Key) []string {
	if d := p.domains[key]; d != nil {
		return slices.Clone(d.pauses)
	}
	return nil
}

func (d *domain) pause(reason string) {
	if !slices.Contains(d.pauses, reason) {
		d.pauses = append(d.pauses, reason)
	}
}

func (d *domain) resume(reason string) bool {
	i := slices.Index(d.pauses, reason)
	if i >= 0 {
		d.pauses = slices.Delete(d.pauses, i, i+1)
	}
	return i >= 0
}

// touch notes that something was said.
func (p *Permits) touch() { p.news, p.opened = true, true }

// domain is the one of which something is said.
func (p *Permits) domain(key zone.Key) *domain {
	p.touch()
	d := p.domains[key]
	if d == nil {
		d = &domain{}
		p.domains[key] = d
	}
	return d
}

// SetObserver takes over how well the cluster is seen, nil for well, and returns what was before.
func (p *Permits) SetObserver(err error) (was error) {
	p.touch()
	was, p.observer = p.observer, err
	return was
}

// Observer is why the cluster is not seen well.
func (p *Permits) Observer() error { return p.observer }

// SetPending takes over what the zone policy says of evictions by our own taints, and says whether that is something else.
func (p *Permits) SetPending(key zone.Key, pending zone.Pending) (changed bool) {
	d := p.domains[key]
	if changed = d != nil && d.pending != pending || d == nil && pending != zone.GoOn; changed {
		p.domain(key).pending = pending
	}
	return changed
}

// Cancels says whether the policy has evictions of the domain given up, and the taints that led to them.
func (p *Permits) Cancels(key zone.Key) bool {
	d := p.domains[key]
	return d != nil && d.pending == zone.Cancel
}

// May is nil when that is permitted as far as is known, and else says why not. Write is the same for all domains.
func (p *Permits) May(permission Permission, key zone.Key) error {
	if permission == Write {
		return p.write.err
	}
	err := p.refusal()
	d := p.domains[key]
	if err == nil && d != nil {
		err = d.refusal(key)
	}
	if err == nil && d != nil && permission == Own {
		err = d.policy(key)
	}
	return err
}

// MayIn is May(Harm) as far as the domain alone decides it.
func (p *Permits) MayIn(key zone.Key) error {
	if d := p.domains[key]; d != nil {
		return d.refusal(key)
	}
	return nil
}

// Policy is why our own taints evict nobody in the domain, as far as the zone policy decides it.
func (p *Permits) Policy(key zone.Key) error {
	if d := p.domains[key]; d != nil {
		return d.policy(key)
	}
	return nil
}

// refusal is why nothing may be harmed in any domain.
func (p *Permits) refusal() error {
	switch {
	case len(p.all.pauses) > 0:
		return fmt.Errorf("%w: %s", ErrPaused, p.all.pauses[0])
	case p.observer != nil:
		return fmt.Errorf("observer is not healthy: %w", p.observer)
	}
	return p.all.harm.err
}

// refusal is why nothing may be harmed in this one.
func (d *domain) refusal(key zone.Key) error {
	switch {
	case len(d.pauses) > 0:
		return fmt.Errorf("%w in %s: %s", ErrPaused, Name(key), d.pauses[0])
	case d.harm.err != nil:
		return fmt.Errorf("%s: %w", Name(key), d.harm.err)
	}
	return nil
}

// policy is the same for what our own taints ask for, as far as the policy says.
func (d *domain) policy(key zone.Key) error {
	if d.pending == zone.GoOn {
		return nil
	}
	return fmt.Errorf("policy of %s: %s", Name(key), d.pending)
}
