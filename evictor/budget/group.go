package budget

import (
	"math"
	"time"
)

// group is the members that a dimension puts together. It is kept while it has members, or a cell that remembers
// something.
type group[K comparable] struct {
	dimension int
	name      string
	members   int
	listed    bool // in Budget.empty
	sum       sums
	cells     []cell[K] // one for each bound of the dimension, in their order
}

// sums are weights.
type sums struct {
	total, bad, unavailable int64 // of members that count
	acting                  int64 // of all
}

func (s *sums) add(m *standing, sign int64) {
	w := sign * m.weight
	if m.counts {
		s.total += w
		if m.bad {
			s.bad += w
		}
		if m.bad || m.acting() {
			s.unavailable += w
		}
	}
	if m.acting() {
		s.acting += w
	}
}

// cell is what a bound remembers of one group.
type cell[K comparable] struct {
	shut   bool    // a breaker that was exceeded
	calm   int64   // since when it is kept; restless when it is not
	spent  float64 // tokens that are missing in the bucket, at the time filled
	filled int64
	recent *window[K] // nil while empty
	again  int64      // the time until which something was refused, as Next knows it; none for none
	place  int        // in Budget.waiting
}

// restless and none are before the beginning of time.
const (
	restless  = math.MinInt64
	none      = math.MinInt64
	beginning = math.MinInt64 / 2
)

func newCell[K comparable]() cell[K] { return cell[K]{calm: restless, again: none} }

// used is what the bound counts in the group as it is. It is not for Recent.
func (g *group[K]) used(q Quantity) int64 {
	switch q {
	case Bad:
		return g.sum.bad
	case Unavailable:
		return g.sum.unavailable
	case Healthy:
		return g.sum.total - g.sum.unavailable
	}
	return g.sum.acting
}

// look has a breaker see the group as it is now. One without members exceeds nothing.
func (c *cell[K]) look(b *Bound, g *group[K], now int64) {
	used, empty := g.used(b.Of), g.members == 0
	c.open(b, now)
	c.shut = c.shut || !empty && !b.kept(used, g.sum.total)
	switch {
	case !c.shut || !empty && !b.calm(used, g.sum.total):
		c.calm = restless
	case c.calm == restless:
		c.calm = now
	}
}

// open opens a breaker that has been calm for long enough.
//
// It is asked at least as often as something changes, and a breaker that is not calm stays as it is.
func (c *cell[K]) open(b *Bound, now int64) {
	if c.shut && c.calm != restless && now-c.calm >= int64(b.Quiet) {
		c.shut, c.calm = false, restless
	}
}

// refill brings the bucket to that time.
func (c *cell[K]) refill(b *Bound, now int64) {
	if c.spent > 0 {
		c.spent = max(0, c.spent-b.PerSecond*time.Duration(now-c.filled).Seconds())
	}
	c.filled = now
}

// tokens is how many there are.
func (c *cell[K]) tokens(b *Bound) float64 { return b.burst() - c.spent }

// window is the members on which something was begun lately, each once.
type window[K comparable] struct {
	of   map[K]act
	line []begun[K] // in order of time; what has been begun again since stands there in vain
	used int64      // the weights of all in of
}

// act is what was begun on one member last, and what is reserved.
type act struct {
	at           int64 // none when nothing was begun
	weight       int64 // that it had then
	held         bool  // a reservation that has not been committed yet
	heldByWeight int64
}

func (a act) counts() int64 {
	switch {
	case a.held:
		return a.heldByWeight
	case a.at != none:
		return a.weight
	}
	return 0
}

type begun[K comparable] struct {
	key K
	at  int64
}

// set takes over what is known of a member.
func (w *window[K]) set(key K, a act) {
	was, known := w.of[key]
	if known {
		w.used -= was.counts()
	}
	if w.used += a.counts(); a.held || a.at != none {
		w.of[key] = a
	} else if known {
		delete(w.of, key)
	}
}

// expire forgets what was begun longer ago than that.
func (w *window[K]) expire(within time.Duration, now int64) {
	for len(w.line) > 0 {
		first := w.line[0]
		a, known := w.of[first.key]
		if current := known && a.at == first.at; current && now-first.at < int64(within) {
			return
		} else if current {
			a.at = none
			w.set(first.key, a)
		}
		w.line = w.line[1:]
	}
	w.line = nil
}

// first is when the first of them will be forgotten.
func (w *window[K]) first(within int64) int64 {
	if w == nil || len(w.line) == 0 {
		return none
	}
	return w.line[0].at + within
}

// remembers says whether there is something to remember of a group without members.
func (c *cell[K]) remembers() bool {
	return c.shut || c.spent > 0 || c.recent != nil && len(c.recent.of) > 0
}

// update brings what the cell remembers to that time. A breaker has seen the group as it is when that last changed.
func (c *cell[K]) update(b *Bound, now int64) {
	switch {
	case b.Quiet > 0:
		c.open(b, now)
	case b.PerSecond > 0:
		c.refill(b, now)
	case c.recent != nil:
		c.recent.expire(b.Within, now)
	}
}

// hold counts a member that is reserved.
func (c *cell[K]) hold(b *Bound, key K, weight, now int64) {
	c.update(b, now)
	if c.recent == nil {
		c.recent = &window[K]{of: make(map[K]act)}
	}
	a, known := c.recent.of[key]
	if !known {
		a.at = none
	}
	a.held, a.heldByWeight = true, weight
	c.recent.set(key, a)
}

// release forgets that.
func (c *cell[K]) release(key K) {
	a := c.recent.of[key]
	a.held = false
	c.recent.set(key, a)
}

// begin is told that what is held has begun.
func (c *cell[K]) begin(key K, weight, now int64) {
	was, known := c.recent.of[key]
	if c.recent.set(key, act{at: now, weight: weight}); known && was.at == now {
		return // it stands in the line already
	}
	c.recent.line = append(c.recent.line, begun[K]{key, now})
}
