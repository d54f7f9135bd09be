package zone

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/evictkit/evictkit/internal/absent"
	"github.com/evictkit/evictkit/internal/due"
	"github.com/evictkit/evictkit/internal/steady"
)

// Member is what a tracker needs to know about one member. The zero Member is not ready.
type Member struct {
	// Ready: a member that is not ready counts as bad, whether it is down or its state is unknown.
	Ready bool `json:"ready"`
	// Excluded members belong to a zone and keep it alive, but count neither as good nor as bad.
	Excluded bool `json:"excluded,omitempty"`
	// Identity tells members with the same key apart, such as a UID. An empty one matches any other.
	Identity string `json:"identity,omitempty"`
}

// Tracker knows which members each zone has and how many are bad. It tells what follows from that. K is the type of a
// member's key: the name of a node, for example, or a struct of namespace and name.
//
// Most callers want [Tracker.Set] and [Tracker.Remove] at each event, and [Tracker.Evaluate] to learn what changed.
// [Tracker.Next] is for policies that look at the time.
//
// New makes a Tracker. All methods are safe for concurrent use.
type Tracker[K comparable] struct {
	policy Policy

	// evaluation serialises Evaluate, which calls the policy with only this lock held. It is taken before mu. It guards:
	evaluation sync.Mutex
	asked      []*domain // every zone that this evaluation asks about, in order

	mu      sync.Mutex // guards the fields below
	members due.Map[K, record]
	zones   []*domain // in order of their keys
	total   Counts    // the sum of all zones' counts
	changes uint64    // counts changes of members

	// Written with evaluation held too.
	time    steady.Time
	judged  uint64 // how many of the changes evaluations have seen
	allDown bool
	wake    int64 // when the policy wants to be asked again, in steady time; never if it does not
}

// record is a member and its zone.
type record struct {
	zone *domain
	Member
}

// domain is a zone that has, or had at the last evaluation, a member.
type domain struct {
	// mu guards these. State and Rate are written with evaluation held too, so either suffices to read them.
	Status
	members int // excluded ones too

	// What this evaluation found and decided. evaluation guards it.
	found  Counts
	empty  bool
	ruling Ruling
}

// New returns an empty tracker. A nil policy, or a nil value in it, is an error. If the policy has a Validate() error
// method that fails, that is an error too, and New wraps it.
func New[K comparable](policy Policy) (*Tracker[K], error) {
	if absent.Value(policy) {
		return nil, errors.New("zone: policy: Required value: DefaultPolicy is kube-controller-manager's")
	}
	if p, ok := policy.(interface{ Validate() error }); ok {
		if err := p.Validate(); err != nil {
			return nil, fmt.Errorf("zone: policy: %w", err)
		}
	}
	return &Tracker[K]{policy: policy, wake: never}, nil
}

// Set adds the member, or replaces all that was known about it, whatever its zone and identity were. If m has no
// Identity, the known one stays. For a member that stays in its zone, Set takes constant time and does not allocate.
func (t *Tracker[K]) Set(key K, zone Key, m Member) {
	if key != key { //nolint:gocritic // NaN
		panic(fmt.Sprintf("zone: %v does not equal itself, so it could never be removed", key)) //nolint:forbidigo // as for a key that cannot be hashed
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.members.Get(key)
	if r == nil {
		r = t.members.Add(key)
		*r = record{t.findLocked(zone), m}
		t.countLocked(r, 1)
		return
	}
	if m.Identity == "" {
		m.Identity = r.Identity
	}
	if r.zone.Zone == zone && r.Ready == m.Ready && r.Excluded == m.Excluded {
		r.Identity = m.Identity
		return
	}
	t.countLocked(r, -1)
	if r.zone.Zone != zone {
		r.zone = t.findLocked(zone)
	}
	r.Member = m
	t.countLocked(r, 1)
}

// Remove forgets the member and reports whether it did. If it was the last member of its zone, the next Evaluate
// forgets the zone. Remove takes constant time.
//
// If neither the given nor the known identity is empty and they differ, the member stays. So a late event about a
// deleted object cannot remove its successor of the same name.
func (t *Tracker[K]) Remove(key K, identity string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.members.Get(key)
	if r == nil || identity != "" && r.Identity != "" && r.Identity != identity {
		return false
	}
	t.countLocked(r, -1)
	t.members.Delete(key, r)
	return true
}

// placeLocked returns where the zone is, or would be, among the zones.
func (t *Tracker[K]) placeLocked(zone Key) (int, bool) {
	return slices.BinarySearchFunc(t.zones, zone, func(d *domain, zone Key) int {
		return cmp.Or(cmp.Compare(d.Zone.Region, zone.Region), cmp.Compare(d.Zone.Zone, zone.Zone))
	})
}

// findLocked finds the zone or makes it.
func (t *Tracker[K]) findLocked(zone Key) *domain {
	at, known := t.placeLocked(zone)
	if !known {
		t.zones = slices.Insert(t.zones, at, &domain{Status: Status{Zone: zone, State: Initial}})
	}
	return t.zones[at]
}

// countLocked adds the member to its zone's counts (by is 1) or subtracts it (by is -1).
func (t *Tracker[K]) countLocked(r *record, by int) {
	t.changes++
	r.zone.members += by
	if r.Excluded {
		return
	}
	r.zone.Counts.Total += by
	t.total.Total += by
	if !r.Ready {
		r.zone.Counts.Bad += by
		t.total.Bad += by
	}
}

// Zones returns the Status of every zone, by region and then zone, bytewise. Without any it is empty, not nil.
func (t *Tracker[K]) Zones() []Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]Status, len(t.zones))
	for i, d := range t.zones {
		all[i] = d.Status
	}
	return all
}

// Zone returns the Status of one zone, and false if the tracker does not know it. A zone is known from its first member
// until the Evaluate that finds it without any.
func (t *Tracker[K]) Zone(zone Key) (Status, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at, known := t.placeLocked(zone); known {
		return t.zones[at].Status, true
	}
	return Status{}, false
}

// AllDown reports whether, as of the last Evaluate, every zone with counted members is fully disrupted and there is at
// least one such zone.
func (t *Tracker[K]) AllDown() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.allDown
}
