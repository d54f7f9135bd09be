package zone

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/absent"
	"github.com/evictkit/evictkit/internal/due"
)

// Config configures New. Only Policy is required.
type Config[D comparable] struct {
	// Policy decides about every domain that PolicyOf gives no policy of its own. If it has a Validate() error method, New
	// calls it.
	Policy Policy
	// PolicyOf, if not nil, may give a domain its own policy; nil leaves the domain to Policy. Evaluate calls it each
	// time before it asks a policy about the domain. It must not call Evaluate. If the policy has a Validate() error
	// method that fails, Evaluate panics with that error. When its answers change, call Tracker.Reconsider.
	PolicyOf func(domain D) Policy
	// Compare orders the domains that methods return: negative if a comes before b, 0 only if they are the same. If
	// nil, domains come in the order in which they were first Set.
	Compare func(a, b D) int
	// Clock is the real clock if nil. Evaluate reads it when a policy may look at time, and when an age starts or ends.
	Clock clock.PassiveClock
}

// Member is what a tracker needs to know about one member. The zero Member is not ready.
type Member struct {
	// Ready: a member that is not ready counts as bad, whether it is down or its state is unknown.
	Ready bool `json:"ready"`
	// Excluded members belong to a zone and keep it alive, but count neither as good nor as bad.
	Excluded bool `json:"excluded,omitempty"`
	// Identity tells members with the same key apart, such as a UID. An empty one matches any other.
	Identity string `json:"identity,omitempty"`
}

// record is a member and its domain.
type record[D comparable] struct {
	domain *domain[D]
	Member
}

// Tracker counts members by failure domain and returns what changed. Most callers want [Tracker.Set] first, for each
// member that comes or changes, [Tracker.Remove] for one that is gone, and [Tracker.Evaluate] for the domains whose
// state or rate has changed. Members have keys of type K, domains of type D.
//
// All methods are safe for concurrent use. Memory is bounded by the members that were Set and not Removed, and shrinks
// as they go. A key that cannot be hashed panics, as in a map, and changes nothing. A Tracker must be made by
// NewTracker or New.
type Tracker[K, D comparable] struct {
	domains domains[D]

	// Guarded by domains.mu.
	members due.Map[K, record[D]]
}

// NewTracker returns an empty tracker of Kubernetes zones on the real clock, with zones ordered by Key. It returns an
// error if the policy is nil, or if the policy has a Validate() error method that fails; it wraps that error. For another
// clock, in a test for example, call New with Config{Policy: policy, Compare: Key.Compare, Clock: clock}.
func NewTracker[K comparable](policy Policy) (*Tracker[K, Key], error) {
	return New[K](Config[Key]{Policy: policy, Compare: Key.Compare})
}

// New returns an empty tracker of domains of any kind: node pools, racks, health checks. Its errors are those of
// NewTracker.
//
//	racks, err := zone.New[string](zone.Config[Rack]{Policy: zone.DefaultPolicy()})
func New[K, D comparable](config Config[D]) (*Tracker[K, D], error) {
	faults := absent.Faults(field.NewPath("clock"), config.Clock)
	if absent.Value(config.Policy) {
		faults = append(faults, field.Required(field.NewPath("policy"), "DefaultPolicy is kube-controller-manager's"))
	} else if err := validate(config.Policy); err != nil {
		return nil, fmt.Errorf("zone: policy: %w", err)
	}
	if err := faults.ToAggregate(); err != nil {
		return nil, fmt.Errorf("zone: %w", err)
	}
	t := &Tracker[K, D]{}
	t.domains.init(config)
	return t, nil
}

// Set adds the member, or replaces all that was known about it, whatever its domain and identity were. If m has no
// Identity, the known one stays. An unknown domain is created. Set is O(1) and does not allocate for a member that
// stays in its domain.
func (t *Tracker[K, D]) Set(key K, domain D, m Member) {
	if key != key || domain != domain { //nolint:gocritic // NaN
		panic(fmt.Sprintf("zone: %v or %v does not equal itself, so it could never be removed", key, domain)) //nolint:forbidigo // as for a key that cannot be hashed
	}
	ds := &t.domains
	ds.mu.Lock()
	defer ds.mu.Unlock()
	r := t.members.Get(key)
	if r == nil {
		t.addLocked(key, ds.findLocked(domain), m)
		return
	}
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

// addLocked adds an unknown member. Both of its keys were looked up before: a key that cannot be hashed panicked there,
// with nothing changed.
func (t *Tracker[K, D]) addLocked(key K, d *domain[D], m Member) {
	r := t.members.Add(key)
	*r = record[D]{domain: d, Member: m}
	t.domains.countLocked(r, 1)
}

// Remove forgets the member and reports whether it was known. If it was the last member of its domain, the next
// Evaluate forgets the domain. O(1).
func (t *Tracker[K, D]) Remove(key K) bool { return t.RemoveIdentity(key, "") }

// RemoveIdentity is Remove for a member with this identity. If the known member has another identity, it stays and
// RemoveIdentity returns false, so that a late event about a deleted object cannot remove its successor of the same
// name. Identities differ only if neither is empty.
func (t *Tracker[K, D]) RemoveIdentity(key K, identity string) bool {
	ds := &t.domains
	ds.mu.Lock()
	defer ds.mu.Unlock()
	r := t.members.Get(key)
	if r == nil {
		return false
	}
	if identity != "" && r.Identity != "" && r.Identity != identity {
		return false
	}
	ds.countLocked(r, -1)
	t.members.Delete(key, r)
	return true
}
