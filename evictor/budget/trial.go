package budget

import (
	"container/list"
	"math"
	"time"

	"github.com/evictkit/evictkit/internal/steady"
)

// trial is what a bound on Unproven remembers about a group. It is forgotten once it is as at the beginning.
type trial[K comparable] struct {
	proved   int64     // since the last failure; the width is one more
	failures int       // that are not forgotten
	cools    int64     // when the cooldown after the last of them ends
	unproven int64     // how many attempts count in the group
	begun    list.List // of *attempt[K]: those with an action that counts in the group, in the order in which they began
	idle     int64     // since when there is none
}

// attempt is what a bound on Unproven knows about one member: the last action on it while that is unproven, even if
// the member has gone, and a reservation for the next one. Each counts in the group in which it was made; both
// together count once in a group.
type attempt[K comparable] struct {
	key   K
	began *group[K] // nil if no action is unproven
	at    int64     // when that began
	place *list.Element
	held  *group[K] // nil if there is no reservation
}

// Judge tells trials (bounds on Unproven) what became of the last action on a member, which may be gone: Proved, Failed
// or Inconclusive; any other value counts as Inconclusive. Any program may call it, under any name; the action goes on
// until End. Judge reports whether the outcome was still open in any trial. Only the first outcome counts; it may be
// Unjudged, once Bound.Within has passed. It is O(1) for each trial.
func (b *Budget[K, M]) Judge(key K, is Outcome) (open bool) {
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	t, attempts := b.time.Read(now), b.attempts[key]
	for i := range attempts {
		a := &attempts[i]
		if a.began != nil {
			b.update(b.trials[i], a.began, t)
		}
		if a.began != nil {
			b.settle(b.trials[i], a, is, t)
			open = true
		}
	}
	return open
}

// trial returns what the bound remembers about the group.
func (g *group[K]) trial(is *bound) *trial[K] {
	c := &g.cells[is.cell]
	if c.trial == nil {
		c.trial = &trial[K]{}
	}
	return c.trial
}

// attempt returns what the bound knows about the member.
func (b *Budget[K, M]) attempt(is *bound, key K) *attempt[K] {
	all := b.attempts[key]
	if all == nil {
		all = make([]attempt[K], len(b.trials))
		b.attempts[key] = all
	}
	a := &all[is.trial]
	a.key = key
	return a
}

// count adds the attempt, or takes it away, where it counts.
func (a *attempt[K]) count(is *bound, sign int64) {
	if a.began != nil {
		a.began.trial(is).unproven += sign
	}
	if a.held != nil && a.held != a.began {
		a.held.trial(is).unproven += sign
	}
}

// try counts a reservation of the member in the group, or none if that is nil.
func (b *Budget[K, M]) try(is *bound, g *group[K], key K) {
	a := b.attempt(is, key)
	a.count(is, -1)
	a.held = g
	a.count(is, +1)
	b.drop(key)
}

// untried says that another action on the member begins, whose place may be in another group or in none: nothing will be
// heard of an unproven one before it.
func (b *Budget[K, M]) untried(is *bound, key K, now int64) {
	attempts := b.attempts[key]
	if attempts == nil || attempts[is.trial].began == nil {
		return
	}
	a := &attempts[is.trial]
	if b.update(is, a.began, now); a.began == nil { // nobody had judged it in time
		return
	}
	a.count(is, -1)
	a.leave(is, now)
	a.count(is, +1)
	b.drop(key)
}

// tried says that an action on the member begins in the group, after untried.
func (b *Budget[K, M]) tried(is *bound, g *group[K], key K, now int64) {
	a := b.attempt(is, key)
	a.count(is, -1)
	a.began, a.at, a.place = g, now, g.trial(is).begun.PushBack(a)
	a.count(is, +1)
}

// leave takes the action out of those that have begun.
func (a *attempt[K]) leave(is *bound, now int64) {
	if a.began == nil {
		return
	}
	t := a.began.trial(is)
	if t.begun.Remove(a.place); t.begun.Len() == 0 {
		t.idle = now
	}
	a.began, a.place = nil, nil
}

// drop forgets a member of which no trial knows anything.
func (b *Budget[K, M]) drop(key K) {
	for _, a := range b.attempts[key] {
		if a.began != nil || a.held != nil {
			return
		}
	}
	delete(b.attempts, key)
}

// settle ends an unproven action with this outcome.
func (b *Budget[K, M]) settle(is *bound, a *attempt[K], outcome Outcome, at int64) {
	t := a.began.trial(is)
	a.count(is, -1)
	a.leave(is, at)
	a.count(is, +1)
	b.drop(a.key)
	switch outcome {
	case Proved:
		t.proved++
	case Failed:
		t.forget(&is.Bound, at)
		t.failures++
		cools := steady.Add(at, is.cooldown(t.failures))
		if t.failures > 1 { // a Restore with a shorter Within may find failures before the last one
			cools = max(cools, t.cools)
		}
		t.proved, t.cools = 0, cools
	}
}

// pass brings a trial up to date: it judges, each at its time, the actions that nobody has judged.
func (b *Budget[K, M]) pass(is *bound, c *cell[K], now int64) {
	t := c.trial
	for {
		end, some := t.first(is.Within)
		if !some || end > now {
			break
		}
		b.settle(is, attemptAt[K](t.begun.Front()), is.Unjudged, end)
	}
	t.forget(&is.Bound, now)
	if c.shut = now < t.cools && t.failures > 0; t.unproven == 0 && t.proved == 0 && t.failures == 0 {
		c.trial = nil
	}
}

// first returns when the first of the actions will have been unproven for that long, if ever.
func (t *trial[K]) first(within time.Duration) (at int64, ever bool) {
	first := t.begun.Front()
	if first == nil {
		return 0, false
	}
	at = after(attemptAt[K](first).at, within)
	return at, at != none
}

// attemptAt returns an attempt of the list begun, which holds nothing else.
func attemptAt[K comparable](e *list.Element) *attempt[K] { return e.Value.(*attempt[K]) } //nolint:errcheck // see above

// forget forgets what was long ago.
func (t *trial[K]) forget(b *Bound, now int64) {
	if t.begun.Len() == 0 && steady.Sub(now, t.idle) >= int64(b.Quiet) {
		t.proved = 0
	}
	if steady.Sub(now, t.cools) >= int64(b.Quiet) {
		t.failures = 0
	}
}

// opens returns when the cooldown ends, none if never.
func (t *trial[K]) opens() int64 {
	if t.cools == math.MaxInt64 {
		return none
	}
	return t.cools
}

// again returns when time alone may make one more action possible while too many are unproven, none if never.
func (t *trial[K]) again(b *Bound, cooling bool) int64 {
	at, ever := t.first(b.Within)
	switch {
	case !ever:
		return none
	case !cooling:
		return at
	case t.opens() == none:
		return none
	}
	return max(at, t.cools)
}

// cooldown returns for how long nothing may begin after so many failures.
func (b *Bound) cooldown(failures int) time.Duration {
	if doubled := failures - 1; doubled < 63 && b.Cooldown <= b.MaxCooldown>>doubled {
		return b.Cooldown << doubled
	}
	return max(b.Cooldown, b.MaxCooldown)
}
