package budget

import (
	"math"
	"slices"
	"time"

	"github.com/evictkit/evictkit/internal/due"
	"github.com/evictkit/evictkit/internal/steady"
)

// group is the members that a dimension puts together. It is kept while it has members or a cell that remembers
// something.
type group[K comparable] struct {
	dimension int
	name      string
	members   int
	listed    bool // in Budget.empty
	sum       sums
	cells     []cell[K] // one for each bound of the dimension, in their order
}

// sums are in weights.
type sums struct {
	total, bad, unavailable int64 // of members that count
	open                    int64 // what is unavailable only because it is reserved
	acting                  int64 // of all members
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
		if !m.bad && m.done == reserved {
			s.open += w
		}
	}
	if m.acting() {
		s.acting += w
	}
}

// cell is what one bound remembers about one group.
type cell[K comparable] struct {
	shut   bool       // the breaker was exceeded and has not opened, or the trial cools down
	calm   int64      // since when the limits are kept; restless if they are not
	recent *window[K] // nil while empty
	trial  *trial[K]  // nil while it is as at the beginning
	again  int64      // when a refusal may end
	stuck  bool       // it refused what time could not help, perhaps because of a reservation
	waits  due.Place  // in core.waiting
}

// restless and none are earlier than any instant.
const (
	restless  = math.MinInt64
	none      = math.MinInt64
	beginning = math.MinInt64 / 2
)

func newCell[K comparable]() cell[K] { return cell[K]{calm: restless} }

// used returns what the bound counts in the group now. It does not apply to Recent and Unproven.
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

// begun is used without reservations.
func (g *group[K]) begun(q Quantity) int64 {
	switch q {
	case Unavailable:
		return g.used(q) - g.sum.open
	case Healthy:
		return g.used(q) + g.sum.open
	}
	return g.used(q)
}

// used returns what the bound counts in the group now.
func (c *cell[K]) used(b *Bound, g *group[K]) int64 {
	switch {
	case b.Of <= Acting:
		return g.used(b.Of)
	case c.recent != nil:
		return c.recent.used
	case c.trial != nil:
		return c.trial.unproven
	}
	return 0
}

// most returns the upper limit that the bound has in the group now. A trial has a width beside.
func (c *cell[K]) most(b *Bound, g *group[K]) int64 {
	most := b.Max.Of(g.sum.total)
	switch {
	case b.Of != Unproven:
		return most
	case c.trial != nil:
		return min(most, 1+c.trial.proved)
	}
	return min(most, 1)
}

// look makes a breaker look at the group as it is now. It does not see reservations, so that giving one back leaves
// nothing behind. A group without members exceeds nothing.
func (c *cell[K]) look(b *Bound, g *group[K], now int64) {
	kept := g.members == 0 || b.kept(g.begun(b.Of), g.sum.total)
	c.open(b, now)
	c.shut = c.shut || !kept
	switch {
	case !c.shut || !kept:
		c.calm = restless
	case c.calm == restless:
		c.calm = now
	}
}

// open opens a breaker that has been calm for long enough. It is called whenever something changes, so since the last
// call a calm breaker has stayed calm.
func (c *cell[K]) open(b *Bound, now int64) {
	if c.shut && c.calm != restless && steady.Sub(now, c.calm) >= int64(b.Quiet) {
		c.shut, c.calm = false, restless
	}
}

// window is the members on which an action began lately, each once.
type window[K comparable] struct {
	of   map[K]act
	line []begun[K] // in order of time; an entry is void if the member has a later one
	used int64      // the weights of all in of
}

// act is the last action begun on a member, and a reservation of it.
type act struct {
	at           int64 // none if no action began
	weight       int64 // of the member then
	held         bool  // a reservation that has not been committed yet
	heldByWeight int64
}

// counted returns what the bound counts for it, 0 for the zero act. A reservation may end either way, so both its weight
// and that of the action before it must have room.
func (a act) counted() int64 {
	switch {
	case a.held && a.at != none:
		return max(a.weight, a.heldByWeight)
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

// set replaces what is known about a member.
func (w *window[K]) set(key K, a act) {
	was, known := w.of[key]
	if known {
		w.used -= was.counted()
	}
	if w.used += a.counted(); a.held || a.at != none {
		w.of[key] = a
	} else if known {
		delete(w.of, key)
	}
}

// expire forgets actions that began longer ago than within.
func (w *window[K]) expire(within time.Duration, now int64) {
	for len(w.line) > 0 {
		first := w.line[0]
		a, known := w.of[first.key]
		if current := known && a.at == first.at; current && steady.Sub(now, first.at) < int64(within) {
			return
		} else if current {
			a.at = none
			w.set(first.key, a)
		}
		w.line = w.line[1:]
	}
	w.line = nil
}

// first returns when the earliest of them will be forgotten.
func (w *window[K]) first(within time.Duration) int64 {
	if w == nil || len(w.line) == 0 {
		return none
	}
	return after(w.line[0].at, within)
}

// after returns when that time will have passed since at, or none if that is too far away to be counted.
func after(at int64, d time.Duration) int64 {
	if end := steady.Add(at, d); end < math.MaxInt64 {
		return end
	}
	return none
}

// remembers says whether the cell of a group without members still holds anything.
func (c *cell[K]) remembers() bool {
	return c.shut || c.recent != nil && len(c.recent.of) > 0 || c.trial != nil
}

// hold counts a reserved member.
func (c *cell[K]) hold(key K, weight int64) {
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

// release undoes hold.
func (c *cell[K]) release(key K) {
	a := c.recent.of[key]
	a.held = false
	c.recent.set(key, a)
}

// begin records that an action began. Of several on one member, the last one counts.
func (c *cell[K]) begin(key K, weight, at int64) {
	if c.recent == nil {
		c.recent = &window[K]{of: make(map[K]act)}
	}
	was, known := c.recent.of[key]
	if known && was.at > at {
		return
	}
	if c.recent.set(key, act{at: at, weight: weight}); known && was.at == at {
		return // it is in the line already
	}
	i, _ := slices.BinarySearchFunc(c.recent.line, at, func(one begun[K], at int64) int {
		if one.at > at {
			return +1
		}
		return -1
	})
	c.recent.line = slices.Insert(c.recent.line, i, begun[K]{key, at})
}
