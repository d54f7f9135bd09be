package ratelimitqueue

import (
	"slices"

	"github.com/evictkit/evictkit/internal/dueheap"
)

// fleet says which line of a group hands out next. Those that can are served in turns: whose last turn was before that
// of all others comes first. Every change costs O(log n) of the number of lines.
type fleet struct {
	all     rotation
	exempt  rotation // of those with exempt items, by these alone
	turns   uint64
	order   []int32      // of all lines, where it replaces turns
	retired dueheap.Heap // lines without a key or a setting of their own, by when their bucket is full
}

// rotation is the lines that will be able to hand out, by when, and those that are, by their turn.
type rotation struct{ later, ready dueheap.Heap }

// insert makes a line a place in the order that replaces the turns.
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

// serve gives the line the last turn, unless they have an order that replaces turns.
func (f *fleet) serve(l *line) {
	if len(f.order) > 0 {
		return
	}
	f.turns++
	l.turn = f.turns
}

// changed takes note of what changed in a line. One without a key that has no setting of its own is retired: it is
// forgotten when its bucket is full, so that coming back earns no token.
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

// drop forgets a line that has no key.
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

// first is the line whose turn it is, of those that can hand out now.
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

// next is when a line can hand out.
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
