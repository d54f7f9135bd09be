package ratelimitqueue

import (
	"time"

	"golang.org/x/time/rate"

	"github.com/evictkit/evictkit/internal/slots"
)

// core is what Queue and Group share: items by key, each in a line that has its own bucket. A queue has one line; a group
// has one for each domain. The fleet decides whose turn it is.
type core[K comparable, V any] struct {
	limit  rate.Limit // of a line, until SetRate
	burst  int
	table  slots.Table[K, V, *line[K, V]] // its Mutex guards the rest and what Group adds; not held while user code runs
	fleet  fleet[K, V]
	cap    bucket // limits all lines together
	prefer func(domain any, due []K) K
}

// start prepares a core with this configuration.
func (c *core[K, V]) start(config Config, onPanic func(key, value any, stack []byte)) {
	c.limit, c.burst = config.Rate, config.Burst
	c.table.Start(slots.Config{Name: "ratelimitqueue", Clock: config.Clock, OnPanic: onPanic}, (*owner[K, V])(c))
	c.cap = newBucket(rate.Inf, 1, 0)
}

// owner is the core as the owner of its table. Whatever changes a line ends with Queue or Became.
type owner[K comparable, V any] core[K, V]

func (o *owner[K, V]) Queue(s *slots.Slot[K, V, *line[K, V]]) {
	s.Line.heap(s.Exempt).Set(s, &s.Place, s.Due, s.Seq)
	(*core[K, V])(o).changed(s.Line)
}

func (o *owner[K, V]) Unqueue(s *slots.Slot[K, V, *line[K, V]]) {
	s.Line.heap(s.Exempt).Remove(&s.Place)
}

func (o *owner[K, V]) Became(s *slots.Slot[K, V, *line[K, V]], was slots.State) {
	s.Line.counts[was]--
	s.Line.counts[s.State]++
	(*core[K, V])(o).changed(s.Line)
}

// newLine returns a line without keys, which comes after the others.
func (c *core[K, V]) newLine(domain any, now int64) *line[K, V] {
	l := &line[K, V]{domain: domain, bucket: newBucket(c.limit, c.burst, now)}
	c.fleet.serve(l)
	return l
}

// changed is called after a change of a line's items, bucket or pause. The lock is held.
func (c *core[K, V]) changed(l *line[K, V]) {
	if l.known() > 0 {
		c.fleet.changed(l, false)
		return
	}
	if l.forgotten {
		c.unset(l)
	}
	c.fleet.changed(l, l.forgotten || l.bucket.limit == c.limit && !l.paused)
}

// unset ends the pause and the stop of a line that is to be forgotten, so that its bucket fills up. The lock is held.
func (c *core[K, V]) unset(l *line[K, V]) {
	now := c.table.Time.Read(c.table.Clock.Now()) // what was stopped until now has earned nothing
	l.paused = false
	l.bucket.thaw(now)
	if l.bucket.limit == 0 {
		l.bucket.setRate(c.limit, now)
	}
}

// Remove forgets the key and returns the state that it was in.
func (c *core[K, V]) Remove(key K) State {
	c.table.Lock()
	defer c.table.Unlock()
	return State(c.table.Remove(key))
}

// Clear removes every key. It changes nothing else.
func (c *core[K, V]) Clear() {
	c.table.Read()
	defer c.table.Unlock()
	for s := range c.table.All() {
		c.table.Remove(s.Key)
	}
}

// Len returns how many items wait.
func (c *core[K, V]) Len() int {
	c.table.Lock()
	defer c.table.Unlock()
	return c.table.Count(slots.Waiting)
}

// Waiting returns the waiting keys in the order in which they are due, and then in that of adding. O(n log n).
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

// Next returns the exact instant from which Take succeeds if nothing changes. It may lie in the past. It is false if Take
// never would.
func (c *core[K, V]) Next() (time.Time, bool) {
	c.table.Read()
	defer c.table.Unlock()
	at, ok := c.fleet.next()
	if ok {
		at, ok = c.cap.next(at)
	}
	if !ok {
		return time.Time{}, false
	}
	return c.table.Instant(at), true
}

func (c *core[K, V]) status(s *slots.Slot[K, V, *line[K, V]]) Status {
	return Status{State(s.State), c.table.Instant(s.Added), c.table.Instant(s.Due)}
}

// setRate changes the rate of a line. The lock is held.
func (c *core[K, V]) setRate(l *line[K, V], limit rate.Limit, now int64) {
	l.bucket.setRate(limit, now)
	c.changed(l)
}

// giveBack returns the tokens of an item that the line has handed out. The lock is held.
func (c *core[K, V]) giveBack(l *line[K, V]) {
	c.cap.giveBack()
	l.bucket.giveBack()
	if !l.gone {
		c.changed(l)
	}
}

// add adds the entry to the line. The lock is held.
func (c *core[K, V]) add(e *Entry[K, V], l *line[K, V], now int64) State {
	policy := slots.Replace
	if e.OnDuplicate == KeepFirst {
		policy = slots.KeepFirst
	}
	return State(c.table.Add(&slots.Entry[K, V]{Key: e.Key, Value: e.Value, Due: e.Due, OnDuplicate: policy, Exempt: e.Exempt}, l, now))
}
