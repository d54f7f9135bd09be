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
	observer error
	write    answer
	told     bool   // whether Changes last returned that Write is refused
	news     bool   // something may have changed since Changes
	opened   bool   // something may have been permitted since Freed
	all      domain // what applies to all domains; it has no policy
	domains  map[zone.Key]*domain
	waiting  map[place]map[string]struct{}
}

// domain is what applies to one domain. It is kept only while something does.
type domain struct {
	pauses  []string
	harm    answer
	pending zone.Pending
	told    told
}

// answer is the program's last answer. After a refusal it is not asked again before until.
type answer struct {
	err   error
	until time.Time
}

// New returns Permits that permit everything. After a refusal the program is not asked again for the interval.
func New(interval time.Duration) *Permits {
	return &Permits{interval: interval, domains: make(map[zone.Key]*domain), waiting: make(map[place]map[string]struct{})}
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
	p.touch()
	p.all.pause(reason)
}

// Resume ends the Pause with that reason. It returns false if there was none.
func (p *Permits) Resume(reason string) bool {
	p.touch()
	return p.all.resume(reason)
}

// Paused returns the reasons of the pauses in force, oldest first.
func (p *Permits) Paused() []string { return slices.Clone(p.all.pauses) }

// PauseDomain is Pause for one domain, which need not exist yet.
func (p *Permits) PauseDomain(key zone.Key, reason string) { p.domain(key).pause(reason) }

// ResumeDomain ends the PauseDomain with that reason. It returns false if there was none.
func (p *Permits) ResumeDomain(key zone.Key, reason string) bool { return p.domain(key).resume(reason) }

// PausedDomain returns the reasons in force for that domain alone, oldest first.
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

// touch notes that something may have changed.
func (p *Permits) touch() { p.news, p.opened = true, true }

// domain returns the domain to be changed, and makes it if necessary.
func (p *Permits) domain(key zone.Key) *domain {
	p.touch()
	d := p.domains[key]
	if d == nil {
		d = &domain{}
		p.domains[key] = d
	}
	return d
}

// SetObserver records why the observer cannot see the cluster, nil if it can, and returns the value before.
func (p *Permits) SetObserver(err error) (was error) {
	p.touch()
	was, p.observer = p.observer, err
	return was
}

// Observer returns why the observer cannot see the cluster; nil if it can.
func (p *Permits) Observer() error { return p.observer }

// SetPending records what the zone policy says of evictions by our own taints, and whether that has changed.
func (p *Permits) SetPending(key zone.Key, pending zone.Pending) (changed bool) {
	d := p.domains[key]
	if changed = d != nil && d.pending != pending || d == nil && pending != zone.GoOn; changed {
		p.domain(key).pending = pending
	}
	return changed
}

// Pending returns what the zone policy says about evictions in the domain by our own taints.
func (p *Permits) Pending(key zone.Key) zone.Pending {
	if d := p.domains[key]; d != nil {
		return d.pending
	}
	return zone.GoOn
}

// May returns nil if that is permitted, as far as is known, or else why not. Write is the same for all domains.
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

// MayIn is May(Harm) by what applies to the domain alone.
func (p *Permits) MayIn(key zone.Key) error {
	if d := p.domains[key]; d != nil {
		return d.refusal(key)
	}
	return nil
}

// Policy returns why, by the zone policy, our own taints evict no pods in the domain; nil if they do.
func (p *Permits) Policy(key zone.Key) error {
	if d := p.domains[key]; d != nil {
		return d.policy(key)
	}
	return nil
}

// refusal returns why Harm is refused in all domains; nil if it is not.
func (p *Permits) refusal() error {
	switch {
	case len(p.all.pauses) > 0:
		return fmt.Errorf("%w: %s", ErrPaused, p.all.pauses[0])
	case p.observer != nil:
		return fmt.Errorf("observer is not healthy: %w", p.observer)
	}
	return p.all.harm.err
}

// refusal returns why Harm is refused in this domain alone; nil if it is not.
func (d *domain) refusal(key zone.Key) error {
	switch {
	case len(d.pauses) > 0:
		return fmt.Errorf("%w in %s: %s", ErrPaused, Name(key), d.pauses[0])
	case d.harm.err != nil:
		return fmt.Errorf("%s: %w", Name(key), d.harm.err)
	}
	return nil
}

// policy returns why the zone policy refuses Own in this domain; nil if it does not.
func (d *domain) policy(key zone.Key) error {
	if d.pending == zone.GoOn {
		return nil
	}
	return fmt.Errorf("policy of %s: %s", Name(key), d.pending)
}
