package budget

import "time"

// Adopt says that an action on the member is going on under this name, such as one of an earlier process. It checks no
// bound. If the action counts already, nothing changes. If the member is only reserved under this name, or nobody acts
// on it, the action counts as if it had been reserved and committed at began; trials count it from now. It goes on
// until End or Remove. Adopt returns false and changes nothing if there is no such member or if another name acts on
// it. After a restart, Adopt every action before the first Reserve, because Reserve counts only those that the Budget
// knows of.
func (b *Budget[K, M]) Adopt(key K, began time.Time) bool {
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	t, m := b.time.Read(now), b.members[key]
	switch {
	case m == nil || m.acting() && m.actedBy != b.name:
		return false
	case m.done == committed:
		return true
	}
	if b.began(m, max(beginning, min(b.time.Of(began), t)), t); m.done == nothing {
		m.reservation++ // an earlier Reservation has no part in this
	}
	m.actedBy = b.name
	b.commit(m, t)
	return true
}

// Exceeded returns the bounds that the member's groups exceed now, in their order, without any further action. It tells whether
// actions that have begun should go on. A shut breaker counts as exceeded, and so does a trial that cools down. Again
// is when time alone may change the answer. The result is nil if the groups keep every bound, or if there is no such
// member.
func (b *Budget[K, M]) Exceeded(key K) (all []*Refusal) {
	now := b.now()
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
		if g == nil || !m.asked(bound) {
			continue
		}
		c := b.update(bound, g, t)
		no := c.compare(&bound.Bound, g, c.used(&bound.Bound, g))
		if no.kind == agreed {
			continue
		}
		refusal, again := b.refusal(bound, g, no), c.ends(&bound.Bound, no)
		if b.later(c, again, t); again != none {
			refusal.Again = b.time.Instant(again)
		}
		all = append(all, refusal)
	}
	return all
}
