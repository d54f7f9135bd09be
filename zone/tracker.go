package zone

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Member is what counts of one member. The zero Member is one that is not ready.
type Member struct {
	// Ready false counts as bad, whether it is known to be bad or nothing is known.
	Ready bool `json:"ready"`
	// Excluded members belong to a zone, and keep it, but count neither as good nor as bad.
	Excluded bool `json:"excluded,omitempty"`
	// Identity tells members of one key apart (a UID); empty never differs.
	Identity string `json:"identity,omitempty"`
}

// domain is a zone that has, or at the last evaluation had, a member.
type domain struct {
	key     Key
	state   State   // as of the last evaluation, Initial before the first
	rate    float64 // likewise, and 0 before the first
	counts  Counts
	members int // excluded ones too
}

// record is a member and where it is. It is reached by pointer so that a member that only flips costs
// one hash of its key.
type record struct {
	domain *domain
	Member
	sequence uint64 // rises with the first Set of each key: the order of Snapshot
}

// Tracker counts members by zone and says what changed. All methods are safe for concurrent use. Its
// memory is bounded by the members that were Set and not Removed. It must be made by NewTracker.
type Tracker[K comparable] struct {
	policy Policy
	// standard is the policy when it is a DisruptionPolicy. Passing it a Situation through the interface
	// is a third of the cost of an evaluation, and it needs only two of its fields.
	standard *DisruptionPolicy

	// evaluation serialises Evaluate and Restore, the only ones that drop a domain or write a state or
	// a rate. It is taken before mu. While it is held mu is released for the policy's calls.
	evaluation sync.Mutex
	scratch    []finding // guarded by evaluation

	mu        sync.Mutex // guards what follows, and every domain and record
	members   map[K]*record
	domains   map[Key]*domain
	order     []*domain // the same domains, by key
	cluster   Counts    // the sum of all domains' counts
	allDown   bool
	sequence  uint64
	version   uint64 // rises with every change of a count
	evaluated uint64 // the version that the states and rates belong to
}

// NewTracker returns an empty tracker. A nil policy is an error, and so is one with a Validate() error
// method that objects; that error is wrapped.
func NewTracker[K comparable](policy Policy) (*Tracker[K], error) {
	if policy == nil {
		return nil, errors.New("zone: no policy; DefaultPolicy is upstream's")
	}
	if v, ok := policy.(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return nil, fmt.Errorf("zone: policy: %w", err)
		}
	}
	t := &Tracker[K]{policy: policy, members: make(map[K]*record), domains: make(map[Key]*domain)}
	if p, ok := policy.(DisruptionPolicy); ok {
		t.standard = &p
	}
	return t, nil
}

// Set adds the member or replaces all that was known of it, in whichever zone and of whichever identity
// it was before. A zone that is not known is made. It costs O(1), but for the first member of a zone,
// and does not allocate for a member that stays in its zone.
func (t *Tracker[K]) Set(key K, zone Key, m Member) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.members[key]
	switch {
	case r == nil:
		t.sequence++
		r = &record{domain: t.domainLocked(zone), sequence: t.sequence, Member: m}
		t.members[key] = r
	case r.domain.key != zone:
		t.countLocked(r, -1)
		r.domain, r.Member = t.domainLocked(zone), m
	case r.Ready == m.Ready && r.Excluded == m.Excluded:
		r.Identity = m.Identity
		return
	default:
		t.countLocked(r, -1)
		r.Member = m
	}
	t.countLocked(r, 1)
}

// domainLocked finds the zone's domain or makes it.
func (t *Tracker[K]) domainLocked(key Key) *domain {
	d, ok := t.domains[key]
	if !ok {
		d = &domain{key: key, state: Initial}
		t.insertLocked(d)
	}
	return d
}

func (t *Tracker[K]) insertLocked(d *domain) {
	t.domains[d.key] = d
	at, _ := slices.BinarySearchFunc(t.order, d.key, func(d *domain, k Key) int { return d.key.Compare(k) })
	t.order = slices.Insert(t.order, at, d)
}

// countLocked adds the member to its zone's counts (by is 1) or takes it away (-1).
func (t *Tracker[K]) countLocked(r *record, by int) {
	t.version++
	r.domain.members += by
	if r.Excluded {
		return
	}
	r.domain.counts.Total += by
	t.cluster.Total += by
	if !r.Ready {
		r.domain.counts.Bad += by
		t.cluster.Bad += by
	}
}

// Remove forgets the member and says whether it was known. Its zone goes with the next Evaluate if this
// was the last member. It costs O(1).
func (t *Tracker[K]) Remove(key K) bool { return t.RemoveIdentity(key, "") }

// RemoveIdentity is Remove, but leaves a member of another identity alone and returns false: a late
// event of a deleted object does not remove the new one of its name. Identities differ only when
// neither is empty.
func (t *Tracker[K]) RemoveIdentity(key K, identity string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, ok := t.members[key]
	if !ok || identity != "" && r.Identity != "" && r.Identity != identity {
		return false
	}
	t.countLocked(r, -1)
	delete(t.members, key)
	return true
}
