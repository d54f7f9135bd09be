package ratelimitqueue

import (
	"iter"
	"sync"

	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/due"
	"github.com/evictkit/evictkit/internal/steady"
)

// core is what Queue and Group share: records by key, each in a line that has its own bucket. A queue has one line; a
// group has one for each domain, and a fleet that decides whose turn it is.
type core[K comparable, V any] struct {
	config Config
	clock  clock.PassiveClock
	wake   chan struct{} // size 1: Next may have become earlier

	mu        sync.Mutex // guards the rest and what Group adds; not held while user code runs, except GroupConfig.Compare
	time      steady.Time
	records   due.Map[K, record[K, V]]
	spare     *tried[V] // zero
	lines     iter.Seq[*line[K, V]]
	only      *line[K, V] // the line of a queue; nil in a group
	fleet     fleet[K, V] // of a group
	cap       bucket      // limits all lines together
	bound     int         // how many may be in flight; unbounded in a queue
	prefer    func(domain any, due []K) K
	pauses    []string
	counts    [states]int // keys by state
	seq       uint64      // numbers what was added: the place among equal due times
	holders   uint64      // numbers the holders
	out       int         // holders that have not ended, without those of exempt items; their keys may be unknown by now
	exemptOut int         // the same for exempt items
	stats     Stats       // only its totals
}

const unbounded = -1

func differ(a, b string) bool { return a != "" && b != "" && a != b }

// start prepares a core with this configuration.
func (c *core[K, V]) start(config Config) {
	c.config = config.withDefaults()
	c.clock = c.config.Clock
	c.wake = make(chan struct{}, 1)
	c.time.Read(c.clock.Now())
	c.cap = newBucket(Unlimited, 1, 0)
	c.bound = unbounded
}

// become changes the state of the record, and the counts by state. c.mu is held.
func (c *core[K, V]) become(r *record[K, V], s State) {
	c.counts[r.state]--
	r.line.counts[r.state]--
	r.state = s
	c.counts[s]++
	r.line.counts[s]++
}

// queue puts the record into its line, unless an earlier holder has not ended. c.mu is held.
func (c *core[K, V]) queue(r *record[K, V]) {
	if r.awaits() {
		return
	}
	r.line.heap(r.exempt).Set(r, &r.place, r.due, r.seq)
	c.changed(r.line)
	c.kick()
}

// unqueue takes the record out of its line. c.mu is held.
func (c *core[K, V]) unqueue(r *record[K, V]) {
	if r.line.heap(r.exempt).Remove(&r.place) {
		c.changed(r.line)
	}
}

// changed is called after a change of a line's items, bucket or pauses. c.mu is held.
func (c *core[K, V]) changed(l *line[K, V]) {
	if c.only != nil {
		return
	}
	if l.forgotten && l.known() == 0 {
		c.unset(l)
	}
	c.fleet.changed(l, l.forgotten || l.bucket.rate == c.config.Rate && len(l.pauses) == 0)
}

// unset ends the pauses and the stop of a line that is to be forgotten, so that its bucket fills up. c.mu is held.
func (c *core[K, V]) unset(l *line[K, V]) {
	now := c.time.Elapsed()
	if len(l.pauses) > 0 {
		l.pauses = nil
		c.thaw(l, now)
	}
	if l.bucket.rate == 0 {
		l.bucket.setRate(c.config.Rate, now)
	}
}

// thaw lets a line's tokens accrue again if nothing pauses it any more. c.mu is held.
func (c *core[K, V]) thaw(l *line[K, V], now int64) {
	if len(c.pauses) == 0 && len(l.pauses) == 0 {
		l.bucket.thaw(now)
	}
}

// kick signals Run, and whoever else listens, to look at Next again.
func (c *core[K, V]) kick() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// add adds an entry to the line, or does what its policies say if the key is known. c.mu is held.
func (c *core[K, V]) add(e *Entry[K, V], exempt bool, l *line[K, V], now int64) AddResult {
	due := now
	if !e.Due.IsZero() {
		due = c.time.Of(e.Due)
	}
	r := c.records.Get(e.Key)
	if r == nil {
		r = c.records.Add(e.Key)
		r.key = e.Key
	}
	switch {
	case r.state == 0:
		r.line = l
		c.fresh(r, e.Value, e.Identity, now, due, exempt)
		return Added
	case differ(r.identity, e.Identity):
		was := r.line
		c.empty(r)
		r.line = l
		c.fresh(r, e.Value, e.Identity, now, due, exempt)
		c.changed(was)
		return Replaced
	case r.identity == "":
		r.identity = e.Identity
	}
	switch r.state {
	case StateInFlight:
		if e.WhileInFlight == Again {
			c.seq++
			c.stats.Added++
			r.tried.newer = &newer[V]{e.Value, now, due, c.seq, e.OnDuplicate, exempt}
		}
		return InFlight
	case StateKept:
		return Kept
	}
	if !e.OnDuplicate.keeps(r.asked(), due) {
		c.unqueue(r)
		r.replace(e.Value, due, exempt)
		c.queue(r)
	}
	return Known
}

// fresh makes a record whose key was not known a waiting item of r.line. If an earlier holder of the key has not ended,
// the item waits for that first. c.mu is held.
func (c *core[K, V]) fresh(r *record[K, V], value V, identity string, now, due int64, exempt bool) {
	c.seq++
	r.replace(value, due, exempt)
	r.identity, r.added, r.seq = identity, now, c.seq
	c.stats.Added++
	c.become(r, StateWaiting)
	c.queue(r)
}

// empty makes the key of a record unknown, and its holder's ending void. The record then holds nothing but that holder.
// The caller must call changed. c.mu is held.
func (c *core[K, V]) empty(r *record[K, V]) {
	holder := r.holder()
	c.unqueue(r)
	c.become(r, 0)
	c.untry(r)
	*r = record[K, V]{key: r.key, line: r.line}
	if holder != 0 {
		c.try(r).holder = holder
	}
}

// leave makes a known key unknown. While a holder has not ended, its record stays, so that a new item of the key waits for
// that. c.mu is held.
func (c *core[K, V]) leave(r *record[K, V]) {
	l := r.line
	c.empty(r)
	c.changed(l)
	if r.holder() == 0 {
		c.records.Delete(r.key, r)
	}
}

// Remove forgets the key in any state, at any rate, paused or not.
func (c *core[K, V]) Remove(key K) RemoveResult { return c.RemoveIdentity(key, "") }

// RemoveIdentity is Remove for one identity only, so that a late event about a deleted object cannot remove its
// successor with the same key. An empty identity matches any.
func (c *core[K, V]) RemoveIdentity(key K, identity string) RemoveResult {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.find(key)
	result := Removed
	switch {
	case r == nil:
		return NotFound
	case differ(r.identity, identity):
		return OtherIdentity
	case r.state == StateInFlight:
		result = RemovedInFlight
	}
	c.leave(r)
	return result
}

// Clear forgets every key. How holders end afterwards has no effect. Rates, tokens and pauses stay.
func (c *core[K, V]) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for l := range c.lines {
		l.due, l.exempt = due.Heap[*record[K, V]]{}, due.Heap[*record[K, V]]{}
	}
	c.records.Keep(func(r *record[K, V]) bool {
		if r.holder() == 0 {
			c.become(r, 0)
			return false
		}
		c.empty(r)
		return true
	})
	c.eachLine(func(*line[K, V]) {})
	c.kick()
}
