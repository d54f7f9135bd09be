package budget

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/due"
	"github.com/evictkit/evictkit/internal/steady"
)

// Budget holds members, their groups, and which of them are acted on. Most callers want three methods first:
// [Budget.Set] when a member comes or changes, [Budget.Reserve] before acting on one, and [Budget.Remove] when it is gone;
// then [Budget.Status], to see how far a bound is used. Make one with New.
type Budget[K comparable, M any] struct {
	*core[K, M]
	name string // of As
}

// core is what all names share.
type core[K comparable, M any] struct {
	config     Config[K, M]
	dimensions []dimension[M] // first the one of all members, then by name
	bounds     []bound
	acts       []*bound // those on Recent and Unproven, which count actions that are over
	trials     []*bound // those on Unproven

	mu       sync.Mutex // guards what follows
	time     steady.Time
	members  map[K]*member[K]
	in       []int                  // by dimension: how many members are in a group of it
	groups   []map[string]*group[K] // by dimension
	empty    []*group[K]            // without members, kept because their cells remember something
	restore  map[K]restored         // acted on in a snapshot and not Set yet
	orders   uint64
	attempts map[K][]attempt[K] // by trial; only members of which one knows something
	waiting  due.Heap[*cell[K]] // those with a refusal that time will end
	asked    bool               // Reserve was called, so breakers look
}

type dimension[M any] struct {
	name     string
	group    func(M) (string, bool)
	breakers []*bound // its breakers
}

// bound is a Bound with its names resolved.
type bound struct {
	Bound
	dimension int
	cell      int // its index in a group's cells
	without   int // the dimension, 0 for none
	trial     int // its index in core.trials
}

// New returns a Budget without members, or an error with all faults of the configuration.
func New[K comparable, M any](c Config[K, M]) (*Budget[K, M], error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("budget: %w", err)
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	b := &Budget[K, M]{core: &core[K, M]{config: c, members: make(map[K]*member[K]), attempts: make(map[K][]attempt[K])}}
	b.dimensions = append(b.dimensions, dimension[M]{group: func(M) (string, bool) { return "", true }})
	number := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(c.Dimensions)) {
		number[name] = len(b.dimensions)
		b.dimensions = append(b.dimensions, dimension[M]{name: name, group: c.Dimensions[name]})
	}
	b.in, b.groups = make([]int, len(b.dimensions)), make([]map[string]*group[K], len(b.dimensions))
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
		if is.breaks() {
			b.dimensions[is.dimension].breakers = append(b.dimensions[is.dimension].breakers, is)
		}
		if is.Of >= Recent {
			b.acts = append(b.acts, is)
		}
		if is.Of == Unproven {
			is.trial = len(b.trials)
			b.trials = append(b.trials, is)
		}
	}
	return b, nil
}

// As returns the same Budget under a name, for one of several programs that share it. The Budget that New returns has
// the name "". Reserve, Adopt and End act under the name; Adopt and End do not touch the actions of other names. After
// a restart, or in place of a controller that has stopped, a program takes the same name, and Adopts or Ends the
// actions that it finds there.
func (b *Budget[K, M]) As(name string) *Budget[K, M] {
	b.made()
	return &Budget[K, M]{core: b.core, name: name}
}

// made panics for a zero value.
func (b *Budget[K, M]) made() {
	if b.core == nil {
		panic("budget: a zero Budget was used: make one with New") //nolint:forbidigo // a bug of the caller's
	}
}

// Clock returns the clock that its Config named, or the real one.
func (b *Budget[K, M]) Clock() clock.PassiveClock {
	b.made()
	return b.config.Clock
}

// now reads the clock.
func (b *Budget[K, M]) now() time.Time {
	b.made()
	return b.config.Clock.Now()
}

// group returns the group of that name, and makes it if there is none.
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

// leave takes a member out of the group. A group without members is forgotten once its cells remember nothing.
func (b *Budget[K, M]) leave(g *group[K], m *standing, now int64) {
	g.sum.add(m, -1)
	b.in[g.dimension]--
	g.members--
	b.look(g.dimension, g, now)
	if g.members == 0 && !b.forget(g, now) {
		b.list(g)
	}
}

// list makes sweep check the group.
func (b *Budget[K, M]) list(g *group[K]) {
	if !g.listed {
		g.listed = true
		b.empty = append(b.empty, g)
	}
}

// sweep checks two groups without members whenever a group is made, and drops those that remember nothing, so that they
// do not pile up.
func (b *Budget[K, M]) sweep() {
	for range min(2, len(b.empty)) {
		g := b.empty[0]
		b.empty = b.empty[1:]
		if g.listed = false; g.members == 0 && !b.forget(g, b.time.Elapsed()) {
			b.list(g)
		}
	}
}

// forget drops a group without members if its cells remember nothing.
func (b *Budget[K, M]) forget(g *group[K], now int64) bool {
	for i := range b.bounds {
		bound := &b.bounds[i]
		if bound.dimension != g.dimension {
			continue
		}
		if b.update(bound, g, now).remembers() {
			return false
		}
	}
	if b.groups[g.dimension][g.name] == g { // not if a new one has its name
		delete(b.groups[g.dimension], g.name)
	}
	return true
}

// Begin makes breakers look from now on, if no Reserve or Exceeded has done so before. Call it when all members are Set, so that a
// breaker sees what happens before the first question.
func (b *Budget[K, M]) Begin() {
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begin(b.time.Read(now))
}

// begin is Begin with the lock held.
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

// look shows the group, as it is now, to the breakers of its dimension.
func (b *Budget[K, M]) look(d int, g *group[K], now int64) {
	if g == nil || !b.asked {
		return
	}
	for _, is := range b.dimensions[d].breakers {
		c := &g.cells[is.cell]
		if c.look(&is.Bound, g, now); c.calm != restless {
			b.unstick(c, after(c.calm, is.Quiet), now)
		}
	}
}

// update brings what a bound remembers about a group up to date. Breakers need not look at the group here: they did
// when it last changed.
func (b *Budget[K, M]) update(is *bound, g *group[K], now int64) *cell[K] {
	c := &g.cells[is.cell]
	switch {
	case is.breaks():
		c.open(&is.Bound, now)
	case c.recent != nil:
		c.recent.expire(is.Within, now)
	case c.trial != nil:
		b.pass(is, c, now)
	}
	return c
}

// moveHeld moves what a reservation counts in bounds that count actions.
func (b *Budget[K, M]) moveHeld(d int, m *member[K], from, to *group[K], now int64) {
	if m.done != reserved {
		return
	}
	for _, bound := range b.acts {
		if bound.dimension != d {
			continue
		}
		if from != nil {
			b.release(bound, from, m)
		}
		if to != nil {
			b.hold(bound, to, m, now)
		}
	}
}

// hold counts a reservation of the member.
func (b *Budget[K, M]) hold(is *bound, g *group[K], m *member[K], now int64) {
	c := b.update(is, g, now)
	if is.Of == Unproven {
		b.try(is, g, m.key)
	} else {
		c.hold(m.key, m.weight)
	}
}

// holdAll counts a reservation of the member in all its groups.
func (b *Budget[K, M]) holdAll(m *member[K], now int64) {
	for _, bound := range b.acts {
		if g := m.in[bound.dimension]; g != nil {
			b.hold(bound, g, m, now)
		}
	}
}

// release undoes hold.
func (b *Budget[K, M]) release(is *bound, g *group[K], m *member[K]) {
	if is.Of == Unproven {
		b.try(is, nil, m.key)
	} else {
		g.cells[is.cell].release(m.key)
	}
}

// began records that an action on the member began at an instant that may be in the past. Trials count it from now on:
// what came of it before, nobody has seen.
func (b *Budget[K, M]) began(m *member[K], at, now int64) {
	for _, bound := range b.acts {
		g := m.in[bound.dimension]
		if bound.Of == Unproven {
			b.untried(bound, m.key, now)
		}
		if g == nil {
			continue
		}
		c := b.update(bound, g, now)
		if m.done == reserved {
			b.release(bound, g, m)
		}
		switch {
		case bound.Of == Unproven:
			b.tried(bound, g, m.key, now)
		case steady.Sub(now, at) < int64(bound.Within):
			c.begin(m.key, m.weight, at)
		}
		b.unstick(c, c.fewer(&bound.Bound), now) // a reservation does not end with time, what it became does
	}
}
