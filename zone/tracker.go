package zone

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Member is what counts of one member.
type Member struct {
	// Ready false counts as bad, whether it is known to be bad or nothing is known.
	Ready bool `json:"ready"`
	// Excluded members belong to a zone but count neither as good nor as bad.
	Excluded bool `json:"excluded,omitempty"`
	// Identity tells members of one name apart (a UID); empty never differs.
	Identity string `json:"identity,omitempty"`
}

// Transition says whether an evaluation entered or left the state in which every zone is down.
type Transition uint8

// The transitions; None is the zero value.
const (
	None Transition = iota
	Entered
	Left
)

// String is the name of the constant.
func (t Transition) String() string {
	switch t {
	case None:
		return "None"
	case Entered:
		return "Entered"
	case Left:
		return "Left"
	}
	return fmt.Sprintf("Transition(%d)", uint8(t))
}

// Change is one zone whose state or rate changed. When the cluster as a whole entered or left the
// state in which every zone is down, every zone has a Change, and all of them say so in Cluster.
type Change struct {
	Zone         Key
	From, To     State
	PreviousRate float64
	Rate         float64
	Counts       Counts
	Cluster      Transition
	// Gone: the zone has no member any more and is forgotten. To is Initial, which it would be in
	// again if it came back.
	Gone bool
}

// Status is a copy of what is known of a zone, as of the last Evaluate for State and Rate.
type Status struct {
	Zone    Key
	State   State
	Rate    float64
	Counts  Counts
	Members int // excluded ones too
}

type domain struct {
	key     Key
	state   State
	rate    float64
	counts  Counts
	members int
}

type memberRecord struct {
	domain *domain
	Member
}

// Tracker counts members by zone and says what changed. All methods are safe for concurrent use. Its
// memory is bounded by the members that were Set and not Removed.
type Tracker[K comparable] struct {
	policy Policy

	mu      sync.Mutex // guards what follows
	members map[K]memberRecord
	domains map[Key]*domain
	order   []*domain // by key
	cluster Counts
	allDown bool
	dirty   bool
}

// NewTracker returns an empty tracker. A nil policy, or one with a Validate method that objects, is an
// error.
func NewTracker[K comparable](policy Policy) (*Tracker[K], error) {
	if policy == nil {
		return nil, errors.New("zone: no policy; DefaultPolicy is upstream's")
	}
	if v, ok := policy.(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return nil, fmt.Errorf("zone: %w", err)
		}
	}
	return &Tracker[K]{policy: policy, members: make(map[K]memberRecord), domains: make(map[Key]*domain)}, nil
}

// Set adds the member or replaces what was known of it, in whichever zone it was before. A zone that
// is not known is made. It costs O(1), but for the first member of a zone.
func (t *Tracker[K]) Set(key K, zone Key, m Member) {
	t.mu.Lock()
	defer t.mu.Unlock()
	old, known := t.members[key]
	if known && old.Member == m && old.domain.key == zone {
		return
	}
	d := old.domain
	if d == nil || d.key != zone {
		d = t.domain(zone)
	}
	if known {
		t.count(old, -1)
	}
	record := memberRecord{d, m}
	t.count(record, 1)
	t.members[key] = record
}

func (t *Tracker[K]) domain(key Key) *domain {
	d, ok := t.domains[key]
	if !ok {
		d = &domain{key: key, state: Initial}
		d.rate = t.policy.Rate(Situation{Zone: key, State: Initial, Cluster: t.cluster})
		t.domains[key] = d
		at, _ := slices.BinarySearchFunc(t.order, key, func(d *domain, k Key) int { return d.key.Compare(k) })
		t.order = slices.Insert(t.order, at, d)
	}
	return d
}

// count adds (+1) or takes away (-1) a member.
func (t *Tracker[K]) count(m memberRecord, by int) {
	t.dirty = true
	m.domain.members += by
	if m.Excluded {
		return
	}
	m.domain.counts.Total += by
	t.cluster.Total += by
	if !m.Ready {
		m.domain.counts.Bad += by
		t.cluster.Bad += by
	}
}

// Remove forgets the member and says whether it was known.
func (t *Tracker[K]) Remove(key K) bool { return t.RemoveIdentity(key, "") }

// RemoveIdentity is Remove unless another one has taken the name since: identities differ only when
// both are given.
func (t *Tracker[K]) RemoveIdentity(key K, identity string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	m, ok := t.members[key]
	if !ok || identity != "" && m.Identity != "" && m.Identity != identity {
		return false
	}
	t.count(m, -1)
	delete(t.members, key)
	return true
}

// Evaluate returns the zones whose state or rate changed since the last call, in the order of their
// keys. Where nothing was Set or Removed differently it returns nil at once.
func (t *Tracker[K]) Evaluate() []Change {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.dirty {
		return nil
	}
	t.dirty = false
	counted, allFull, gone := false, true, false
	for _, d := range t.order {
		gone = gone || d.members == 0
		if d.counts.Total == 0 {
			continue // it does not decide
		}
		counted = true
		allFull = allFull && t.policy.State(d.counts) == FullDisruption
	}
	down := counted && allFull
	transition := None
	switch {
	case down && !t.allDown:
		transition = Entered
	case !down && t.allDown:
		transition = Left
	}
	t.allDown = down
	var changes []Change
	for _, d := range t.order {
		c := Change{Zone: d.key, From: d.state, PreviousRate: d.rate, Counts: d.counts, Cluster: transition}
		if d.members == 0 {
			c.To, c.Gone = Initial, true
			changes = append(changes, c)
			delete(t.domains, d.key)
			continue
		}
		d.state = t.policy.State(d.counts)
		d.rate = 0
		if !down {
			d.rate = t.policy.Rate(Situation{Zone: d.key, State: d.state, Counts: d.counts, Cluster: t.cluster})
		}
		if c.To, c.Rate = d.state, d.rate; c.To != c.From || c.Rate != c.PreviousRate || transition != None {
			changes = append(changes, c)
		}
	}
	if gone {
		t.order = slices.DeleteFunc(t.order, func(d *domain) bool { return d.members == 0 })
	}
	return changes
}

// AllDown says whether, as of the last Evaluate, every zone that has counted members is fully
// disrupted. Without any counted member it is false.
func (t *Tracker[K]) AllDown() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.allDown
}

// Len is the number of members.
func (t *Tracker[K]) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.members)
}

// Get returns what was Set for the member.
func (t *Tracker[K]) Get(key K) (Key, Member, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m, ok := t.members[key]
	if !ok {
		return Key{}, Member{}, false
	}
	return m.domain.key, m.Member, true
}

// Zones returns a copy of every zone, in the order of their keys.
func (t *Tracker[K]) Zones() []Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]Status, len(t.order))
	for i, d := range t.order {
		all[i] = d.status()
	}
	return all
}

// Zone returns a copy of one zone.
func (t *Tracker[K]) Zone(key Key) (Status, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d, ok := t.domains[key]
	if !ok {
		return Status{}, false
	}
	return d.status(), true
}

func (d *domain) status() Status {
	return Status{Zone: d.key, State: d.state, Rate: d.rate, Counts: d.counts, Members: d.members}
}
