package ratelimitqueue

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evictkit/evictkit/internal/due"
	"github.com/evictkit/evictkit/internal/slots"
)

// GroupConfig configures a Group.
type GroupConfig[D, K comparable] struct {
	// Config has the Rate and Burst of each domain until SetRate. A domain begins with a full bucket, as upstream's does.
	// With Rate 0 it begins with an empty one.
	Config
	// MaxRate limits all domains together, in items a second; 0 means no limit. It saves up at most one token.
	MaxRate float64
	// Prefer, if not nil, chooses which due key of a domain goes next. It gets the due keys in their order, without the
	// exempt ones. If it returns any other key or panics, the first of them goes. Take calls it with no lock held, when it
	// is the domain's turn and there is a choice. Such a Take is O(n log n) in the number of due keys.
	Prefer func(domain D, due []K) K
	// OnPanic, if not nil, is called after a panic in Prefer.
	OnPanic func(key, value any, stack []byte)
}

// Group has a queue for each domain (a zone, a tenant, a cluster), with its own rate and tokens. Most callers want
// [Group.Add] and [Group.SetRate] first, then [Group.Take] in a loop and [Group.Next] for when to call it again.
//
// A key is in one domain at a time. Domains that can hand out take turns: the one whose last turn is longest ago comes
// first. Within a domain, the item that is due first comes first. Among equal due times it is the one added first.
//
// A Group makes a domain when it is first named, which counts as the domain's last turn. It keeps the domain while that
// has a key, a rate of its own or a pause. After that it forgets the domain as soon as its bucket is full. So leaving and
// coming back earns no token, and memory is bounded by the known keys and the domains with settings.
//
// All methods are safe for concurrent use. A Group must be made by NewGroup and not be copied.
type Group[D, K comparable, V any] struct {
	core[K, V]
	domains due.Map[D, *line[K, V]] // guarded by the lock
}

// NewGroup returns an empty group, or an error with all faults of the configuration. It starts no goroutine.
func NewGroup[D, K comparable, V any](config GroupConfig[D, K]) (*Group[D, K, V], error) {
	faults := append(config.faults(), rateFaults(config.MaxRate, field.NewPath("maxRate"))...)
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
	// Rate is 0 if the domain is stopped.
	Rate float64
	// Waiting is how many of its keys wait.
	Waiting int
	// Next is when the domain next has a due item and a token for it, not before now. MaxRate does not count. It is zero if
	// that cannot happen before something changes, as in a pause.
	Next time.Time
}

// Add adds the key to the domain, due now, as AddEntry does with the other fields zero. A key that waits, for a retry
// too, takes the new value and keeps its due time.
func (g *Group[D, K, V]) Add(domain D, key K, value V) State {
	return g.AddEntry(domain, Entry[K, V]{Key: key, Value: value})
}

// AddEntry is Queue.AddEntry for a domain. A known key stays in its domain; to move it, use Move.
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

// Take hands out the next item of the domain whose turn it is. It spends a token of that domain and, with MaxRate, one of
// the group. It returns false if no domain that is not paused has a due item and a token, or if MaxRate is reached. The
// caller becomes the item's holder and must end it.
func (g *Group[D, K, V]) Take() (domain D, it Item[K, V], ok bool) {
	now := g.read()
	defer g.table.Unlock()
	if it, ok = g.take(now); ok {
		domain = unboxed[D](it.from.domain)
	}
	return domain, it, ok
}

// Move moves a known key to another domain, and reports whether the key is known. It keeps its due time and its place
// among equal due times. A key in flight may be moved too; after that, its ending counts in the new domain.
func (g *Group[D, K, V]) Move(key K, domain D) bool {
	mustEqualItself(domain)
	g.table.Lock()
	defer g.table.Unlock()
	s := g.table.Get(key)
	if s == nil {
		return false
	}
	from, to := s.Line, g.line(domain, g.table.Time.Elapsed())
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

// SetRate changes the rate of a domain, as Queue.SetRate does, and makes the domain if need be.
func (g *Group[D, K, V]) SetRate(domain D, rate float64) error {
	mustEqualItself(domain)
	if err := checkRate(rate); err != nil {
		return err
	}
	now := g.read()
	defer g.table.Unlock()
	l := g.line(domain, now)
	l.forgotten = false
	g.setRate(l, rate, now)
	return nil
}

// PauseDomain stops handing out the items of a domain until ResumeDomain. Unlike at rate 0, its bucket keeps its tokens,
// but gains none. Adding and removing go on.
func (g *Group[D, K, V]) PauseDomain(domain D) {
	mustEqualItself(domain)
	now := g.read()
	defer g.table.Unlock()
	l := g.line(domain, now)
	l.forgotten, l.paused = false, true
	l.bucket.freeze(now)
	g.changed(l)
}

// ResumeDomain ends the pause of a domain. Where there is none it changes nothing.
func (g *Group[D, K, V]) ResumeDomain(domain D) {
	now := g.read()
	defer g.table.Unlock()
	if l := g.lineOf(domain); l != nil && l.paused {
		l.paused = false
		l.bucket.thaw(now)
		g.changed(l)
	}
}

// ForgetDomain gives up the rate and the pause that were set for a domain, as soon as it has no keys. Its pause and its
// stop end then. Another rate stays until the bucket is full. After that GroupConfig applies to the domain again. A later
// SetRate or PauseDomain undoes ForgetDomain.
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
	g.table.Lock()
	defer g.table.Unlock()
	s := g.table.Get(key)
	if s == nil {
		return domain, status, false
	}
	return unboxed[D](s.Line.domain), g.status(s), true
}

// Domain returns the status of the domain, or false if there is none of that name.
func (g *Group[D, K, V]) Domain(domain D) (DomainStatus, bool) {
	now := g.table.Read()
	defer g.table.Unlock()
	l := g.lineOf(domain)
	if l == nil {
		return DomainStatus{}, false
	}
	status := DomainStatus{Rate: l.bucket.rate, Waiting: l.counts[slots.Waiting]}
	if next, ok := l.next(now); ok {
		status.Next = g.table.Instant(next)
	}
	return status, true
}
