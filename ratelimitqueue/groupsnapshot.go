package ratelimitqueue

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// GroupSnapshot is a group as plain data, as Snapshot is for a queue.
type GroupSnapshot[D, K comparable, V any] struct {
	// Version is 1.
	Version int `json:"version"`
	// Tokens is how many tokens GroupConfig.MaxRate had TokensAge ago. MaxRate and MaxInFlight themselves are not
	// stored; they come from the configuration.
	Tokens    float64       `json:"tokens"`
	TokensAge time.Duration `json:"tokensAge"`
	Pauses    []string      `json:"pauses,omitempty"`
	// Domains are in the order of their turns, the one served longest ago first, or in that of GroupConfig.Compare.
	Domains []SnapshotDomain[D]          `json:"domains"`
	Items   []GroupSnapshotItem[D, K, V] `json:"items"`
}

// SnapshotDomain is one domain of a group.
type SnapshotDomain[D comparable] struct {
	Domain D `json:"domain"`
	// Rate, Tokens and Pauses are as in Snapshot.
	Rate      float64       `json:"rate"`
	Tokens    float64       `json:"tokens"`
	TokensAge time.Duration `json:"tokensAge"`
	Pauses    []string      `json:"pauses,omitempty"`
	// Forgotten: ForgetDomain was called.
	Forgotten bool `json:"forgotten,omitempty"`
}

// GroupSnapshotItem is one known key of a group.
type GroupSnapshotItem[D, K comparable, V any] struct {
	Domain D    `json:"domain"`
	Exempt bool `json:"exempt,omitempty"`
	SnapshotItem[K, V]
}

// Snapshot returns the group with every known key, ordered by due time. Restore says what becomes of those in flight.
func (g *Group[D, K, V]) Snapshot() GroupSnapshot[D, K, V] { return g.SnapshotAt(g.clock.Now()) }

// SnapshotAt is Snapshot at that reading of the clock.
func (g *Group[D, K, V]) SnapshotAt(now time.Time) GroupSnapshot[D, K, V] {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := g.read(now)
	s := GroupSnapshot[D, K, V]{
		Version: snapshotVersion, Tokens: g.cap.tokens, TokensAge: g.cap.age(at),
		Pauses: slices.Clone(g.pauses), Domains: g.snapshotDomains(at),
	}
	numbers := g.numbers(at)
	s.Items = make([]GroupSnapshotItem[D, K, V], len(numbers))
	for n, i := range numbers {
		r, _ := g.records.At(i).unheld(at)
		s.Items[n] = GroupSnapshotItem[D, K, V]{Domain: g.domains.Key(r.line), Exempt: r.exempt, SnapshotItem: g.snapshotItem(i, at)}
	}
	return s
}

// snapshotDomains copies the remembered domains. g.mu is held.
func (g *Group[D, K, V]) snapshotDomains(now int64) []SnapshotDomain[D] {
	var numbers []int32
	for n, l := range g.lines {
		if l != nil {
			numbers = append(numbers, int32(n))
		}
	}
	slices.SortFunc(numbers, func(a, b int32) int { return cmp.Compare(g.lines[a].turn, g.lines[b].turn) })
	domains := make([]SnapshotDomain[D], len(numbers))
	for at, n := range numbers {
		l := g.lines[n]
		domains[at] = SnapshotDomain[D]{
			Domain: g.domains.Key(n), Rate: l.bucket.rate, Tokens: l.bucket.tokens, TokensAge: l.bucket.age(now),
			Pauses: slices.Clone(l.pauses), Forgotten: l.forgotten,
		}
	}
	return domains
}

// Restore loads a snapshot into a group that knows no key, as Queue.Restore does. A domain that is there twice is an
// error too.
func (g *Group[D, K, V]) Restore(s GroupSnapshot[D, K, V]) error {
	return g.RestoreAt(s, g.clock.Now())
}

// RestoreAt is Restore at that reading of the clock.
func (g *Group[D, K, V]) RestoreAt(s GroupSnapshot[D, K, V], now time.Time) error {
	item := func(n int) *SnapshotItem[K, V] { return &s.Items[n].SnapshotItem }
	err := errors.Join(checkVersion(s.Version), checkTokens(s.Tokens, s.TokensAge), checkPauses(s.Pauses), checkDomains(&s), checkItems(len(s.Items), item))
	order := byPlace(len(s.Items), item)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err = errors.Join(err, g.checkEmpty()); err != nil {
		return fmt.Errorf("ratelimitqueue: cannot restore: %w", err)
	}
	at := g.read(now)
	g.restorePauses(s.Pauses, at)
	g.cap.restore(g.cap.rate, s.Tokens, s.TokensAge, at)
	for i := range s.Domains {
		g.restoreDomain(&s.Domains[i], at)
	}
	for _, n := range order {
		line := g.line(s.Items[n].Domain, g.config.Rate, at)
		g.restoreItem(item(n), line, s.Items[n].Exempt, at)
	}
	for i := range s.Domains { // last, because this drops the settings of domains without keys
		if s.Domains[i].Forgotten {
			g.forgetDomain(s.Domains[i].Domain)
		}
	}
	g.kick()
	return nil
}

// checkDomains looks for faults of the domains. It also uses every domain as a map key, so that one that cannot be hashed
// panics before anything has changed.
func checkDomains[D, K comparable, V any](s *GroupSnapshot[D, K, V]) error {
	seen := make(map[D]struct{}, len(s.Domains))
	for i := range s.Domains {
		d := &s.Domains[i]
		if _, twice := seen[d.Domain]; twice {
			return fmt.Errorf("domain %v appears twice", d.Domain)
		}
		seen[d.Domain] = struct{}{}
		if err := errors.Join(checkRate(d.Rate), checkTokens(d.Tokens, d.TokensAge), checkPauses(d.Pauses)); err != nil {
			return fmt.Errorf("domain %v: %w", d.Domain, err)
		}
	}
	for i := range s.Items {
		_ = seen[s.Items[i].Domain]
	}
	return nil
}

// restoreDomain restores the settings of a domain, and puts it behind those restored before. g.mu is held.
func (g *Group[D, K, V]) restoreDomain(d *SnapshotDomain[D], now int64) {
	n := g.line(d.Domain, g.config.Rate, now)
	l := g.lines[n]
	g.fleet.serve(l)
	for _, reason := range d.Pauses {
		pause(&l.pauses, reason)
		l.bucket.freeze(now)
	}
	l.bucket.restore(d.Rate, d.Tokens, d.TokensAge, now)
	g.changed(n)
}
