package ratelimitqueue

import (
	"iter"
	"slices"
	"time"

	"github.com/evictkit/evictkit/internal/due"
	"github.com/evictkit/evictkit/internal/slots"
	"github.com/evictkit/evictkit/internal/steady"
)

// core is what Queue and Group share: items by key, each in a line that has its own bucket. A queue has one line; a group
// has one for each domain, and a fleet that decides whose turn it is.
type core[K comparable, V any] struct {
	rate  float64 // of a line, until SetRate
	burst int
	wake  chan struct{} // size 1: Next may have become earlier

	table     slots.Table[K, V, *line[K, V]] // its Mutex guards the rest and what Group adds; not held while user code runs, except GroupConfig.Compare
	lines     iter.Seq[*line[K, V]]
	only      *line[K, V] // the line of a queue; nil in a group
	fleet     fleet[K, V] // of a group
	cap       bucket      // limits all lines together
	bound     int         // how many may be in flight; unbounded in a queue
	prefer    func(domain any, due []K) K
	out       int // holders that have not ended, without those of exempt items
	exemptOut int // the same for exempt items
}

const unbounded = -1

// start prepares a core with this configuration.
func (c *core[K, V]) start(config Config) {
	config = config.withDefaults()
	c.rate, c.burst = config.Rate, config.Burst
	c.wake = make(chan struct{}, 1)
	c.table.Start(slots.Config{
		Name: "ratelimitqueue", Clock: config.Clock, Backoff: config.Backoff, OnPanic: config.OnPanic,
	}, (*order[K, V])(c))
	c.cap = newBucket(Unlimited, 1, 0)
	c.bound = unbounded
}

// made panics for a zero value.
func (c *core[K, V]) made() {
	if c.table.Clock == nil {
		panic(steady.Unmade) //nolint:forbidigo // a bug of the caller's
	}
}

// order is the core as the owner of its table.
type order[K comparable, V any] core[K, V]

func (o *order[K, V]) Queue(s *slots.Slot[K, V, *line[K, V]]) {
	c := (*core[K, V])(o)
	s.Line.heap(s.Exempt).Set(s, &s.Place, s.Due, s.Seq)
	c.changed(s.Line)
	c.kick()
}

func (o *order[K, V]) Unqueue(s *slots.Slot[K, V, *line[K, V]]) {
	c := (*core[K, V])(o)
	if s.Line.heap(s.Exempt).Remove(&s.Place) {
		c.changed(s.Line)
	}
}

func (o *order[K, V]) Became(s *slots.Slot[K, V, *line[K, V]], was slots.State) {
	s.Line.counts[was]--
	s.Line.counts[s.State]++
}

// changed is called after a change of a line's items, bucket or pauses; nil is no line. The lock is held.
func (c *core[K, V]) changed(l *line[K, V]) {
	if c.only != nil || l == nil {
		return
	}
	if l.forgotten && l.known() == 0 {
		c.unset(l)
	}
	c.fleet.changed(l, l.forgotten || l.bucket.rate == c.rate && len(l.pauses) == 0)
}

// unset ends the pauses and the stop of a line that is to be forgotten, so that its bucket fills up. The lock is held.
func (c *core[K, V]) unset(l *line[K, V]) {
	now := c.table.Time.Read(c.table.Clock.Now()) // what was stopped until now has earned nothing
	if len(l.pauses) > 0 {
		l.pauses = nil
		c.thaw(l, now)
	}
	if l.bucket.rate == 0 {
		l.bucket.setRate(c.rate, now)
	}
}

// thaw lets a line's tokens accrue again if nothing pauses it any more. The lock is held.
func (c *core[K, V]) thaw(l *line[K, V], now int64) {
	if len(c.table.Pauses) == 0 && len(l.pauses) == 0 {
		l.bucket.thaw(now)
	}
}

// kick signals Run to look at Next again.
func (c *core[K, V]) kick() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// add adds the entry to the line. The lock is held.
func (c *core[K, V]) add(e *Entry[K, V], l *line[K, V], now int64) State {
	defer c.changed(c.lineOfKey(e.Key)) // another identity may take the key to another line
	return State(c.table.Add(&slots.Entry[K, V]{
		Key: e.Key, Value: e.Value, Due: e.Due, Identity: e.Identity, OnDuplicate: slots.Duplicate(e.OnDuplicate), Exempt: e.Exempt,
	}, l, now))
}

// lineOfKey returns the line of a known key in a group, or nil. The lock is held.
func (c *core[K, V]) lineOfKey(key K) *line[K, V] {
	if c.only == nil {
		if s := c.table.Get(key); s != nil {
			return s.Line
		}
	}
	return nil
}

// Remove forgets the key in any state, at any rate, paused or not, and returns the state that it was in. If it was in
// flight, it makes no difference how its holder ends it.
func (c *core[K, V]) Remove(key K) State { return c.RemoveIdentity(key, "") }

// RemoveIdentity is Remove for one identity only, so that a late event about a deleted object cannot remove its
// successor with the same key. For another identity it returns OtherIdentity and changes nothing. An empty identity
// matches any.
func (c *core[K, V]) RemoveIdentity(key K, identity string) State {
	c.table.Lock()
	defer c.table.Unlock()
	defer c.changed(c.lineOfKey(key))
	return State(c.table.Remove(key, identity))
}

// Clear forgets every key. Holders that end their items afterwards change nothing. Rates, tokens and pauses stay.
func (c *core[K, V]) Clear() {
	c.table.Lock()
	defer c.table.Unlock()
	c.made()
	for l := range c.lines {
		l.due, l.exempt = due.Heap[*slots.Slot[K, V, *line[K, V]]]{}, due.Heap[*slots.Slot[K, V, *line[K, V]]]{}
	}
	c.table.Clear()
	c.eachLine(func(*line[K, V]) {})
	c.kick()
}

// Len returns how many items wait.
func (c *core[K, V]) Len() int {
	c.table.Lock()
	defer c.table.Unlock()
	return c.table.Count(slots.Waiting)
}

// Waiting returns the waiting keys in the order in which they are due; keys with equal due times are in the order in
// which they were added. Get says more about each. O(n log n), because it sorts them.
func (c *core[K, V]) Waiting() []K {
	c.table.Lock()
	defer c.table.Unlock()
	waiting := make([]*slots.Slot[K, V, *line[K, V]], 0, c.table.Count(slots.Waiting))
	for s := range c.table.All() {
		if s.State == slots.Waiting {
			waiting = append(waiting, s)
		}
	}
	return slots.Keys(waiting)
}

// Stats returns the current Stats. O(1).
func (c *core[K, V]) Stats() Stats {
	c.table.Lock()
	defer c.table.Unlock()
	return Stats{c.table.Count(slots.Waiting), c.table.Out(), c.table.Count(slots.Finished), c.table.Panics()}
}

func (c *core[K, V]) status(s *slots.Slot[K, V, *line[K, V]]) Status[V] {
	is := c.table.Status(s)
	return Status[V]{State(is.State), is.Value, is.Identity, is.Added, is.Due, is.Attempts, is.LastError}
}

// Pause stops handing out until Resume is called with the same reason. Several reasons may be in force; the same one
// twice counts once. Unlike at rate 0, the bucket keeps its tokens, but gains none. Adding and removing go on.
func (c *core[K, V]) Pause(reason string) {
	now := c.table.Read()
	defer c.table.Unlock()
	if !c.table.Pauses.Add(reason) || len(c.table.Pauses) > 1 {
		return
	}
	c.cap.freeze(now)
	c.eachLine(func(l *line[K, V]) { l.bucket.freeze(now) })
}

// Resume ends a Pause with that reason and reports whether there was one.
func (c *core[K, V]) Resume(reason string) bool {
	now := c.table.Read()
	defer c.table.Unlock()
	if !c.table.Pauses.Remove(reason) {
		return false
	}
	if len(c.table.Pauses) == 0 {
		c.cap.thaw(now)
		c.eachLine(func(l *line[K, V]) { c.thaw(l, now) })
		c.kick()
	}
	return true
}

// Paused returns the reasons in force, oldest first.
func (c *core[K, V]) Paused() []string {
	c.table.Lock()
	defer c.table.Unlock()
	return slices.Clone(c.table.Pauses)
}

// eachLine changes every line. The lock is held.
func (c *core[K, V]) eachLine(change func(l *line[K, V])) {
	for l := range c.lines {
		change(l)
		c.changed(l)
	}
}

// Next returns the exact instant, not before now, at which Take next succeeds if nothing changes. It is false if Take
// would never succeed: nothing waits, the rate is 0, or everything is paused.
func (c *core[K, V]) Next() (time.Time, bool) {
	now := c.table.Read()
	defer c.table.Unlock()
	next, ok := c.next(now)
	if !ok {
		return time.Time{}, false
	}
	return c.table.Instant(next), true
}

// next is Next in steady time. The lock is held.
func (c *core[K, V]) next(now int64) (at int64, ok bool) {
	switch {
	case len(c.table.Pauses) > 0:
		return 0, false
	case c.only != nil:
		at, ok = c.only.next(now, false)
	default:
		at, ok = c.fleet.rotation(c.full()).next(now)
	}
	if !ok {
		return 0, false
	}
	return c.cap.next(at)
}

// Wait returns how long it is until Next, for reconcilers to use as RequeueAfter: at least one nanosecond if Take
// succeeds now or later, and 0 if it cannot succeed before something is added or changed. RequeueAfter 0 means "do not
// come back", which is right then, because whatever changes the queue causes its own reconcile.
func (c *core[K, V]) Wait() time.Duration {
	wait, ok := c.wait()
	if !ok {
		return 0
	}
	return max(wait, 1)
}
