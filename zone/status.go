package zone

import "slices"

// Status is a copy of what is known about a domain: State and Rate as of the last Evaluate, Counts as of now.
// It encodes to JSON if D does.
type Status[D comparable] struct {
	Zone  D     `json:"zone"`
	State State `json:"state"`
	// Rate is in members a second; 0 stops. It is 0 for a domain that was not evaluated yet.
	Rate   float64 `json:"rate"`
	Counts Counts  `json:"counts"`
}

func (ds *domains[D]) statusLocked(d *domain[D]) Status[D] {
	s := d.stands(ds.allDown)
	return Status[D]{Zone: d.key, State: s.state, Rate: s.rate, Counts: d.counts}
}

// AllDown reports whether, as of the last Evaluate, every domain with counted members is fully disrupted and there is
// at least one such domain.
func (t *Tracker[K, D]) AllDown() bool {
	t.domains.mu.Lock()
	defer t.domains.mu.Unlock()
	return t.domains.allDown
}

// Cluster returns the counts of all domains together, as of now.
func (t *Tracker[K, D]) Cluster() Counts {
	t.domains.mu.Lock()
	defer t.domains.mu.Unlock()
	return t.domains.total
}

// Len returns the number of members, including excluded ones.
func (t *Tracker[K, D]) Len() int {
	t.domains.mu.Lock()
	defer t.domains.mu.Unlock()
	return t.members.Len()
}

// Get returns what was Set for the member, and false if it is not known.
func (t *Tracker[K, D]) Get(key K) (domain D, member Member, ok bool) {
	t.domains.mu.Lock()
	defer t.domains.mu.Unlock()
	r := t.members.Get(key)
	if r == nil {
		return domain, member, false
	}
	return r.domain.key, r.Member, true
}

// Zones returns the Status of every domain, in order. Without any it is empty, not nil.
func (t *Tracker[K, D]) Zones() []Status[D] {
	ds := &t.domains
	type status struct {
		*domain[D]
		Status[D]
	}
	ds.mu.Lock()
	all := make([]status, 0, ds.byKey.Len())
	for _, d := range ds.byKey.All() {
		all = append(all, status{*d, ds.statusLocked(*d)})
	}
	ds.mu.Unlock()

	slices.SortFunc(all, func(a, b status) int { return ds.order(a.domain, b.domain) })
	statuses := make([]Status[D], len(all))
	for i := range all {
		statuses[i] = all[i].Status
	}
	return statuses
}

// Zone returns the Status of one domain, and false if the tracker does not know it. A domain is known from its first
// member until the Evaluate that finds it without any.
func (t *Tracker[K, D]) Zone(domain D) (Status[D], bool) {
	ds := &t.domains
	ds.mu.Lock()
	defer ds.mu.Unlock()
	d := ds.byKey.Get(domain)
	if d == nil {
		return Status[D]{}, false
	}
	return ds.statusLocked(*d), true
}
