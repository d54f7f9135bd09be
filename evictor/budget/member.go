package budget

// member is what is known about one member.
type member[K comparable] struct {
	key K
	in  []*group[K] // by dimension, nil for none
	standing
	setBy       string // the name under which it was Set last
	actedBy     string // the name under which it is acted on
	reservation uint64 // the number of the last reservation
	order       uint64 // the number of its last Commit, over all members
}

// asked says whether the bound applies to the member, if the member is in a group of its dimension.
func (m *member[K]) asked(b *bound) bool { return b.without == 0 || m.in[b.without] == nil }

// standing is what counts about a member.
type standing struct {
	weight                  int64
	counts, bad, actionable bool
	done                    doing
}

// doing is whether a member is acted on.
type doing uint8

const (
	nothing   doing = iota
	reserved        // reserved, and neither committed nor given back
	committed       // the action is going on
)

func (s *standing) acting() bool { return s.done != nothing }

// well returns the weight that would become unavailable if the member were acted on.
func (s *standing) well() int64 {
	if s.counts && !s.bad {
		return s.weight
	}
	return 0
}

// Set adds a member or updates it. An update does not end an action on the member. It is O(log n) and does not allocate
// for a member that stays in its groups. It panics for a key that does not equal itself, such as NaN, because such a
// member could never be found again.
func (b *Budget[K, M]) Set(key K, m M) {
	now := b.now()
	if key != key { // only NaN, or what contains one
		panic("budget: Set: the key does not equal itself (NaN?)") //nolint:forbidigo // a bug of the caller's
	}
	next := standing{weight: 1, counts: true, actionable: true} // call the program's functions before taking the lock
	if f := b.config.Weight; f != nil {
		next.weight = min(max(f(m), 0), maxWeight)
	}
	if f := b.config.Counts; f != nil {
		next.counts = f(m)
	}
	if f := b.config.Actionable; f != nil {
		next.actionable = f(m)
	}
	if f := b.config.Bad; f != nil {
		next.bad = f(m)
	}
	var to places
	for d := range b.dimensions {
		to.names[d], to.in[d] = b.dimensions[d].group(m)
	}

	b.mu.Lock()
	defer b.mu.Unlock()
	b.set(key, next, &to, b.time.Read(now))
}

// places are the groups that a member belongs to, by dimension.
type places struct {
	names [maxDimensions + 1]string
	in    [maxDimensions + 1]bool
}

func (b *Budget[K, M]) set(key K, next standing, to *places, now int64) {
	mem := b.members[key]
	if mem == nil {
		mem = &member[K]{key: key, in: make([]*group[K], len(b.dimensions))}
		b.members[key] = mem
		if was, acting := b.restore[key]; acting {
			delete(b.restore, key)
			mem.done, mem.order, mem.actedBy = committed, was.order, was.by
		}
	}
	mem.setBy, next.done = b.name, mem.done
	weighed := mem.weight
	for d, g := range mem.in {
		switch {
		case g == nil && to.in[d], g != nil && (!to.in[d] || g.name != to.names[d]):
			b.move(d, mem, &next, to, now)
		case g != nil:
			g.sum.add(&mem.standing, -1)
			g.sum.add(&next, +1)
			b.look(d, g, now)
		}
	}
	mem.standing = next
	if next.weight != weighed && mem.done == reserved {
		b.holdAll(mem, now)
	}
}

// move takes a member out of its group of the dimension and puts it, now as next, into another. Either may be nil.
func (b *Budget[K, M]) move(d int, m *member[K], next *standing, to *places, now int64) {
	was, is := m.in[d], (*group[K])(nil)
	if to.in[d] {
		is = b.group(d, to.names[d])
		b.in[d]++
		is.members++
		is.sum.add(next, +1)
	}
	m.in[d] = is
	b.moveHeld(d, m, was, is, now)
	b.look(d, is, now)
	if was != nil {
		b.leave(was, &m.standing, now)
	}
}

// Remove forgets a member that is gone, and reports whether it was known. It ends a reservation of the member. Nobody
// can know whether that action began, so it counts as begun.
func (b *Budget[K, M]) Remove(key K) bool {
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.time.Read(now)
	delete(b.restore, key)
	mem := b.members[key]
	if mem == nil {
		return false
	}
	if mem.done == reserved {
		b.began(mem, t, t)
	}
	delete(b.members, key)
	for d, g := range mem.in {
		if g != nil {
			mem.in[d] = nil
			b.leave(g, &mem.standing, t)
		}
	}
	mem.reservation++
	mem.standing = standing{}
	return true
}

// Keys returns the members that were last Set under this name, in no particular order. A program that takes over a name
// compares them with the members that still exist.
func (b *Budget[K, M]) Keys() (keys []K) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, m := range b.members {
		if m.setBy == b.name {
			keys = append(keys, key)
		}
	}
	return keys
}

// Len returns the number of members.
func (b *Budget[K, M]) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.members)
}
