package zone

import (
	"errors"
	"fmt"
	"reflect"

	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/keyindex"
	"github.com/evictkit/evictkit/internal/slab"
)

// Config configures New. Policy is required, the rest is optional.
type Config[D comparable] struct {
	// Policy decides about every domain that PolicyOf gives no other. One with a Validate() error method is
	// checked by New.
	Policy Policy
	// PolicyOf, when not nil, may give a domain a policy of its own; nil leaves it to Policy. It is asked in
	// every evaluation, before that policy and under its terms: it must not call Evaluate or Restore. When what it
	// would answer has changed, call Tracker.Reconsider.
	PolicyOf func(domain D) Policy
	// Compare is the order in which domains are returned: negative when a comes before b, 0 only when they are
	// the same. When nil they come in the order in which they were first Set.
	Compare func(a, b D) int
	// Clock is the real clock when nil. It is read in evaluations for policies that look at time, and when
	// an age begins or ends.
	Clock clock.PassiveClock
}

// Member is what counts of one member. The zero Member is one that is not ready.
type Member struct {
	// Ready false counts as bad, whether it is known to be bad or nothing is known.
	Ready bool `json:"ready"`
	// Excluded members belong to a zone, and keep it, but count neither as good nor as bad.
	Excluded bool `json:"excluded,omitempty"`
	// Identity tells members of one key apart (a UID). Empty is none: it never differs from another.
	Identity string `json:"identity,omitempty"`
}

// record is a member and where it is.
type record[D comparable] struct {
	domain *domain[D]
	Member
	sequence uint64 // rises with the first Set of each key: the order of Snapshot
}

// Tracker counts members, which have keys of type K, by failure domain, which has a key of type D, and says what
// changed. All methods are safe for concurrent use. Its memory is bounded by the members that were Set
// and not Removed, and follows them when they go. A key that cannot be hashed panics, as in a map, and changes
// nothing. It must be made by NewTracker or New.
type Tracker[K, D comparable] struct {
	domains domains[D]

	// Guarded by domains.mu.
	index    keyindex.Index[K] // numbers the members
	members  slab.Slab[record[D]]
	sequence uint64
}

// NewTracker returns an empty tracker of Kubernetes zones, which are ordered by their keys, on the real clock: New
// with nothing but a policy. A nil policy is an error, and so is one with a Validate() error method that objects;
// that error is wrapped.
func NewTracker[K comparable](policy Policy) (*Tracker[K, Key], error) {
	return New[K](Config[Key]{Policy: policy, Compare: Key.Compare})
}

// New returns an empty tracker of domains of any kind: node pools, racks, health checks. Its errors are those of
// NewTracker.
//
//	racks, err := zone.New[string](zone.Config[Rack]{Policy: zone.DefaultPolicy()})
func New[K, D comparable](config Config[D]) (*Tracker[K, D], error) {
	if isNil(config.Policy) {
		return nil, errors.New("zone: no policy; DefaultPolicy is kube-controller-manager's")
	}
	if v, ok := config.Policy.(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return nil, fmt.Errorf("zone: policy: %w", err)
		}
	}
	t := &Tracker[K, D]{}
	t.domains.init(config)
	return t, nil
}

// isNil finds a nil pointer or function in the interface too: it would panic when first asked.
func isNil(policy Policy) bool {
	if policy == nil {
		return true
	}
	switch v := reflect.ValueOf(policy); v.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Slice, reflect.Chan:
		return v.IsNil()
	default:
		return false
	}
}

// Set adds the member or replaces what was known of it, in whichever domain and of whichever identity
// it was before. Without an Identity the one that is known stays. A domain that is not known is made. It costs
// O(1) and does not allocate for a member that stays in its domain.
func (t *Tracker[K, D]) Set(key K, domain D, m Member) {
	ds := &t.domains
	ds.mu.Lock()
	defer ds.mu.Unlock()
	i, ok := t.index.Find(key)
	if !ok {
		t.addLocked(key, ds.findLocked(domain), m)
		return
	}
	r := t.members.At(i)
	if m.Identity == "" {
		m.Identity = r.Identity
	}
	switch {
	case r.domain.key != domain:
		d := ds.findLocked(domain)
		ds.countLocked(r, -1)
		r.domain, r.Member = d, m
	case r.Ready == m.Ready && r.Excluded == m.Excluded:
		r.Identity = m.Identity
		return
	default:
		ds.countLocked(r, -1)
		r.Member = m
	}
	ds.countLocked(r, 1)
}

// addLocked adds a member that is not known. Both its keys were looked up: one that cannot be hashed has panicked, and
// nothing had changed.
func (t *Tracker[K, D]) addLocked(key K, d *domain[D], m Member) {
	t.sequence++
	i, _ := t.index.Insert(key)
	r := t.members.Use(i)
	*r = record[D]{domain: d, sequence: t.sequence, Member: m}
	t.domains.countLocked(r, 1)
}

// Remove forgets the member and says whether it was known. Its domain goes with the next Evaluate if this
// was the last member. It costs O(1).
func (t *Tracker[K, D]) Remove(key K) bool { return t.RemoveIdentity(key, "") }

// RemoveIdentity is Remove, but leaves a member of another identity alone and returns false: a late
// event of a deleted object does not remove the new one of its name. Identities differ only when
// neither is empty.
func (t *Tracker[K, D]) RemoveIdentity(key K, identity string) bool {
	ds := &t.domains
	ds.mu.Lock()
	defer ds.mu.Unlock()
	i, ok := t.index.Find(key)
	if !ok {
		return false
	}
	r := t.members.At(i)
	if identity != "" && r.Identity != "" && r.Identity != identity {
		return false
	}
	ds.countLocked(r, -1)
	t.members.Free(i)
	t.index.Delete(key)
	return true
}
