package budget

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// The errors of Reserve that no bound causes.
var (
	// ErrUnknown: there is no member with this key.
	ErrUnknown = errors.New("budget: no such member")
	// ErrActing: the member is reserved or acted on already.
	ErrActing = errors.New("budget: the member is acted on already")
	// ErrNotActionable: Config.Actionable says no.
	ErrNotActionable = errors.New("budget: the member is not to be acted on")
)

// Refusal is the error of Reserve when a bound refuses.
type Refusal struct {
	// Bound is the first bound that refuses; Dimension and Group are where.
	Bound, Dimension, Group string
	// Used is what would be counted once the action had begun, and Allowed the limit that it would break; Min says
	// whether that is the lower limit. With PerSecond they are the tokens wanted and the tokens in the bucket, rounded
	// down.
	Used, Allowed int64
	Min           bool
	// Shut: the bound is a breaker that was exceeded earlier and has not opened. Then Used alone is not the reason.
	Shut bool
	// Again is when time alone may change the answer. It is zero if only a change of a member can.
	Again time.Time
}

// Error names the bound, the group, and what is exceeded.
func (r *Refusal) Error() string {
	where := ""
	if r.Dimension != "" {
		where = fmt.Sprintf(" of %s %q", r.Dimension, r.Group)
	}
	why := fmt.Sprintf("%d, at most %d allowed", r.Used, r.Allowed)
	switch {
	case r.Shut:
		why = "it was exceeded before, and is still shut"
	case r.Min:
		why = fmt.Sprintf("%d, at least %d needed", r.Used, r.Allowed)
	}
	return fmt.Sprintf("budget: %s%s: %s", r.Bound, where, why)
}

// Reservation is the permission to act on one member, which counts as acted on. The zero Reservation is over. Its
// methods are safe for concurrent use. The first call that ends it takes effect; the others return false.
type Reservation[K comparable] struct {
	owner  owner[K]
	member *member[K]
	number uint64
	now    time.Time // set by At
}

// At returns the same reservation with methods that use this reading of the clock.
func (r Reservation[K]) At(now time.Time) Reservation[K] {
	r.now = now
	return r
}

// owner is a Budget without its type of member.
type owner[K comparable] interface {
	end(r Reservation[K], how ending) bool
}

type ending uint8

const (
	givenBack ending = iota
	begunNow
	over
)

// GiveBack ends a reservation because nothing was done: everything is as if it had never been reserved. It reports whether
// the reservation was still held.
func (r Reservation[K]) GiveBack() bool { return r.owner != nil && r.owner.end(r, givenBack) }

// Commit says that the action has begun. The action goes on until End, or until the member is removed. Commit reports
// whether the reservation was still held.
func (r Reservation[K]) Commit() bool { return r.owner != nil && r.owner.end(r, begunNow) }

// End says that the committed action is over. It reports whether it was still going on.
func (r Reservation[K]) End() bool { return r.owner != nil && r.owner.end(r, over) }

// Reserve asks all bounds whether the member may be acted on. If so, it counts the member as acted on. The error is a
// *Refusal, ErrUnknown, ErrActing or ErrNotActionable. The cost grows with the number of bounds. For breakers, the
// first call also looks at every group once.
func (b *Budget[K, M]) Reserve(key K) (Reservation[K], error) {
	return b.ReserveAt(key, b.config.Clock.Now())
}

// ReserveAt is Reserve at a reading of the clock.
func (b *Budget[K, M]) ReserveAt(key K, now time.Time) (Reservation[K], error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.time.Read(now)
	b.begin(t)
	m := b.members[key]
	switch {
	case m == nil:
		return Reservation[K]{}, ErrUnknown
	case m.acting():
		return Reservation[K]{}, ErrActing
	case !m.actionable:
		return Reservation[K]{}, ErrNotActionable
	}
	if refusal := b.ask(m, t); refusal != nil {
		return Reservation[K]{}, refusal
	}
	b.take(m, t)
	m.reservation++
	return Reservation[K]{owner: b, member: m, number: m.reservation}, nil
}

// ask returns the first refusal, or nil. Its Again is the latest of all refusing bounds, if time alone can end all of
// them.
func (b *Budget[K, M]) ask(m *member[K], now int64) (first *Refusal) {
	again := int64(0)
	for i := range b.bounds {
		bound := &b.bounds[i]
		g := m.in[bound.dimension]
		if g == nil || !m.asked(bound) {
			continue
		}
		c := &g.cells[bound.cell]
		c.update(&bound.Bound, now)
		no, at := c.ask(&bound.Bound, g, m, now)
		if no.kind == agreed {
			continue
		}
		if at == none {
			again = math.MaxInt64
		}
		again = max(again, at)
		if b.later(c, at, now); first == nil {
			first = b.refusal(bound, g, no)
		}
	}
	if first != nil && again < math.MaxInt64 {
		first.Again = b.time.Instant(again)
	}
	return first
}

// refusal makes a Refusal of a bound's answer.
func (b *Budget[K, M]) refusal(is *bound, g *group[K], no answer) *Refusal {
	return &Refusal{
		Bound: is.Name, Dimension: b.dimensions[is.dimension].name, Group: g.name,
		Used: no.used, Allowed: no.allowed, Min: no.kind != tooMany && is.Min.IsSet(), Shut: no.kind == shut,
	}
}

// answer is what one bound says.
type answer struct {
	kind          answerKind
	used, allowed int64
}

type answerKind uint8

const (
	agreed answerKind = iota
	tooMany
	tooFew
	shut
)

// ask returns the answer of one bound that is up to date, and when time alone may change it; none means never.
func (c *cell[K]) ask(b *Bound, g *group[K], m *member[K], now int64) (answer, int64) {
	if b.PerSecond > 0 {
		return c.tokens.ask(m.weight, b.burst(), now)
	}
	used := g.used(b.Of)
	switch b.Of {
	case Bad:
	case Unavailable:
		used += m.well()
	case Healthy:
		used -= m.well()
	case Acting:
		used += m.weight
	case Recent:
		used = m.weight
		if w := c.recent; w != nil {
			used += w.used
			if a, known := w.of[m.key]; known {
				used -= a.counts()
			}
		}
	}
	no := c.compare(b, g, used)
	again := int64(none)
	switch {
	case no.kind == shut:
		again = c.opens(b)
	case no.kind != tooMany || b.Of != Recent:
	case b.Latched:
		c.shut = true
	case m.weight <= no.allowed:
		again = c.recent.first(int64(b.Within))
	}
	return no, again
}

// compare returns the answer of a bound on a Quantity that counts used.
func (c *cell[K]) compare(b *Bound, g *group[K], used int64) answer {
	most, least := b.Max.in(&g.sum), b.Min.in(&g.sum)
	switch {
	case b.Max.IsSet() && used > most:
		return answer{tooMany, used, most}
	case b.Min.IsSet() && used < least:
		return answer{tooFew, used, least}
	case c.shut:
		return answer{shut, used, max(most, least)}
	}
	return answer{}
}

// opens returns when a shut breaker opens if nothing changes, or none.
func (c *cell[K]) opens(b *Bound) int64 {
	if c.calm == restless {
		return none
	}
	return c.calm + int64(b.Quiet)
}

// take counts the member as acted on. All its bounds are up to date.
func (b *Budget[K, M]) take(m *member[K], now int64) {
	b.become(m, reserved, now)
	m.paid, m.price, m.paidAt = 0, m.weight, now
	for i, bound := range b.taking {
		g := m.in[bound.dimension]
		switch {
		case g == nil:
		case bound.Of == Recent:
			g.cells[bound.cell].hold(&bound.Bound, m.key, m.weight, now)
		case bound.PerSecond > 0 && m.asked(bound):
			tokens := g.cells[bound.cell].bucket(&bound.Bound)
			tokens.take(m.payment(tokens))
			m.paid |= 1 << i
		}
	}
}

// become changes whether the member is acted on.
func (b *Budget[K, M]) become(m *member[K], done doing, now int64) {
	more := m.weight
	switch was := m.acting(); {
	case was == (done != nothing):
		more = 0
	case was:
		more = -more
	}
	m.done = done
	for d, g := range m.in {
		if g == nil || more == 0 {
			continue
		}
		g.sum.acting += more
		if m.counts && !m.bad {
			g.sum.unavailable += more
		}
		b.look(d, g, now)
	}
}

// End is Reservation.End for a program that no longer has the reservation, for example after a restart.
func (b *Budget[K, M]) End(key K) bool { return b.EndAt(key, b.config.Clock.Now()) }

// EndAt is End at a reading of the clock.
func (b *Budget[K, M]) EndAt(key K, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	m, t := b.members[key], b.time.Read(now)
	return m != nil && b.finish(m, over, t)
}

func (b *Budget[K, M]) end(r Reservation[K], how ending) bool {
	if r.now.IsZero() {
		r.now = b.config.Clock.Now()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.time.Read(r.now)
	return r.member.reservation == r.number && b.finish(r.member, how, t)
}

// finish ends a reservation or an action of the member, if it can end in this way.
func (b *Budget[K, M]) finish(m *member[K], how ending, now int64) bool {
	if m.done == nothing || (m.done == committed) != (how == over) {
		return false
	}
	switch how {
	case begunNow:
		b.began(m, now)
		b.commit(m, now)
		return true
	case givenBack:
		b.untake(m)
	}
	b.become(m, nothing, now)
	m.orphaned = false
	return true
}

// commit starts an action on the member.
func (b *Budget[K, M]) commit(m *member[K], now int64) {
	b.become(m, committed, now)
	b.orders++
	m.order = b.orders
}

// untake undoes take.
func (b *Budget[K, M]) untake(m *member[K]) {
	for i, bound := range b.taking {
		g := m.in[bound.dimension]
		switch {
		case g == nil:
		case bound.Of == Recent:
			g.cells[bound.cell].release(m.key)
		case bound.PerSecond > 0 && m.paid&(1<<i) != 0:
			tokens := g.cells[bound.cell].tokens
			tokens.giveBack(m.payment(tokens))
		}
	}
}

// Next returns the first instant after now at which time alone may end a refusal of Reserve, or false if there is none.
// A program that asks again then, and whenever a member changes, misses nothing.
func (b *Budget[K, M]) Next() (time.Time, bool) { return b.NextAt(b.config.Clock.Now()) }

// NextAt is Next at a reading of the clock.
func (b *Budget[K, M]) NextAt(now time.Time) (next time.Time, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.time.Read(now)
	b.waiting.DropUntil(asTime(t))
	first, ok := b.waiting.First()
	if !ok {
		return next, false
	}
	return b.time.Instant(first.UnixNano()), true
}

// later notes for Next when a refusal may end. For each cell it keeps the earliest such instant that is still to come.
func (b *Budget[K, M]) later(c *cell[K], at, now int64) {
	known, ok := c.again.At()
	if at != none && (!ok || at < known.UnixNano() || known.UnixNano() <= now) {
		b.waiting.Put(&c.again, asTime(at))
	}
}

// asTime makes a time.Time of a steady time, only for comparison.
func asTime(at int64) time.Time { return time.Unix(0, at) }

// Reset opens a breaker in all its groups, and reports whether any of them was shut. Where the bound is still exceeded
// it shuts again at once; a bound on Recent shuts again when it next refuses.
func (b *Budget[K, M]) Reset(bound string) (opened bool) {
	now := b.config.Clock.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	t, is := b.time.Read(now), b.bound(bound)
	if is == nil {
		return false
	}
	for _, g := range b.groups[is.dimension] {
		c := &g.cells[is.cell]
		c.update(&is.Bound, t)
		if !c.shut {
			continue
		}
		c.shut, c.calm = false, restless
		if is.breaks() && b.asked {
			c.look(&is.Bound, g, t)
		}
		opened = opened || !c.shut
	}
	return opened
}
