package budget

import (
	"container/heap"
	"errors"
	"fmt"
	"math"
	"time"
)

// The errors of Reserve that no bound is the reason of.
var (
	// ErrUnknown: Set has not told of such a member.
	ErrUnknown = errors.New("budget: no such member")
	// ErrActing: it is acted on already.
	ErrActing = errors.New("budget: the member is acted on already")
	// ErrNotActionable: Config.Actionable says no.
	ErrNotActionable = errors.New("budget: the member is not to be acted on")
)

// Refusal is the error of Reserve when a bound says no.
type Refusal struct {
	// Bound is the first that says no, and Group the one of its dimension of which it does.
	Bound, Dimension, Group string
	// Used is what would be counted once the action had begun, Allowed the limit that is broken, of which Min says
	// whether it is the least. Of a bound with PerSecond they are the tokens that are wanted and those that are
	// there, rounded down.
	Used, Allowed int64
	Min           bool
	// Shut: the bound is a breaker, and it is not Used that keeps it shut but that it was exceeded before.
	Shut bool
	// Again is when time alone may let the answer be another. It is zero when only a change of a member can.
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
		why = "it was exceeded, and has not been kept for long enough since"
	case r.Min:
		why = fmt.Sprintf("%d, at least %d needed", r.Used, r.Allowed)
	}
	return fmt.Sprintf("budget: %s%s: %s", r.Bound, where, why)
}

// Reservation is a member that may be acted on, and counts as such. The zero Reservation is over. Its methods may
// be called from anywhere; what ends it first counts, and the others say false.
type Reservation[K comparable] struct {
	owner  owner[K]
	member *member[K]
	number uint64
}

// owner is a Budget, whatever its members look like.
type owner[K comparable] interface {
	end(r Reservation[K], how ending) bool
}

type ending uint8

const (
	givenBack ending = iota
	begunNow
	over
)

// GiveBack says that nothing was done: all is as before, but that time has passed. It says whether the reservation
// was still held.
func (r Reservation[K]) GiveBack() bool { return r.owner != nil && r.owner.end(r, givenBack) }

// Commit says that the action was begun. It counts as going on until End, or until the member is removed. It says
// whether the reservation was still held.
func (r Reservation[K]) Commit() bool { return r.owner != nil && r.owner.end(r, begunNow) }

// End says that the action that was committed is over. It says whether it went on until now.
func (r Reservation[K]) End() bool { return r.owner != nil && r.owner.end(r, over) }

// Reserve asks all bounds whether the member may be acted on, and counts it as acted on if so. The error is a
// *Refusal, or ErrUnknown, ErrActing or ErrNotActionable. It costs as many looks as there are bounds; the first call
// looks at every group once, for the breakers.
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
	return Reservation[K]{b, m, m.reservation}, nil
}

// ask is the first refusal, nil for none. Its Again is the last of all that refuse, if time can let each of them agree.
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
		if b.later(c, at); first == nil {
			first = &Refusal{
				Bound: bound.Name, Dimension: b.dimensions[bound.dimension].name, Group: g.name,
				Used: no.used, Allowed: no.allowed, Min: no.kind != tooMany && bound.Min.IsSet(), Shut: no.kind == shut,
			}
		}
	}
	if first != nil && again < math.MaxInt64 {
		first.Again = b.time.Instant(again)
	}
	return first
}

// answer is that of one bound.
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

// ask is the answer of one bound that is up to date, and when time alone may let it be another: none for never.
func (c *cell[K]) ask(b *Bound, g *group[K], m *member[K], now int64) (answer, int64) {
	if b.PerSecond > 0 {
		want := min(float64(m.weight), b.burst())
		if missing := want - c.tokens(b); missing > tiny {
			return answer{tooMany, m.weight, int64(max(c.tokens(b), 0))}, now + c.until(b, missing)
		}
		return answer{}, none
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
	most, least := b.Max.Of(g.sum.total), b.Min.Of(g.sum.total)
	switch {
	case b.Max.IsSet() && used > most:
		again := int64(none)
		if b.Of == Recent && m.weight <= most {
			again = c.recent.first(int64(b.Within))
		}
		return answer{tooMany, used, most}, again
	case b.Min.IsSet() && used < least:
		return answer{tooFew, used, least}, none
	case c.shut:
		again := int64(none)
		if c.calm != restless {
			again = c.calm + int64(b.Quiet)
		}
		return answer{shut, used, max(most, least)}, again
	}
	return answer{}, none
}

// tiny is less than what any sum of fractions of tokens is wrong by.
const tiny = 1e-9

// until is how long it takes until so many tokens more are there.
func (c *cell[K]) until(b *Bound, missing float64) int64 {
	return int64(min(math.Ceil(missing/b.PerSecond*float64(time.Second)), math.MaxInt64/4))
}

// take counts the member as acted on. Its bounds are up to date.
func (b *Budget[K, M]) take(m *member[K], now int64) {
	b.become(m, reserved, now)
	m.paid, m.price = 0, m.weight
	for i, bound := range b.taking {
		g := m.in[bound.dimension]
		switch {
		case g == nil:
		case bound.Of == Recent:
			g.cells[bound.cell].hold(&bound.Bound, m.key, m.weight, now)
		case bound.PerSecond > 0 && m.asked(bound):
			g.cells[bound.cell].spent += float64(m.weight)
			m.paid |= 1 << i
		}
	}
}

// become changes what is done to the member.
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

// End is Reservation.End for a program that has no reservation any more: one that was restarted, say.
func (b *Budget[K, M]) End(key K) bool {
	now := b.config.Clock.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	m, t := b.members[key], b.time.Read(now)
	return m != nil && b.finish(m, over, t)
}

func (b *Budget[K, M]) end(r Reservation[K], how ending) bool {
	now := b.config.Clock.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.time.Read(now)
	return r.member.reservation == r.number && b.finish(r.member, how, t)
}

// finish ends what is done to a member, if that can end so.
func (b *Budget[K, M]) finish(m *member[K], how ending, now int64) bool {
	if m.done == nothing || (m.done == committed) != (how == over) {
		return false
	}
	switch how {
	case begunNow:
		b.began(m, now)
		b.become(m, committed, now)
		b.orders++
		m.order = b.orders
		return true
	case givenBack:
		b.untake(m)
	}
	b.become(m, nothing, now)
	return true
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
			c := &g.cells[bound.cell]
			c.spent = max(0, c.spent-float64(m.price))
		}
	}
}

// Next is the first time at which time alone may change an answer that Reserve has refused since; false when there
// is none. A program that asks again then, and whenever a member changes, misses nothing.
func (b *Budget[K, M]) Next() (time.Time, bool) { return b.NextAt(b.config.Clock.Now()) }

// NextAt is Next at a reading of the clock.
func (b *Budget[K, M]) NextAt(now time.Time) (next time.Time, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.time.Read(now)
	for len(b.waiting) > 0 && b.waiting[0].again <= t {
		b.waiting[0].again = none
		heap.Pop(&b.waiting)
	}
	if len(b.waiting) == 0 {
		return next, false
	}
	return b.time.Instant(b.waiting[0].again), true
}

// later has Next know of a refusal.
func (b *Budget[K, M]) later(c *cell[K], at int64) {
	switch {
	case at == none || c.again != none && c.again <= at:
	case c.again == none:
		c.again = at
		heap.Push(&b.waiting, c)
	default:
		c.again = at
		heap.Fix(&b.waiting, c.place)
	}
}

// refused are the cells that have refused something until a time, a heap by that.
type refused[K comparable] []*cell[K]

func (a refused[K]) Len() int           { return len(a) }
func (a refused[K]) Less(i, j int) bool { return a[i].again < a[j].again }

func (a refused[K]) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].place, a[j].place = i, j
}

// Push implements heap.Interface.
func (a *refused[K]) Push(c any) {
	if c, ok := c.(*cell[K]); ok {
		c.place = len(*a)
		*a = append(*a, c)
	}
}

// Pop implements heap.Interface.
func (a *refused[K]) Pop() any {
	last := len(*a) - 1
	c := (*a)[last]
	(*a)[last] = nil
	*a = (*a)[:last]
	return c
}
