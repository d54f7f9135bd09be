package ratelimitqueue

import (
	"slices"

	"github.com/evictkit/evictkit/internal/due"
)

// fleet decides which line of a group hands out next. The lines that can hand out are served in turns: the one whose last
// turn is longest ago comes first. Every change is O(log n) in the number of lines, except insert.
type fleet[K comparable, V any] struct {
	all     rotation[K, V]
	exempt  rotation[K, V] // of the lines with exempt items, as if they had no others
	turns   uint64
	order   []*line[K, V]         // all lines in their fixed order, if one replaces the turns
	retired due.Heap[*line[K, V]] // lines without a key or own settings, by when their bucket is full
}

// rotation holds the lines that can hand out later, by when, and those that can now, by turn.
type rotation[K comparable, V any] struct{ later, ready due.Heap[*seat[K, V]] }

// seat is where a line is in a rotation.
type seat[K comparable, V any] struct {
	line         *line[K, V]
	later, ready due.Place
}

func (s *seat[K, V]) taken() bool { return s.later.In() || s.ready.In() }

// insert gives a line its place in the fixed order that replaces the turns.
func (f *fleet[K, V]) insert(l *line[K, V], place int) {
	f.order = slices.Insert(f.order, place, l)
	for i, l := range f.order {
		l.turn = uint64(i)
		f.all.renew(&l.inAll)
		f.exempt.renew(&l.inExempt)
	}
}

// serve moves the line behind all others, unless a fixed order replaces the turns.
func (f *fleet[K, V]) serve(l *line[K, V]) {
	if len(f.order) > 0 {
		return
	}
	f.turns++
	l.turn = f.turns
}

// changed updates the fleet after a change in a line. A line without keys and own settings (plain) is retired: it is
// forgotten once its bucket is full, so that leaving and coming back earns no token.
func (f *fleet[K, V]) changed(l *line[K, V], plain bool) {
	at, ok := l.next(l.bucket.at, false)
	f.all.set(&l.inAll, at, ok)
	if l.exempt.Len() > 0 || l.inExempt.taken() {
		at, ok = l.next(l.bucket.at, true)
		f.exempt.set(&l.inExempt, at, ok)
	}
	if plain && l.known() == 0 {
		if full, ok := l.bucket.full(); ok {
			f.retired.Set(l, &l.inRetired, full, 0)
			return
		}
	}
	f.retired.Remove(&l.inRetired)
}

// sweep forgets the retired lines whose buckets are full, and calls dropped for each.
func (f *fleet[K, V]) sweep(now int64, dropped func(*line[K, V])) {
	any := false
	for l, full, ok := f.retired.Min(); ok && full <= now; l, full, ok = f.retired.Min() {
		f.retired.Remove(&l.inRetired)
		f.all.set(&l.inAll, 0, false)
		f.exempt.set(&l.inExempt, 0, false)
		l.dropped, any = true, true
		dropped(l)
	}
	if any { // once for all of them, because it is linear
		f.order = slices.DeleteFunc(f.order, func(l *line[K, V]) bool { return l.dropped })
	}
}

func (f *fleet[K, V]) rotation(exemptOnly bool) *rotation[K, V] {
	if exemptOnly {
		return &f.exempt
	}
	return &f.all
}

// first returns the line whose turn it is, of those that can hand out at that time, or nil.
func (r *rotation[K, V]) first(now int64) *line[K, V] {
	for {
		s, at, ok := r.later.Min()
		if !ok || at > now {
			break
		}
		r.later.Remove(&s.later)
		r.ready.Set(s, &s.ready, int64(s.line.turn), 0)
	}
	if s, _, ok := r.ready.Min(); ok {
		return s.line
	}
	return nil
}

// next returns when a line can hand out, not before now.
func (r *rotation[K, V]) next(now int64) (int64, bool) {
	if r.ready.Len() > 0 {
		return now, true
	}
	_, at, ok := r.later.Min()
	return max(at, now), ok
}

func (r *rotation[K, V]) set(s *seat[K, V], at int64, ok bool) {
	r.ready.Remove(&s.ready)
	if ok {
		r.later.Set(s, &s.later, at, 0)
	} else {
		r.later.Remove(&s.later)
	}
}

// renew is called after a change of the line's turn.
func (r *rotation[K, V]) renew(s *seat[K, V]) {
	if s.ready.In() {
		r.ready.Set(s, &s.ready, int64(s.line.turn), 0)
	}
}
