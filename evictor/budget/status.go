package budget

import (
	"maps"
	"slices"
)

// Status is the state of one bound in one group.
type Status struct {
	// Used is what the bound counts now.
	Used int64
	// Total is the weight of all members of the group that count.
	Total int64
	// Max and Min are the limits, with percentages worked out; -1 if there is no such limit. Max of a trial is its width.
	Max, Min int64
	// Shut: the bound is a shut breaker or a trial that cools down, and refuses everything.
	Shut bool
}

// Status returns the state of a bound in a group; false if there is no such bound or no such group. For a bound without
// a dimension, group is empty.
func (b *Budget[K, M]) Status(name, group string) (Status, bool) {
	now := b.now()
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
	c := b.update(is, g, t)
	s := Status{Used: c.used(&is.Bound, g), Total: g.sum.total, Max: -1, Min: -1, Shut: c.shut}
	if is.Max.isSet() {
		s.Max = c.most(&is.Bound, g)
	}
	if is.Min.isSet() {
		s.Min = is.Min.Of(g.sum.total)
	}
	return s, true
}

// Groups returns the sorted names of the groups of a dimension, including groups without members that a bound still
// remembers, or did not long ago. It is nil if there is no such dimension.
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

// Unmatched returns the names of the bounds that apply to no member, in the order of Config.Bounds: there are members,
// but none is in a group of the bound's dimension. A misspelled label does that.
func (b *Budget[K, M]) Unmatched() (names []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.bounds {
		if len(b.members) > 0 && b.in[b.bounds[i].dimension] == 0 {
			names = append(names, b.bounds[i].Name)
		}
	}
	return names
}
