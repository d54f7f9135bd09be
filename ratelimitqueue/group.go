package ratelimitqueue

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/evictkit/evictkit/internal/due"
	"github.com/evictkit/evictkit/internal/slots"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// GroupConfig configures a Group.
type GroupConfig[D, K comparable] struct {
	// Config holds for the whole group; Rate and Burst hold for each domain, until SetRate. A domain begins with a full
	// bucket, as upstream's does. With Rate 0 it begins with an empty one.
	Config
	// MaxRate limits all domains together, in items a second; 0 means no limit. It saves up at most one token.
	MaxRate float64
	// MaxInFlight limits how many items, not counting exempt ones, are in flight at once; 0 means no limit. See
	// SetMaxInFlight.
	MaxInFlight int
	// Prefer, if not nil, chooses which due key of a domain goes next. It gets the due keys in their order; if it returns
	// any other key or panics, the first of them goes. Take calls it, with no lock held, when it is the domain's turn and
	// more than one key is due that is not exempt. Such a Take is O(n log n) in the number of due keys.
	Prefer func(domain D, due []K) K
	// Compare, if not nil, replaces the turns: of the domains that can hand out, the first in this order does. It compares
	// as for slices.SortFunc. Without limits over all domains it only decides who comes first at one instant; with them,
	// the last domains may get nothing. The group calls it when it makes a domain, with its lock held, so Compare must not
	// use the group. Making a domain is then O(n) in the number of domains.
	Compare func(a, b D) int
}

// Validate reports every fault at once.
func (c GroupConfig[D, K]) Validate() error {
	errs := c.Config.faults()
	errs = append(errs, validRate(c.MaxRate, field.NewPath("maxRate"))...)
	return append(errs, notNegative(c.MaxInFlight, field.NewPath("maxInFlight"))...).ToAggregate()
}

// Group has a queue for each domain (a zone, a tenant, a cluster), with its own rate and tokens, and limits over all
// of them. Most callers want [Group.Add] and [Group.SetRate] first, then [Group.Take] in a loop and [Group.Wait] for
// when to call it again, or [Group.Run] for both.
//
// A key is in one domain at a time. Domains that can hand out take turns: the one whose last turn is longest ago comes
// first (but see GroupConfig.Compare). Within a domain, the item that is due first comes first; among equal due times,
// the one that was added first.
//
// A Group makes a domain when it is first named, which counts as the domain's last turn. Once the bucket of a domain
// without keys, rate or pause of its own is full, the next call that reads the clock forgets the domain; a stopped
// domain has no bucket to fill. So leaving and coming back earns no token, and memory is bounded by the known keys and
// the domains with settings.
//
// All methods are safe for concurrent use. A Group must be made by NewGroup and not be copied.
type Group[D, K comparable, V any] struct {
	core[K, V]
	domains due.Map[D, *line[K, V]] // guarded by the lock
	compare func(a, b D) int
}

// NewGroup returns an empty group, or an error with all faults of the configuration. It starts no goroutine.
func NewGroup[D, K comparable, V any](config GroupConfig[D, K]) (*Group[D, K, V], error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("ratelimitqueue: %w", err)
	}
	g := new(Group[D, K, V])
	g.start(config.Config)
	g.lines = g.all
	g.compare = config.Compare
	if config.MaxRate > 0 {
		g.cap = newBucket(config.MaxRate, 1, 0)
	}
	if config.MaxInFlight > 0 {
		g.bound = config.MaxInFlight
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
	// Waiting, InFlight and Finished are how many of its keys are in these states.
	Waiting, InFlight, Finished int
	// Paused holds the reasons given to PauseDomain for this domain, oldest first.
	Paused []string
	// Next is when the domain next has a due item and a token for it, apart from the limits of the whole group. It may lie
	// in the past. It is zero if that cannot happen before something changes, as in a pause.
	Next time.Time
}

// Add adds the key to the domain, due now, as AddEntry does with the other fields zero. A key that waits, for a retry
// too, takes the new value and keeps its due time.
func (g *Group[D, K, V]) Add(domain D, key K, value V) State {
	return g.AddEntry(domain, Entry[K, V]{Key: key, Value: value})
}

// AddEntry is Queue.AddEntry for a domain. A known key with the same identity stays in its domain; to move it, use
// Move.
func (g *Group[D, K, V]) AddEntry(domain D, e Entry[K, V]) State {
	mustEqualItself(domain)
	now := g.read()
	defer g.table.Unlock()
	l := g.line(domain, now)
	defer g.changed(l) // deferred for keys that cannot be hashed: a domain just made for one must be forgotten
	return g.add(&e, l, now)
}

// read takes the lock and a reading of the clock, and forgets the retired domains whose buckets are full.
func (g *Group[D, K, V]) read() (now int64) {
	now = g.table.Read()
	g.fleet.sweep(now, func(l *line[K, V]) {
		domain := unboxed[D](l.domain)
		g.domains.Delete(domain, g.domains.Get(domain))
	})
	return now
}

// all yields every line. The lock is held.
func (g *Group[D, K, V]) all(yield func(*line[K, V]) bool) {
	for _, l := range g.domains.All() {
		if !yield(*l) {
			return
		}
	}
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

// line returns the domain's line, and makes it if there is none. The domain equals itself. The lock is held.
func (g *Group[D, K, V]) line(domain D, now int64) *line[K, V] {
	if l := g.lineOf(domain); l != nil {
		return l
	}
	place := g.place(domain)
	l := g.newLine(domain, g.rate, now)
	*g.domains.Add(domain) = l
	if g.compare != nil {
		g.fleet.insert(l, place)
	} else {
		g.fleet.serve(l) // it comes after those that were there before
	}
	return l
}

// place returns where a new domain belongs in the order that replaces the turns. The lock is held.
func (g *Group[D, K, V]) place(domain D) int {
	if g.compare == nil {
		return 0
	}
	place, _ := slices.BinarySearchFunc(g.fleet.order, domain, func(l *line[K, V], domain D) int {
		return g.compare(unboxed[D](l.domain), domain)
	})
	return place
}

// Take hands out the next item of the domain whose turn it is. It spends a token of that domain and, with MaxRate, one of
// the group. It returns false if no domain that is not paused has a due item and a token, if MaxRate or MaxInFlight is
// reached, or if the group is paused. The caller becomes the item's holder and must end it.
func (g *Group[D, K, V]) Take() (domain D, it Item[K, V], ok bool) {
	now := g.read()
	defer g.table.Unlock()
	if ok = g.take(&it, now); ok {
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
	r := g.table.Get(key)
	if r == nil {
		return false
	}
	from, to := r.Line, g.line(domain, g.table.Time.Elapsed())
	if from == to {
		return true
	}
	queued := from.heap(r.Exempt).Remove(&r.Place)
	from.counts[r.State]--
	to.counts[r.State]++
	r.Line = to
	if queued {
		to.heap(r.Exempt).Set(r, &r.Place, r.Due, r.Seq)
		g.kick()
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
	l.bucket.setRate(rate, now)
	g.changed(l)
	g.kick()
	return nil
}

// PauseDomain is Pause for one domain: the group hands out none of its items, and its bucket gains no tokens.
func (g *Group[D, K, V]) PauseDomain(domain D, reason string) {
	mustEqualItself(domain)
	now := g.read()
	defer g.table.Unlock()
	l := g.line(domain, now)
	l.forgotten = false
	l.pauses.Add(reason)
	l.bucket.freeze(now)
	g.changed(l)
}

// ResumeDomain ends a PauseDomain with that reason and reports whether there was one.
func (g *Group[D, K, V]) ResumeDomain(domain D, reason string) bool {
	now := g.read()
	defer g.table.Unlock()
	l := g.lineOf(domain)
	if l == nil || !l.pauses.Remove(reason) {
		return false
	}
	g.thaw(l, now)
	g.changed(l)
	g.kick()
	return true
}

// ForgetDomain drops the rate and the pauses that were set for a domain, once it has no keys and its bucket is full.
// From then on GroupConfig applies to it again. A domain without keys loses its pauses and its stop at once; all else
// stays if keys come back earlier. A later SetRate or PauseDomain undoes ForgetDomain.
func (g *Group[D, K, V]) ForgetDomain(domain D) {
	g.table.Lock()
	defer g.table.Unlock()
	if l := g.lineOf(domain); l != nil {
		l.forgotten = true
		g.changed(l)
	}
}

// SetMaxInFlight changes the limit of GroupConfig.MaxInFlight. A negative n means no limit; at 0 the group hands out
// only exempt items. If other things should count towards your limit too, subtract them from n.
func (g *Group[D, K, V]) SetMaxInFlight(n int) {
	g.table.Lock()
	defer g.table.Unlock()
	g.bound = max(n, unbounded)
	g.kick()
}

// Get returns the key's domain and status, or false if it is not known.
func (g *Group[D, K, V]) Get(key K) (domain D, status Status[V], ok bool) {
	g.table.Lock()
	defer g.table.Unlock()
	r := g.table.Get(key)
	if r == nil {
		return domain, status, false
	}
	return unboxed[D](r.Line.domain), g.status(r), true
}

// Domain returns the status of the domain, or false if there is none of that name.
func (g *Group[D, K, V]) Domain(domain D) (DomainStatus, bool) {
	g.table.Lock()
	defer g.table.Unlock()
	l := g.lineOf(domain)
	if l == nil {
		return DomainStatus{}, false
	}
	status := DomainStatus{
		Rate: l.bucket.rate, Paused: slices.Clone(l.pauses),
		Waiting: l.counts[slots.Waiting], InFlight: l.counts[slots.InFlight], Finished: l.counts[slots.Finished],
	}
	if next, ok := l.next(l.bucket.at, false); ok {
		status.Next = g.table.Instant(next)
	}
	return status, true
}

// Run is Queue.Run for a group.
func (g *Group[D, K, V]) Run(ctx context.Context, fn func(context.Context, D, Item[K, V])) error {
	return g.run(ctx, fn != nil, func() (Item[K, V], func(), bool) {
		domain, it, ok := g.Take()
		return it, func() { fn(ctx, domain, it) }, ok
	})
}
