package ratelimitqueue

import (
	"slices"

	"github.com/evictkit/evictkit/internal/dueheap"
)

// fleet decides which line of a group hands out next. The lines that can hand out are served in turns: the one whose last
// turn is longest ago comes first. Every change is O(log n) in the number of lines, except insert.
type fleet struct {
	all     rotation
	exempt  rotation // of the lines with exempt items, as if they had no others
	turns   uint64
	order   []int32      // all lines in their fixed order, if one replaces the turns
	retired dueheap.Heap // lines without a key or own settings, by when their bucket is full
}

// rotation holds the lines that can hand out later, by when, and those that can now, by turn.
type rotation struct{ later, ready dueheap.Heap }

// insert gives a line its place in the fixed order that replaces the turns.
func (f *fleet) insert(n int32, place int, lines []*line) {
	f.order = slices.Insert(f.order, place, n)
	for i, n := range f.order {
		lines[n].turn = uint64(i)
		for _, r := range []*rotation{&f.all, &f.exempt} {
			if r.ready.Has(n) {
				r.ready.Set(n, int64(i), 0)
			}
		}
	}
}

// serve moves the line behind all others, unless a fixed order replaces the turns.
func (f *fleet) serve(l *line) {
	if len(f.order) > 0 {
		return
	}
	f.turns++
	l.turn = f.turns
}

// changed updates the fleet after a change in a line. A line without keys and own settings (plain) is retired: it is
// forgotten once its bucket is full, so that leaving and coming back earns no token.
func (f *fleet) changed(n int32, l *line, plain bool) {
	at, ok := l.next(l.bucket.at, false)
	f.all.set(n, at, ok)
	if l.exempt.Len() > 0 || f.exempt.has(n) {
		at, ok = l.next(l.bucket.at, true)
		f.exempt.set(n, at, ok)
	}
	if plain && l.known() == 0 {
		if full, ok := l.bucket.full(); ok {
			f.retired.Set(n, full, 0)
			return
		}
	}
	f.retired.Remove(n)
}

// drop forgets a line without keys.
func (f *fleet) drop(n int32) {
	f.retired.Remove(n)
	f.all.set(n, 0, false)
	f.exempt.set(n, 0, false)
}

func (f *fleet) rotation(exemptOnly bool) *rotation {
	if exemptOnly {
		return &f.exempt
	}
	return &f.all
}

// first returns the line whose turn it is, of those that can hand out now.
func (f *fleet) first(lines []*line, now int64, exemptOnly bool) (int32, bool) {
	r := f.rotation(exemptOnly)
	for {
		n, at, ok := r.later.Min()
		if !ok || at > now {
			break
		}
		r.later.Remove(n)
		r.ready.Set(n, int64(lines[n].turn), 0)
	}
	n, _, ok := r.ready.Min()
	return n, ok
}

// next returns when a line can hand out, not before now.
func (f *fleet) next(now int64, exemptOnly bool) (int64, bool) {
	r := f.rotation(exemptOnly)
	if r.ready.Len() > 0 {
		return now, true
	}
	_, at, ok := r.later.Min()
	return max(at, now), ok
}

func (r *rotation) has(n int32) bool { return r.later.Has(n) || r.ready.Has(n) }

func (r *rotation) set(n int32, at int64, ok bool) {
	r.ready.Remove(n)
	if ok {
		r.later.Set(n, at, 0)
	} else {
		r.later.Remove(n)
	}
}
