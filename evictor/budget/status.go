package budget

import (
	"maps"
	"slices"
	"time"
)

// Status is how one bound stands in one group.
type Status struct {
	// Used is what it counts, as things are; of a bound with PerSecond it is how many tokens are missing, rounded up.
	Used int64
	// Total is the weight of all members of the group that count.
	Total int64
	// Max and Min are what is allowed of that total, -1 where there is no such limit. Of a bound with PerSecond
	// Max is the burst.
	Max, Min int64
	// Shut: it is a breaker, and refuses everything.
	Shut bool
}

// Status returns how a bound stands in a group, which is empty for a bound without a dimension; false when there
// is no such bound, or no such group.
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
	switch {
	case is.PerSecond > 0:
		s.Used, s.Max = int64(c.spent+1-tiny), int64(is.burst())
	case is.Of != Recent:
		s.Used = g.used(is.Of)
	case c.recent != nil:
		s.Used = c.recent.used
	}
	if is.Max.IsSet() {
		s.Max = is.Max.Of(s.Total)
	}
	if is.Min.IsSet() {
		s.Min = is.Min.Of(s.Total)
	}
	return s, true
}

// Groups returns the names of the groups of a dimension, in order, those included that have no members any more but of
// which something is remembered; nil when there is no such dimension.
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
