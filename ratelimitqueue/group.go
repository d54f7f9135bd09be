package ratelimitqueue

import (
	"fmt"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evictkit/evictkit/internal/due"
	"github.com/evictkit/evictkit/internal/slots"
)

// GroupConfig configures a Group.
type GroupConfig[D, K comparable] struct {
	Config             // of each domain until SetRate; a domain begins with a full bucket, with Rate 0 with an empty one
	MaxRate rate.Limit // limits all domains together, in items a second, with a burst of 1; 0 means no limit
	// Prefer chooses which of a domain's due keys is handed out next; nil chooses the first. It gets them in their order.
	//
	//   - It is not asked about exempt keys, which come before the others, nor about a single key.
	//   - If it returns a key that is none of them, or panics, the first one is handed out.
	//   - Take calls it with no lock held, and again if the turn has passed to another domain when it returns.
	//   - With it, Take is O(n log n).
	Prefer  func(domain D, due []K) K
	OnPanic func(key, value any, stack []byte) // if not nil, is called after a panic in Prefer, with the first of its keys
}

// Group has a queue for each domain (a zone, a tenant, a cluster), with its own rate and tokens. Most callers want
// [Group.Add] and [Group.SetRate] first, then [Group.Take] in a loop and [Group.Next] for when to call it again.
//
// A key is in one domain at a time. Domains that can hand out take turns: the one whose last turn is longest ago comes
// first. A Group makes a domain when it is first named, which counts as the domain's last turn. It keeps the domain while
// that has a key, a pause or another rate than Config's. After that it is forgotten once its bucket is full, at rate 0 at
// once. So leaving and coming back earns no token, and memory is bounded.
//
// All methods are safe for concurrent use, also by holders.
type Group[D, K comparable, V any] struct {
	core[K, V]
	domains due.Map[D, *line[K, V]] // guarded by the lock
}

// NewGroup returns an empty group, or all faults of the configuration.
func NewGroup[D, K comparable, V any](config GroupConfig[D, K]) (*Group[D, K, V], error) {
	faults := append(config.faults(), rateFaults(config.MaxRate, field.NewPath("maxRate"), "means no limit")...)
	if err := joined(faults); err != nil {
		return nil, err
	}
	g := new(Group[D, K, V])
	g.start(config.Config, config.OnPanic)
	if config.MaxRate > 0 {
		g.cap = newBucket(config.MaxRate, 1, 0)
	}
	if config.Prefer != nil {
		g.prefer = func(domain any, due []K) K { return config.Prefer(unboxed[D](domain), due) }
	}
	return g, nil
}

// DomainStatus is a copy of what the group knows about a domain.
type DomainStatus struct {
	Rate    rate.Limit // also while the domain is paused
	Waiting int        // how many of its keys wait
	Next    time.Time  // as Group.Next, but of this domain and without MaxRate; zero if there is none
}

// Add is AddEntry with the other fields zero: a new key is due now, and a waiting one takes the new value.
func (g *Group[D, K, V]) Add(domain D, key K, value V) State {
	return g.AddEntry(domain, Entry[K, V]{Key: key, Value: value})
}

// AddEntry is Queue.AddEntry for a domain. That of a known key does not change, whatever becomes of the entry.
func (g *Group[D, K, V]) AddEntry(domain D, e Entry[K, V]) State {
	mustEqualItself(domain)
	now := g.read()
	defer g.table.Unlock()
	return g.add(&e, g.line(domain, now), now)
}

// read takes the lock and a reading of the clock, and forgets the retired domains whose buckets are full.
func (g *Group[D, K, V]) read() (now int64) {
	now = g.table.Read()
	for l, full, ok := g.fleet.retired.Min(); ok && full <= now; l, full, ok = g.fleet.retired.Min() {
		g.fleet.retired.Remove(&l.retired)
		l.gone = true
		domain := unboxed[D](l.domain)
		g.domains.Delete(domain, g.domains.Get(domain))
	}
	return now
}

// mustEqualItself panics for a domain that no map finds again, before anything is locked or changed.
func mustEqualItself[D comparable](domain D) {
	if domain != domain { //nolint:gocritic // NaN
		panic(fmt.Sprintf("ratelimitqueue: the domain %v does not equal itself, so it could never be forgotten", domain)) //nolint:forbidigo // as for a key that cannot be hashed
	}
}

// lineOf returns the domain's line, or nil. The lock is held.
func (g *Group[D, K, V]) lineOf(domain D) *line[K, V] {
	if l := g.domains.Get(domain); l != nil {
		return *l
	}
	return nil
}

// unboxed returns the domain of a line. Nil, which is no D, stays nil if D is an interface.
func unboxed[D any](domain any) D {
	d, _ := domain.(D)
	return d
}

// line returns the domain's line, and makes it if there is none. It is retired until it gets a key or a setting. The
// domain equals itself. The lock is held.
func (g *Group[D, K, V]) line(domain D, now int64) *line[K, V] {
	if l := g.lineOf(domain); l != nil {
		return l
	}
	l := g.newLine(domain, now)
	*g.domains.Add(domain) = l
	g.changed(l)
	return l
}

// Take is Queue.Take for the domain whose turn it is. With MaxRate it spends a token of the group, too. A paused domain
// has no turn.
func (g *Group[D, K, V]) Take() (domain D, it Item[K, V], ok bool) {
	now := g.read()
	defer g.table.Unlock()
	if it, ok = g.take(now); ok {
		domain = unboxed[D](it.from.domain)
	}
	return domain, it, ok
}

// Move moves a known key to another domain, and reports whether it is known. The key keeps its due time.
func (g *Group[D, K, V]) Move(key K, domain D) bool {
	mustEqualItself(domain)
	now := g.read()
	defer g.table.Unlock()
	s := g.table.Get(key)
	if s == nil {
		return false
	}
	from, to := s.Line, g.line(domain, now)
	if from == to {
		return true
	}
	from.counts[s.State]--
	to.counts[s.State]++
	s.Line = to
	if from.heap(s.Exempt).Remove(&s.Place) {
		to.heap(s.Exempt).Set(s, &s.Place, s.Due, s.Seq)
	}
	g.changed(from)
	g.changed(to)
	return true
}

// SetRate is Queue.SetRate for a domain.
func (g *Group[D, K, V]) SetRate(domain D, limit rate.Limit) error {
	mustEqualItself(domain)
	if err := checkRate(limit); err != nil {
		return err
	}
	now := g.read()
	defer g.table.Unlock()
	l := g.line(domain, now)
	l.forgotten = false
	g.setRate(l, limit, now)
	return nil
}

// PauseDomain stops a domain until ResumeDomain. Unlike at rate 0, its bucket keeps its tokens. It gains none.
func (g *Group[D, K, V]) PauseDomain(domain D) {
	mustEqualItself(domain)
	now := g.read()
	defer g.table.Unlock()
	l := g.line(domain, now)
	l.forgotten, l.paused = false, true
	l.bucket.freeze(now)
	g.changed(l)
}

// ResumeDomain ends the pause of a domain.
func (g *Group[D, K, V]) ResumeDomain(domain D) {
	now := g.read()
	defer g.table.Unlock()
	if l := g.lineOf(domain); l != nil && l.paused {
		l.paused = false
		l.bucket.thaw(now)
		g.changed(l)
	}
}

// ForgetDomain forgets a domain, with its own rate, once it has no keys and its bucket is full. A pause and rate 0 end as
// soon as it has no keys. Any SetRate or PauseDomain undoes this.
func (g *Group[D, K, V]) ForgetDomain(domain D) {
	g.table.Lock()
	defer g.table.Unlock()
	if l := g.lineOf(domain); l != nil {
		l.forgotten = true
		g.changed(l)
	}
}

// Get returns the key's domain and status, or false if it is not known.
func (g *Group[D, K, V]) Get(key K) (domain D, status Status, ok bool) {
	g.table.Read()
	defer g.table.Unlock()
	s := g.table.Get(key)
	if s == nil {
		return domain, status, false
	}
	return unboxed[D](s.Line.domain), g.status(s), true
}

// Domain returns the status of the domain, or false if there is none.
func (g *Group[D, K, V]) Domain(domain D) (DomainStatus, bool) {
	g.read()
	defer g.table.Unlock()
	l := g.lineOf(domain)
	if l == nil {
		return DomainStatus{}, false
	}
	status := DomainStatus{Rate: l.bucket.limit, Waiting: l.counts[slots.Waiting]}
	if next, ok := l.next(l.bucket.at); ok {
		status.Next = g.table.Instant(next)
	}
	return status, true
}
