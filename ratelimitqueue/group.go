package ratelimitqueue

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/keyindex"
)

// GroupConfig configures a Group. Only Rate has to be set.
type GroupConfig[D, K comparable] struct {
	// Rate and Burst are those of each domain, as in Config, until SetRate.
	Rate  float64
	Burst int
	// MaxRate bounds all domains together, in items a second; 0 means no bound. No tokens are saved up for it.
	MaxRate float64
	// MaxInFlight bounds how many items are in flight at once, exempt ones apart; 0 means no bound. See SetMaxInFlight.
	MaxInFlight int
	// Prefer, when not nil, chooses which of the keys that are due in a domain is handed out next; they are given in
	// their order. A key that is not among them leaves that order, and so does a panic. It is called with nothing
	// locked when the domain's turn has come and more than one key is due. Without it choosing costs nothing.
	Prefer func(domain D, due []K) K
	// Compare, when not nil, is used instead of turns: of the domains that can hand out, the first in this order does, as
	// slices.SortFunc has it. Without bounds over all domains it says who comes first at one instant, and nothing else;
	// with them the last may get nothing. It is called while the group is locked, for a domain that is made, which then
	// costs O(n) of the number of domains, and must not use the group.
	Compare func(a, b D) int
	// What follows is as in Config, for the whole group.
	Clock              clock.PassiveClock
	Backoff            Backoff
	Permission         func() error
	PermissionInterval time.Duration
	OnError            func(key any, err error)
	OnPanic            func(key, value any, stack []byte)
}

// Validate reports every fault at once.
func (c GroupConfig[D, K]) Validate() error {
	errs := c.config().faults()
	if c.MaxRate == Stopped {
		errs = append(errs, field.Invalid(field.NewPath("maxRate"), c.MaxRate, "must not stop everything: Pause does"))
	}
	errs = append(errs, validRate(c.MaxRate, field.NewPath("maxRate"))...)
	return append(errs, notNegative(c.MaxInFlight, field.NewPath("maxInFlight"))...).ToAggregate()
}

func (c GroupConfig[D, K]) config() Config {
	return Config{
		Rate: c.Rate, Burst: c.Burst, Clock: c.Clock, Backoff: c.Backoff,
		Permission: c.Permission, PermissionInterval: c.PermissionInterval, OnError: c.OnError, OnPanic: c.OnPanic,
	}
}

// Group is a queue for each domain (a zone, a tenant, a cluster), with a rate and tokens of its own, and bounds over all
// of them. A key is in one domain at a time. Domains that have something to hand out take turns: the one whose last turn
// is longest ago comes first (but see GroupConfig.Compare); within a domain what is due first, and of equal due times what came first. All methods
// are safe for concurrent use. Domains are made when they are first named. One without a key and without a rate or
// pause of its own is forgotten as soon as its bucket is full, so that leaving and coming back earns no token, and
// memory is bounded by what is there. It must not be copied.
type Group[D, K comparable, V any] struct {
	core[K, V]
	domains keyindex.Index[D] // numbers the lines; guarded by mu
	compare func(a, b D) int
}

// NewGroup returns an empty group, or all faults of the configuration. It starts nothing.
func NewGroup[D, K comparable, V any](config GroupConfig[D, K]) (*Group[D, K, V], error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("ratelimitqueue: %w", err)
	}
	g := new(Group[D, K, V])
	g.start(config.config())
	g.fleet = new(fleet)
	g.compare = config.Compare
	if config.MaxRate > 0 {
		g.cap = newBucket(config.MaxRate, 1, 0)
	}
	if config.MaxInFlight > 0 {
		g.bound = config.MaxInFlight
	}
	if config.Prefer != nil {
		g.prefer = func(n int32) func([]K) K {
			domain := g.domains.Key(n)
			return func(due []K) K { return config.Prefer(domain, due) }
		}
	}
	return g, nil
}

// GroupEntry is an item to add, as Entry, and its domain.
type GroupEntry[D, K comparable, V any] struct {
	// Domain is where a key that is not known waits. One that is stays where it is: Move moves it.
	Domain D
	// Exempt lets the item pass MaxInFlight: it is handed out though as many are in flight as may be, and does not
	// count. Of what is due in its domain it goes first. It costs the same tokens.
	Exempt        bool
	Key           K
	Value         V
	Due           time.Time
	Identity      string
	OnDuplicate   Duplicate
	WhileInFlight WhileInFlight
}

// GroupItem is what Take hands out, and the domain whose token it took.
type GroupItem[D, K comparable, V any] struct {
	Domain D
	Item[K, V]
}

// GroupStatus is a copy of what is known of one key, and its domain.
type GroupStatus[D comparable, V any] struct {
	Domain D
	Status[V]
}

// DomainStatus is a copy of what is known of a domain.
type DomainStatus struct {
	// Rate is 0 when the domain is stopped.
	Rate float64
	// Waiting, InFlight and Kept are how many of its keys are so.
	Waiting, InFlight, Kept int
	// Paused are the reasons for which this domain alone is paused, oldest first.
	Paused []string
	// Next is when it next has an item that is due and a token for it, as far as the domain alone decides that; it may
	// lie in the past. It is zero when that never happens as things are.
	Next time.Time
}

// Add lets the key wait in the domain, due now. See AddEntry.
func (g *Group[D, K, V]) Add(domain D, key K, value V) AddResult {
	return g.AddEntry(GroupEntry[D, K, V]{Domain: domain, Key: key, Value: value})
}

// AddEntry is as a Queue's, for the domain of the entry.
func (g *Group[D, K, V]) AddEntry(e GroupEntry[D, K, V]) AddResult {
	return g.AddEntryAt(e, g.clock.Now())
}

// AddEntryAt is AddEntry at that reading of the clock.
func (g *Group[D, K, V]) AddEntryAt(e GroupEntry[D, K, V], now time.Time) AddResult {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := g.read(now)
	permitted := g.permitted(at)
	n := g.line(e.Domain, g.config.Rate, at)
	defer g.changed(n) // also when the key cannot be hashed: a domain made in vain is forgotten
	return g.add(&Entry[K, V]{
		Key: e.Key, Value: e.Value, Due: e.Due, Identity: e.Identity, OnDuplicate: e.OnDuplicate, WhileInFlight: e.WhileInFlight,
	}, e.Exempt, n, at, permitted)
}

// read takes a reading of the clock, and forgets the domains whose time has come; g.mu is held.
func (g *Group[D, K, V]) read(now time.Time) int64 {
	at := g.time.Read(now)
	g.sweep(at)
	return at
}

func (g *Group[D, K, V]) sweep(now int64) {
	for {
		n, full, ok := g.fleet.retired.Min()
		if !ok || full > now {
			return
		}
		g.fleet.drop(n)
		g.lines[n] = nil
		g.domains.Delete(g.domains.Key(n))
		g.fleet.order = slices.DeleteFunc(g.fleet.order, func(m int32) bool { return m == n })
	}
}

// line returns the number of the domain's line, made with that rate if there is none; g.mu is held.
func (g *Group[D, K, V]) line(domain D, rate float64, now int64) int32 {
	n, ok := g.domains.Find(domain)
	if ok {
		return n
	}
	place := g.place(domain)
	n, _ = g.domains.Insert(domain)
	for int(n) >= len(g.lines) {
		g.lines = append(g.lines, nil)
	}
	g.lines[n] = g.newLine(rate, now)
	if g.compare != nil {
		g.fleet.insert(n, place, g.lines)
	} else {
		g.fleet.serve(g.lines[n]) // it comes after those that were there before
	}
	return n
}

// place is where a new domain belongs in the order that replaces the turns; g.mu is held.
func (g *Group[D, K, V]) place(domain D) int {
	if g.compare == nil {
		return 0
	}
	place, _ := slices.BinarySearchFunc(g.fleet.order, domain, func(n int32, domain D) int {
		return g.compare(g.domains.Key(n), domain)
	})
	return place
}

// Take hands out the next item of the domain whose turn it is, for a token of that domain and, with MaxRate, one of the
// group; false when no domain has an item that is due and a token, as many are in flight as may be, the group
// is paused or not permitted.
func (g *Group[D, K, V]) Take() (GroupItem[D, K, V], bool) { return g.TakeAt(g.clock.Now()) }

// TakeAt is Take at that reading of the clock.
func (g *Group[D, K, V]) TakeAt(now time.Time) (GroupItem[D, K, V], bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	it, n, ok := g.take(g.read(now))
	if !ok {
		return GroupItem[D, K, V]{}, false
	}
	return GroupItem[D, K, V]{Domain: g.domains.Key(n), Item: it}, true
}

// Move takes a known key to another domain and says whether it is known. It keeps its place: due time and order among
// equals, also while it is in flight, and what its holder says counts in the domain that it is in then.
func (g *Group[D, K, V]) Move(key K, domain D) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i, r, ok := g.find(key)
	if !ok {
		return false
	}
	from, to := r.line, g.line(domain, g.config.Rate, g.time.Elapsed())
	if from == to {
		return true
	}
	g.unqueue(i, r)
	g.lines[from].counts[r.state]--
	g.lines[to].counts[r.state]++
	r.line = to
	if r.state == StateWaiting {
		g.queue(i, r)
	}
	g.changed(from)
	g.changed(to)
	return true
}

// SetRate changes the rate of a domain, as Queue.SetRate does. A domain that it makes starts with a full bucket.
func (g *Group[D, K, V]) SetRate(domain D, rate float64) error {
	return g.SetRateAt(domain, rate, g.clock.Now())
}

// SetRateAt is SetRate at that reading of the clock.
func (g *Group[D, K, V]) SetRateAt(domain D, rate float64, now time.Time) error {
	if err := checkRate(rate); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	at := g.read(now)
	n := g.line(domain, max(rate, 0), at)
	g.lines[n].forgotten = false
	g.lines[n].bucket.setRate(max(rate, 0), at)
	g.changed(n)
	g.kick()
	return nil
}

// PauseDomain is Pause for one domain: nothing of it is handed out, and its tokens stand still.
func (g *Group[D, K, V]) PauseDomain(domain D, reason string) {
	g.PauseDomainAt(domain, reason, g.clock.Now())
}

// PauseDomainAt is PauseDomain at that reading of the clock.
func (g *Group[D, K, V]) PauseDomainAt(domain D, reason string, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := g.read(now)
	n := g.line(domain, g.config.Rate, at)
	l := g.lines[n]
	l.forgotten = false
	pause(&l.pauses, reason)
	l.bucket.freeze(at)
	g.changed(n)
}

// ResumeDomain ends PauseDomain with that reason and says whether there was one.
func (g *Group[D, K, V]) ResumeDomain(domain D, reason string) bool {
	return g.ResumeDomainAt(domain, reason, g.clock.Now())
}

// ResumeDomainAt is ResumeDomain at that reading of the clock.
func (g *Group[D, K, V]) ResumeDomainAt(domain D, reason string, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := g.read(now)
	n, ok := g.domains.Find(domain)
	if !ok || !resume(&g.lines[n].pauses, reason) {
		return false
	}
	g.thaw(g.lines[n], at)
	g.changed(n)
	g.kick()
	return true
}

// ForgetDomain forgets the rate and the pauses that were set for a domain, once it has no key and its bucket is full: it
// is the GroupConfig's again after that. Coming back before, it is as it was; setting anything for it keeps it.
func (g *Group[D, K, V]) ForgetDomain(domain D) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forgetDomain(domain)
}

func (g *Group[D, K, V]) forgetDomain(domain D) {
	if n, ok := g.domains.Find(domain); ok {
		g.lines[n].forgotten = true
		g.changed(n)
	}
}

// SetMaxInFlight changes the bound of GroupConfig.MaxInFlight, to none when n is below zero. At 0 only exempt items are
// handed out. A caller for whom other things count too takes their number off.
func (g *Group[D, K, V]) SetMaxInFlight(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.bound = max(n, unbounded)
	g.kick()
}

// Changed is signalled when Next may have become earlier. It holds one signal, and Run listens to it too.
func (g *Group[D, K, V]) Changed() <-chan struct{} { return g.wake }

// Get returns what is known of the key.
func (g *Group[D, K, V]) Get(key K) (GroupStatus[D, V], bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, r, ok := g.find(key)
	if !ok {
		return GroupStatus[D, V]{}, false
	}
	return GroupStatus[D, V]{Domain: g.domains.Key(r.line), Status: g.status(r)}, true
}

// Domain returns what is known of the domain.
func (g *Group[D, K, V]) Domain(domain D) (DomainStatus, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, ok := g.domains.Find(domain)
	if !ok {
		return DomainStatus{}, false
	}
	l := g.lines[n]
	status := DomainStatus{
		Rate: l.bucket.rate, Paused: slices.Clone(l.pauses),
		Waiting: l.counts[StateWaiting], InFlight: l.counts[StateInFlight], Kept: l.counts[StateKept],
	}
	if next, ok := l.next(l.bucket.at, false); ok {
		status.Next = g.time.Instant(next)
	}
	return status, true
}

// Run is as a Queue's.
func (g *Group[D, K, V]) Run(ctx context.Context, fn func(context.Context, GroupItem[D, K, V])) error {
	return g.run(ctx, func() (Item[K, V], func(), bool) {
		it, ok := g.Take()
		return it.Item, func() { fn(ctx, it) }, ok
	})
}
