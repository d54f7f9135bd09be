package budget

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/steady"
)

// Budget holds members, the groups that they are in, and what is done to them. Make one with New.
type Budget[K comparable, M any] struct {
	config     Config[K, M]
	dimensions []dimension[M] // all together first, then by name
	bounds     []bound
	taking     []*bound // those of which a reservation takes something: Recent, and tokens

	mu      sync.Mutex // guards what follows
	time    steady.Time
	members map[K]*member[K]
	groups  []map[string]*group[K] // by dimension
	empty   []*group[K]            // without members, kept for what their cells remember
	restore map[K]uint64           // acted on in a snapshot, and not told yet: member.order
	orders  uint64
	waiting refused[K]
	asked   bool // breakers look: Reserve was called
}

type dimension[M any] struct {
	name     string
	group    func(M) (string, bool)
	breakers []*bound // its bounds with Quiet
}

// bound is a Bound with what its names stand for.
type bound struct {
	Bound
	dimension int
	cell      int // which of a group's
	without   int // the dimension, 0 for none
}

// New checks the configuration and returns a Budget without members.
func New[K comparable, M any](c Config[K, M]) (*Budget[K, M], error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	b := &Budget[K, M]{config: c, members: make(map[K]*member[K])}
	b.dimensions = append(b.dimensions, dimension[M]{group: func(M) (string, bool) { return "", true }})
	number := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(c.Dimensions)) {
		number[name] = len(b.dimensions)
		b.dimensions = append(b.dimensions, dimension[M]{name: name, group: c.Dimensions[name]})
	}
	b.groups = make([]map[string]*group[K], len(b.dimensions))
	for i := range b.groups {
		b.groups[i] = make(map[string]*group[K])
	}
	cells := make([]int, len(b.dimensions))
	for _, is := range c.Bounds {
		d := number[is.Per]
		b.bounds = append(b.bounds, bound{Bound: is, dimension: d, cell: cells[d], without: number[is.Without]})
		cells[d]++
	}
	for i := range b.bounds {
		is := &b.bounds[i]
		if is.Quiet > 0 {
			b.dimensions[is.dimension].breakers = append(b.dimensions[is.dimension].breakers, is)
		}
		if is.Of == Recent || is.PerSecond > 0 {
			b.taking = append(b.taking, is)
		}
	}
	return b, nil
}

// member is what is known of one.
type member[K comparable] struct {
	key K
	in  []*group[K] // by dimension, nil for none
	standing
	reservation uint64 // the number of the last one
	order       uint64 // of its last Commit among all
	paid        uint64 // which of Budget.taking have a token of it, that it may give back
	price       int64  // how many
}

// asked says whether the bound is asked about the member, where it is in a group of its dimension.
func (m *member[K]) asked(b *bound) bool { return b.without == 0 || m.in[b.without] == nil }

// standing is what counts of a member.
type standing struct {
	weight                  int64
	counts, bad, actionable bool
	done                    doing
}

// doing is what is done to a member.
type doing uint8

const (
	nothing   doing = iota
	reserved        // a reservation is held
	committed       // an action goes on
)

func (s *standing) acting() bool { return s.done != nothing }

// well is the weight of a member that would become unavailable.
func (s *standing) well() int64 {
	if s.counts && !s.bad {
		return s.weight
	}
	return 0
}

// Set tells what a member looks like now, also one that is new. It costs O(log n), and nothing is allocated for a
// member that stays in its groups. What a member that is acted on has become does not end the action.
func (b *Budget[K, M]) Set(key K, m M) { b.SetAt(key, m, b.config.Clock.Now()) }

// SetAt is Set at a reading of the clock.
func (b *Budget[K, M]) SetAt(key K, m M, now time.Time) {
	next := standing{weight: 1, counts: true, actionable: true} // the program is called before anything is locked
	if f := b.config.Weight; f != nil {
		next.weight = max(f(m), 0)
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

// places are the groups that a member is to be in, by dimension.
type places struct {
	names [maxDimensions + 1]string
	in    [maxDimensions + 1]bool
}

func (b *Budget[K, M]) set(key K, next standing, to *places, now int64) {
	mem := b.members[key]
	if mem == nil {
		mem = &member[K]{key: key, in: make([]*group[K], len(b.dimensions))}
		b.members[key] = mem
		if order, acting := b.restore[key]; acting {
			delete(b.restore, key)
			mem.done, mem.order = committed, order
		}
	}
	next.done = mem.done
	same := next == mem.standing
	for d, g := range mem.in {
		switch {
		case g == nil && to.in[d], g != nil && (!to.in[d] || g.name != to.names[d]):
			b.move(d, mem, &next, to, now)
		case g != nil && !same:
			g.sum.add(&mem.standing, -1)
			g.sum.add(&next, +1)
			b.look(d, g, now)
		}
	}
	mem.standing = next
}

// move takes a member, which becomes next, from one group of the dimension to another. Of both there may be none.
func (b *Budget[K, M]) move(d int, m *member[K], next *standing, to *places, now int64) {
	was, is := m.in[d], (*group[K])(nil)
	if to.in[d] {
		is = b.group(d, to.names[d])
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

// Remove forgets a member that is gone and says whether there was one. Its reservation is void; what was reserved
// and not given back counts as begun, because nobody can tell.
func (b *Budget[K, M]) Remove(key K) bool { return b.RemoveAt(key, b.config.Clock.Now()) }

// RemoveAt is Remove at a reading of the clock.
func (b *Budget[K, M]) RemoveAt(key K, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.time.Read(now)
	delete(b.restore, key)
	mem := b.members[key]
	if mem == nil {
		return false
	}
	if mem.done == reserved {
		b.began(mem, t)
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

// Len is how many members there are.
func (b *Budget[K, M]) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.members)
}

// group is the group of that name, made when there is none.
func (b *Budget[K, M]) group(d int, name string) *group[K] {
	g := b.groups[d][name]
	if g == nil {
		b.sweep()
		g = &group[K]{dimension: d, name: name}
		for i := range b.bounds {
			if b.bounds[i].dimension == d {
				g.cells = append(g.cells, newCell[K]())
			}
		}
		b.groups[d][name] = g
	}
	return g
}

// leave takes a member out of the group. One without members is forgotten once nothing is remembered of it.
func (b *Budget[K, M]) leave(g *group[K], m *standing, now int64) {
	g.sum.add(m, -1)
	g.members--
	b.look(g.dimension, g, now)
	if g.members == 0 && !b.forget(g, now) {
		b.list(g)
	}
}

// list has sweep look at the group.
func (b *Budget[K, M]) list(g *group[K]) {
	if !g.listed {
		g.listed = true
		b.empty = append(b.empty, g)
	}
}

// sweep looks at two of the groups without members for each group that is made, so that those of which nothing is worth
// remembering any more do not pile up.
func (b *Budget[K, M]) sweep() {
	for range min(2, len(b.empty)) {
		g := b.empty[0]
		b.empty = b.empty[1:]
		if g.listed = false; g.members == 0 && !b.forget(g, b.time.Elapsed()) {
			b.list(g)
		}
	}
}

// forget drops a group without members, if its cells are as new.
func (b *Budget[K, M]) forget(g *group[K], now int64) bool {
	for i := range b.bounds {
		bound := &b.bounds[i]
		if bound.dimension != g.dimension {
			continue
		}
		c := &g.cells[bound.cell]
		c.update(&bound.Bound, now)
		if c.remembers() {
			return false
		}
	}
	if b.groups[g.dimension][g.name] == g { // and not one that was made since
		delete(b.groups[g.dimension], g.name)
	}
	return true
}

// begin has breakers look from now on.
func (b *Budget[K, M]) begin(now int64) {
	if b.asked {
		return
	}
	b.asked = true
	for d, groups := range b.groups {
		for _, g := range groups {
			b.look(d, g, now)
		}
	}
}

// look has the breakers of a group's dimension see it as it is.
func (b *Budget[K, M]) look(d int, g *group[K], now int64) {
	if g == nil || !b.asked {
		return
	}
	for _, is := range b.dimensions[d].breakers {
		g.cells[is.cell].look(&is.Bound, g, now)
	}
}

// moveHeld takes a reservation along that bounds on Recent count.
func (b *Budget[K, M]) moveHeld(d int, m *member[K], from, to *group[K], now int64) {
	if m.done != reserved {
		return
	}
	for i, bound := range b.taking {
		if bound.dimension != d {
			continue
		}
		if m.paid &^= 1 << i; bound.Of != Recent {
			continue // the tokens stay where they were taken
		}
		if from != nil {
			from.cells[bound.cell].release(m.key)
		}
		if to != nil {
			to.cells[bound.cell].hold(&bound.Bound, m.key, m.weight, now)
		}
	}
}

// began is told that an action that was reserved has begun.
func (b *Budget[K, M]) began(m *member[K], now int64) {
	for _, bound := range b.taking {
		if g := m.in[bound.dimension]; g != nil && bound.Of == Recent {
			g.cells[bound.cell].begin(m.key, m.weight, now)
		}
	}
}
