package budget

import (
	"cmp"
	"slices"
	"time"
)

// Adopt takes over an action that no Reservation of this Budget began, such as one of an earlier process. No bound is
// checked. The action counts as if it had been reserved and committed at began, and goes on until End or Remove. With
// PerSecond it takes its tokens as of began, so the bucket may miss more than its burst. Of the pauses in which a bucket
// was full again, it remembers the last thirty; for an action that began before those, others count as busy. An action
// that Restore brought back counts already; the first Adopt takes it over, whatever began is. Adopt returns false and
// changes nothing if there is no such member or somebody acts on it.
func (b *Budget[K, M]) Adopt(key K, began time.Time) bool {
	return b.AdoptAt(key, began, b.config.Clock.Now())
}

// AdoptAt is Adopt at a reading of the clock.
func (b *Budget[K, M]) AdoptAt(key K, began, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	t, m := b.time.Read(now), b.members[key]
	switch {
	case m == nil || m.acting() && !m.orphaned:
		return false
	case m.orphaned:
		m.orphaned = false
		return true
	}
	at := max(beginning, min(b.time.Of(began), t))
	for _, bound := range b.taking {
		g := m.in[bound.dimension]
		if g == nil {
			continue
		}
		c := &g.cells[bound.cell]
		c.update(&bound.Bound, t)
		switch {
		case bound.Of == Recent && t-at < int64(bound.Within):
			c.insert(key, m.weight, at)
		case bound.PerSecond > 0 && m.asked(bound):
			tokens := c.bucket(&bound.Bound)
			tokens.add(taking{at, tokens.work(m.weight)})
		}
	}
	b.commit(m, t)
	return true
}

// begin at an instant that may be in the past.
func (c *cell[K]) insert(key K, weight, at int64) {
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
	i, _ := slices.BinarySearchFunc(c.recent.line, at+1, func(one begun[K], at int64) int { return cmp.Compare(one.at, at) })
	c.recent.line = slices.Insert(c.recent.line, i, begun[K]{key, at})
}

// Exceeded returns the first bound that the member's groups exceed now, without any further action: it tells whether
// actions that have begun should go on. A breaker that is shut counts as exceeded; a bound with PerSecond never does.
// Again is when time alone may change the answer. The result is nil if every bound is kept, or if there is no such
// member.
func (b *Budget[K, M]) Exceeded(key K) *Refusal { return b.ExceededAt(key, b.config.Clock.Now()) }

// ExceededAt is Exceeded at a reading of the clock.
func (b *Budget[K, M]) ExceededAt(key K, now time.Time) *Refusal {
	b.mu.Lock()
	defer b.mu.Unlock()
	t, m := b.time.Read(now), b.members[key]
	if m == nil {
		return nil
	}
	b.begin(t)
	for i := range b.bounds {
		bound := &b.bounds[i]
		g := m.in[bound.dimension]
		if g == nil || !m.asked(bound) || bound.PerSecond > 0 {
			continue
		}
		c := &g.cells[bound.cell]
		c.update(&bound.Bound, t)
		no := c.compare(&bound.Bound, g, c.used(&bound.Bound, g, t))
		if no.kind == agreed {
			continue
		}
		refusal, again := b.refusal(bound, g, no), int64(none)
		switch {
		case no.kind == shut:
			again = c.opens(&bound.Bound)
		case no.kind == tooMany && bound.Of == Recent:
			again = c.recent.first(int64(bound.Within))
		}
		if b.later(c, again, t); again != none {
			refusal.Again = b.time.Instant(again)
		}
		return refusal
	}
	return nil
}
