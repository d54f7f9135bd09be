package zone

// Status is a copy of what is known of a zone: its state and rate as of the last Evaluate, its counts
// as of now. It encodes to JSON.
type Status struct {
	Zone  Key   `json:"zone"`
	State State `json:"state"`
	// Rate is in nodes a second; 0 stops, and is the rate of a zone not yet evaluated.
	Rate   float64 `json:"rate"`
	Counts Counts  `json:"counts"`
	// Members are all that are in the zone, excluded ones too, so at least Counts.Total. It is 0 for a
	// zone that the next Evaluate will report gone.
	Members int `json:"members"`
}

func (d *domain) status() Status {
	return Status{Zone: d.key, State: d.state, Rate: d.rate, Counts: d.counts, Members: d.members}
}

// AllDown says whether, as of the last Evaluate, some zone has counted members and every zone that has
// is fully disrupted.
func (t *Tracker[K]) AllDown() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.allDown
}

// Cluster returns the counts of all zones together, as of now.
func (t *Tracker[K]) Cluster() Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cluster
}

// Len is the number of members, excluded ones too.
func (t *Tracker[K]) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.members)
}

// Get returns what was Set for the member, and false when it is not known.
func (t *Tracker[K]) Get(key K) (Key, Member, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, ok := t.members[key]
	if !ok {
		return Key{}, Member{}, false
	}
	return r.domain.key, r.Member, true
}

// Zones returns a copy of every zone, in the order of their keys; empty, not nil, when there is none.
func (t *Tracker[K]) Zones() []Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]Status, len(t.order))
	for i, d := range t.order {
		all[i] = d.status()
	}
	return all
}

// Zone returns a copy of one zone, and false when no member is in it, or was at the last Evaluate.
func (t *Tracker[K]) Zone(key Key) (Status, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d, ok := t.domains[key]
	if !ok {
		return Status{}, false
	}
	return d.status(), true
}
