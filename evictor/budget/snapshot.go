package budget

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/evictkit/evictkit/internal/steady"
)

// SnapshotVersion is the version that Snapshot writes and Restore reads.
const SnapshotVersion = 1

// ErrNotEmpty is the error of Restore if the Budget is in use: it has members, or remembers something.
var ErrNotEmpty = errors.New("budget: cannot restore into a budget that is in use: call Restore before the first Set")

// Snapshot is what a Budget cannot learn from members. It encodes to JSON if the keys do. It leaves out reservations
// that were neither committed nor given back: they count as given back.
type Snapshot[K comparable] struct {
	Version int                `json:"version"`
	Acting  map[string][]K     `json:"acting,omitempty"` // by name (see Budget.As): members with an action in progress, in the order of Commit
	Groups  []groupSnapshot[K] `json:"groups,omitempty"` // what each bound remembers about each group, for Restore
}

// groupSnapshot is what a bound remembers about a group.
type groupSnapshot[K comparable] struct {
	Bound string `json:"bound"`
	Group string `json:"group,omitempty"`
	// Shut: the breaker is shut. Calm is for how long its limits have been kept, nil if they are not kept now.
	Shut bool           `json:"shut,omitempty"`
	Calm *time.Duration `json:"calm,omitempty"`
	// Recent are the actions that began within Bound.Within, oldest first. Those of a trial are unproven.
	Recent []recentSnapshot[K] `json:"recent,omitempty"`
	// The rest is for a trial. Proved is how many actions were proved since the last failure, and Idle how long none has
	// been unproven. Failures is how many failures it remembers, and Cooldown how much of their cooldown is left, negative
	// once it is over.
	Proved   int64         `json:"proved,omitempty"`
	Idle     time.Duration `json:"idle,omitempty"`
	Failures int           `json:"failures,omitempty"`
	Cooldown time.Duration `json:"cooldown,omitempty"`
}

// recentSnapshot is one member on which an action has begun.
type recentSnapshot[K comparable] struct {
	Key    K             `json:"key"`
	Ago    time.Duration `json:"ago"`
	Weight int64         `json:"weight"` // 1 in a trial
}

// restored is an action of a snapshot.
type restored struct {
	by    string
	order uint64
}

// Snapshot returns what another Budget needs to continue. It costs as much as it returns, plus the number of members and
// groups.
func (b *Budget[K, M]) Snapshot() Snapshot[K] {
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.time.Read(now)
	s := Snapshot[K]{Version: SnapshotVersion}
	acting := maps.Clone(b.restore)
	for key, m := range b.members {
		if m.done == committed {
			if acting == nil {
				acting = make(map[K]restored)
			}
			acting[key] = restored{m.actedBy, m.order}
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(acting), func(x, y K) int { return cmp.Compare(acting[x].order, acting[y].order) }) {
		if s.Acting == nil {
			s.Acting = make(map[string][]K)
		}
		s.Acting[acting[key].by] = append(s.Acting[acting[key].by], key)
	}
	for i := range b.bounds {
		is := &b.bounds[i]
		for _, name := range slices.Sorted(maps.Keys(b.groups[is.dimension])) {
			g := b.groups[is.dimension][name]
			if text, some := b.update(is, g, t).snapshot(t); some {
				text.Bound, text.Group = is.Name, name
				s.Groups = append(s.Groups, text)
			}
		}
	}
	return s
}

func (c *cell[K]) snapshot(now int64) (s groupSnapshot[K], some bool) {
	if c.trial != nil {
		return c.trial.snapshot(now)
	}
	if s.Shut = c.shut; c.shut && c.calm != restless {
		calm := time.Duration(steady.Sub(now, c.calm))
		s.Calm = &calm
	}
	if c.recent != nil {
		for _, is := range c.recent.line {
			if a, known := c.recent.of[is.key]; known && a.at == is.at {
				s.Recent = append(s.Recent, recentSnapshot[K]{is.key, time.Duration(steady.Sub(now, is.at)), a.weight})
			}
		}
	}
	return s, s.Shut || len(s.Recent) > 0
}

func (t *trial[K]) snapshot(now int64) (s groupSnapshot[K], some bool) {
	for e := t.begun.Front(); e != nil; e = e.Next() {
		a := attemptAt[K](e)
		s.Recent = append(s.Recent, recentSnapshot[K]{a.key, time.Duration(steady.Sub(now, a.at)), 1})
	}
	if s.Proved = t.proved; t.proved > 0 && len(s.Recent) == 0 {
		s.Idle = time.Duration(steady.Sub(now, t.idle))
	}
	if s.Failures = t.failures; t.failures > 0 {
		s.Cooldown = time.Duration(steady.Sub(t.cools, now))
	}
	return s, t.proved > 0 || t.failures > 0 || len(s.Recent) > 0
}

// Restore loads a snapshot. Call it before the first Set. It returns an error and changes nothing if the Budget is in
// use (ErrNotEmpty), the version is unknown, or the snapshot names an unknown bound or contains an impossible value.
func (b *Budget[K, M]) Restore(s Snapshot[K]) error {
	now := b.now()
	if s.Version != SnapshotVersion {
		return fmt.Errorf("budget: cannot restore a snapshot of version %d, only of version %d", s.Version, SnapshotVersion)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.members) > 0 || len(b.restore) > 0 || slices.ContainsFunc(b.groups, func(of map[string]*group[K]) bool { return len(of) > 0 }) {
		return ErrNotEmpty
	}
	if err := b.fit(s.Groups); err != nil {
		return err
	}
	acting := make(map[K]restored)
	for _, name := range slices.Sorted(maps.Keys(s.Acting)) {
		for _, key := range s.Acting[name] {
			if key != key { // only NaN, or what contains one
				return fmt.Errorf("budget: snapshot: the key %v is acted on, and does not equal itself", key)
			}
			if _, twice := acting[key]; twice {
				return fmt.Errorf("budget: snapshot: %v is acted on twice", key)
			}
			acting[key] = restored{name, uint64(len(acting)) + 1}
		}
	}
	t := b.time.Read(now)
	b.restore, b.orders = acting, uint64(len(acting))
	for i := range s.Groups {
		is := &s.Groups[i]
		at := b.bound(is.Bound)
		g := b.group(at.dimension, is.Group)
		if at.Of == Unproven {
			b.restoreTrial(at, g, is, t)
		} else {
			g.cells[at.cell].restore(is, t)
		}
		b.list(g)
	}
	return nil
}

func (b *Budget[K, M]) bound(name string) *bound {
	for i := range b.bounds {
		if b.bounds[i].Name == name {
			return &b.bounds[i]
		}
	}
	return nil
}

// fit returns an error if a part of a snapshot cannot be restored.
func (b *Budget[K, M]) fit(groups []groupSnapshot[K]) error {
	seen, tried := map[[2]string]bool{}, make([]map[K]bool, len(b.trials))
	for i := range groups {
		s := &groups[i]
		err := b.fits(s)
		switch is := b.bound(s.Bound); {
		case seen[[2]string{s.Bound, s.Group}]:
			err = errors.New("appears twice")
		case err == nil && is.Of == Unproven:
			if tried[is.trial] == nil {
				tried[is.trial] = map[K]bool{}
			}
			err = fitsOnce(s.Recent, tried[is.trial])
		case err == nil:
			err = fitsOnce(s.Recent, map[K]bool{})
		}
		if err != nil {
			return fmt.Errorf("budget: snapshot: bound %q, group %q: %w", s.Bound, s.Group, err)
		}
		seen[[2]string{s.Bound, s.Group}] = true
	}
	return nil
}

// fitsOnce returns an error if one of the actions, oldest first, is impossible or its member was seen before.
func fitsOnce[K comparable](recent []recentSnapshot[K], seen map[K]bool) error {
	for i, r := range recent {
		switch {
		case r.Ago < 0 || r.Weight < 0 || r.Weight > maxWeight:
			return errors.New("an age is negative, or a weight is not one of a member")
		case i > 0 && r.Ago > recent[i-1].Ago:
			return errors.New("the oldest does not come first")
		case r.Key != r.Key: // only NaN, or what contains one
			return fmt.Errorf("the key %v does not equal itself", r.Key)
		case seen[r.Key]:
			return fmt.Errorf("%v appears twice", r.Key)
		}
		seen[r.Key] = true
	}
	return nil
}

// fits returns an error if the bound remembers nothing of the kind.
func (b *Budget[K, M]) fits(s *groupSnapshot[K]) error {
	is := b.bound(s.Bound)
	switch {
	case is == nil:
		return errors.New("there is no such bound")
	case is.dimension == 0 && s.Group != "":
		return errors.New("it has no groups")
	case s.Shut && !is.breaks():
		return errors.New("not a breaker")
	case s.Calm != nil && (!s.Shut || *s.Calm < 0):
		return errors.New("it is not shut, or its time is negative")
	case len(s.Recent) > 0 && is.Of < Recent:
		return errors.New("it does not count recent actions")
	case (s.Proved != 0 || s.Idle != 0 || s.Failures != 0 || s.Cooldown != 0) && is.Of != Unproven:
		return errors.New("not a trial")
	case s.Proved < 0 || s.Failures < 0 || s.Idle < 0:
		return errors.New("a number or a time is negative")
	case s.Proved > maxWeight || s.Failures > math.MaxInt32/2: // one more might overflow
		return errors.New("so much cannot have happened")
	}
	return nil
}

func (c *cell[K]) restore(s *groupSnapshot[K], now int64) {
	if c.shut = s.Shut; s.Calm != nil {
		c.calm = max(now-int64(*s.Calm), beginning)
	}
	if len(s.Recent) == 0 {
		return
	}
	c.recent = &window[K]{of: make(map[K]act, len(s.Recent))}
	for _, r := range s.Recent {
		at := max(now-int64(r.Ago), beginning)
		c.recent.set(r.Key, act{at: at, weight: r.Weight})
		c.recent.line = append(c.recent.line, begun[K]{r.Key, at})
	}
}

func (b *Budget[K, M]) restoreTrial(is *bound, g *group[K], s *groupSnapshot[K], now int64) {
	t := g.trial(is)
	for _, r := range s.Recent {
		b.tried(is, g, r.Key, max(now-int64(r.Ago), beginning))
	}
	t.proved, t.idle = s.Proved, max(now-int64(s.Idle), beginning)
	t.failures, t.cools = s.Failures, max(steady.Add(now, s.Cooldown), beginning)
}
