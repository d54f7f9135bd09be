package budget

import (
	"maps"
	"slices"
	"time"
)

// Status is the state of one bound in one group.
type Status struct {
	// Used is what the bound counts now. With PerSecond it is the number of missing tokens, rounded up.
	Used int64
	// Total is the weight of all members of the group that count.
	Total int64
	// Max and Min are the limits, with percentages worked out; -1 if there is no such limit. For a bound with PerSecond,
	// Max is the burst.
	Max, Min int64
	// Shut: the bound is a shut breaker, and refuses everything.
	Shut bool
}

// Status returns the state of a bound in a group; false if there is no such bound or no such group. For a bound without
// a dimension, group is empty.
func (b *Budget[K, M]) Status(bound, group string) (Status, bool) {
	return b.StatusAt(bound, group, b.config.Clock.Now())
}

// StatusAt is Status at a reading of the clock.
func (b *Budget[K, M]) StatusAt(name, group string, now time.Time) (Status, bool) {
	i := slices.IndexFunc(b.bounds, func(is bound) bool { return is.Name == name })
	if i < 0 {
		return Status{}, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t, is := b.time.Read(now), &b.bounds[i]
	g := b.groups[is.dimension][group]
	if g == nil {
		return Status{}, false
	}
	c := &g.cells[is.cell]
	c.update(&is.Bound, t)
	s := Status{Total: g.sum.total, Max: -1, Min: -1, Shut: c.shut}
	if s.Used = c.used(&is.Bound, g, t); is.PerSecond > 0 {
		s.Max = is.burst()
	}
	if is.Max.IsSet() {
		s.Max = is.Max.in(&g.sum)
	}
	if is.Min.IsSet() {
		s.Min = is.Min.in(&g.sum)
	}
	return s, true
}

// Groups returns the sorted names of the groups of a dimension. That includes groups without members of which something
// is still remembered. It is nil if there is no such dimension.
func (b *Budget[K, M]) Groups(dimension string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for d := range b.dimensions {
		if b.dimensions[d].name == dimension {
			return slices.Sorted(maps.Keys(b.groups[d]))
		}
	}
	return nil
}
