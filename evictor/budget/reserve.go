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
	ErrUnknown = errors.New("budget: no such member: Set it first")
	// ErrActing: the member is already reserved or acted on.
	ErrActing = errors.New("budget: the member is reserved or acted on already")
	// ErrNotActionable: Config.Actionable says no.
	ErrNotActionable = errors.New("budget: Config.Actionable says that the member is not to be acted on")
)

// Refusal is the error of Reserve when a bound refuses.
type Refusal struct {
	// Bound is the first bound that refuses; Dimension and Group are where.
	Bound, Dimension, Group string
	// Used is what the bound would count once the action had begun, and Allowed the limit that this would break; Min says
	// whether that is the lower limit.
	Used, Allowed int64
	Min           bool
	// Shut: Used is within the limits, but the bound is a breaker that was exceeded earlier and has not opened, or a trial
	// that cools down.
	Shut bool
	// Failures is how many failed actions a trial remembers.
	Failures int
	// Again is when time alone may change the answer. Until then it stays a refusal if nothing else changes. It is zero if
	// time alone cannot change it.
	Again time.Time
}

// Error names the bound, the group, and what is exceeded.
func (r *Refusal) Error() string {
	where := ""
	if r.Dimension != "" {
		where = fmt.Sprintf(" in %s %q", r.Dimension, r.Group)
	}
	switch {
	case r.Shut && r.Failures == 1:
		return fmt.Sprintf("budget %q cools down%s after a failure", r.Bound, where)
	case r.Shut && r.Failures > 1:
		return fmt.Sprintf("budget %q cools down%s after %d failures", r.Bound, where, r.Failures)
	case r.Shut:
		return fmt.Sprintf("budget %q was exceeded%s and is still shut", r.Bound, where)
	case r.Min:
		return fmt.Sprintf("budget %q needs at least %d%s: %d is too few", r.Bound, r.Allowed, where, r.Used)
	}
	return fmt.Sprintf("budget %q allows at most %d%s: %d is too many", r.Bound, r.Allowed, where, r.Used)
}

// Reservation is the permission to act on one member, which counts as acted on. Its holder calls [Reservation.Commit]
// when the action has begun and [Reservation.End] when it is over, or [Reservation.GiveBack] if nothing was done. The
// zero Reservation is over. Its methods are safe for concurrent use. The first call that ends it takes effect; the
// others return false.
type Reservation[K comparable] struct {
	owner  owner[K]
	member *member[K]
	number uint64
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

// GiveBack ends a reservation because nothing was done: everything is as if there had been none. It reports whether the
// reservation was still in force.
func (r Reservation[K]) GiveBack() bool { return r.owner != nil && r.owner.end(r, givenBack) }

// Commit says that the action has begun. The action goes on until End, or until the member is removed. Commit reports
// whether the reservation was still in force.
func (r Reservation[K]) Commit() bool { return r.owner != nil && r.owner.end(r, begunNow) }

// End says that the committed action is over. It reports whether it was still going on.
func (r Reservation[K]) End() bool { return r.owner != nil && r.owner.end(r, over) }

// Reserve asks all bounds whether the program may act on the member. If so, the member counts as acted on. The error is
// a *Refusal, ErrUnknown, ErrActing or ErrNotActionable. The cost grows with the number of bounds. For breakers, the
// first call also looks at every group once.
func (b *Budget[K, M]) Reserve(key K) (Reservation[K], error) {
	now := b.now()
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
	m.actedBy = b.name
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
		no, at := b.answer(bound, g, m, now)
		if no.kind == agreed {
			continue
		}
		c := &g.cells[bound.cell]
		if at == none {
			again, c.stuck = math.MaxInt64, true
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
	r := &Refusal{
		Bound: is.Name, Dimension: b.dimensions[is.dimension].name, Group: g.name,
		Used: no.used, Allowed: no.allowed, Min: no.kind != tooMany && is.Min.isSet(), Shut: no.kind == shut,
	}
	if t := g.cells[is.cell].trial; t != nil {
		r.Failures = t.failures
	}
	return r
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

// answer returns the answer of one bound, and when time alone may change it; none means never.
func (b *Budget[K, M]) answer(is *bound, g *group[K], m *member[K], now int64) (answer, int64) {
	c := b.update(is, g, now)
	used := c.used(&is.Bound, g)
	switch is.Of {
	case Unavailable:
		used += m.well()
	case Healthy:
		used -= m.well()
	case Acting:
		used += m.weight
	case Recent:
		if used += m.weight; c.recent != nil {
			used -= c.recent.of[m.key].counted()
		}
	case Unproven:
		if a := b.attempts[m.key]; a == nil || a[is.trial].began != g {
			used++
		}
	}
	no := c.compare(&is.Bound, g, used)
	if no.kind == tooMany && (is.Of == Recent && m.weight > no.allowed || is.Of == Unproven && no.allowed == 0) {
		return no, none // not even as the only one
	}
	return no, c.ends(&is.Bound, no)
}

// ends returns when time alone may change the answer; none means never.
func (c *cell[K]) ends(b *Bound, no answer) int64 {
	switch {
	case no.kind == shut && b.Of == Unproven:
		return c.trial.opens()
	case no.kind == shut && c.calm != restless:
		return after(c.calm, b.Quiet)
	case no.kind == tooMany:
		return c.fewer(b)
	}
	return none
}

// fewer returns when the bound may count less than now because time has passed; none means never.
func (c *cell[K]) fewer(b *Bound) int64 {
	switch b.Of {
	case Recent:
		return c.recent.first(b.Within)
	case Unproven:
		return c.trial.again(b, c.shut)
	}
	return none
}

// compare returns the answer of a bound on a Quantity that counts used.
func (c *cell[K]) compare(b *Bound, g *group[K], used int64) answer {
	most, least := c.most(b, g), b.Min.Of(g.sum.total)
	switch {
	case b.Max.isSet() && used > most:
		return answer{tooMany, used, most}
	case b.Min.isSet() && used < least:
		return answer{tooFew, used, least}
	case c.shut:
		return answer{shut, used, max(most, least)}
	}
	return answer{}
}

// take counts the member as acted on. All its bounds are up to date.
func (b *Budget[K, M]) take(m *member[K], now int64) {
	b.become(m, reserved, now)
	b.holdAll(m, now)
}

// become changes whether the member is acted on.
func (b *Budget[K, M]) become(m *member[K], done doing, now int64) {
	was := m.standing
	m.done = done
	for d, g := range m.in {
		if g != nil {
			g.sum.add(&was, -1)
			g.sum.add(&m.standing, +1)
			b.look(d, g, now)
		}
	}
}

// End ends the action on the member under this name, or gives back its reservation. It reports whether there was
// either. It is for a program that does not hold the Reservation, for example after a restart.
func (b *Budget[K, M]) End(key K) bool {
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	m, t := b.members[key], b.time.Read(now)
	switch {
	case m == nil:
		was, known := b.restore[key]
		if known = known && was.by == b.name; known {
			delete(b.restore, key)
		}
		return known
	case m.actedBy != b.name:
		return false
	case m.done == reserved:
		return b.finish(m, givenBack, t)
	}
	return b.finish(m, over, t)
}

func (b *Budget[K, M]) end(r Reservation[K], how ending) bool {
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.time.Read(now)
	return r.member.reservation == r.number && b.finish(r.member, how, t)
}

// finish ends a reservation or an action of the member, if it can end in this way.
func (b *Budget[K, M]) finish(m *member[K], how ending, now int64) bool {
	if m.done == nothing || (m.done == committed) != (how == over) {
		return false
	}
	switch how {
	case begunNow:
		b.began(m, now, now)
		b.commit(m, now)
		return true
	case givenBack:
		b.untake(m)
	}
	b.become(m, nothing, now)
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
	for _, bound := range b.acts {
		if g := m.in[bound.dimension]; g != nil {
			b.release(bound, g, m)
		}
	}
}

// Next returns the first instant after now at which time alone may end a refusal of Reserve, or false if there is none.
// A program that asks again at that instant, and whenever a member changes, an action ends or is judged, or a
// reservation is given back, misses nothing.
func (b *Budget[K, M]) Next() (next time.Time, ok bool) {
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.time.Read(now)
	for {
		c, again, ok := b.waiting.Min()
		if !ok {
			return time.Time{}, false
		}
		if again > t {
			return b.time.Instant(again), true
		}
		b.waiting.Remove(&c.waits)
	}
}

// later notes for Next when a refusal may end. For each cell it keeps the earliest such instant that is still to come.
func (b *Budget[K, M]) later(c *cell[K], at, now int64) {
	if at != none && (!c.waits.In() || at < c.again || c.again <= now) {
		c.again = at
		b.waiting.Set(c, &c.waits, at, 0)
	}
}

// unstick notes for Next that time can end a refusal that it could not end before.
func (b *Budget[K, M]) unstick(c *cell[K], at, now int64) {
	if c.stuck {
		c.stuck = false
		b.later(c, at, now)
	}
}
