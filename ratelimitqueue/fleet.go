package ratelimitqueue

import "github.com/evictkit/evictkit/internal/due"

// fleet decides which line hands out next. The lines that can hand out are served in turns: the one whose last turn is
// longest ago comes first. Every change is O(log n) in the number of lines.
type fleet[K comparable, V any] struct {
	later   due.Heap[*line[K, V]] // lines that can hand out later, by when
	ready   due.Heap[*line[K, V]] // those that can now, by turn
	retired due.Heap[*line[K, V]] // lines of a group without a key or own settings, by when their bucket is full; nobody reads that of a queue
	turns   uint64
}

// serve moves the line behind all others. The caller calls changed after it.
func (f *fleet[K, V]) serve(l *line[K, V]) {
	f.turns++
	l.turn = f.turns
}

// changed updates the fleet after a change in a line. A retired line is forgotten once its bucket is full, so that leaving
// and coming back earns no token.
func (f *fleet[K, V]) changed(l *line[K, V], retired bool) {
	f.ready.Remove(&l.ready)
	if at, ok := l.next(l.bucket.at); ok {
		f.later.Set(l, &l.later, at, 0)
	} else {
		f.later.Remove(&l.later)
	}
	if full, ok := l.bucket.full(); ok && retired {
		f.retired.Set(l, &l.retired, full, 0)
	} else {
		f.retired.Remove(&l.retired)
	}
}

// first returns the line whose turn it is, of those that can hand out at that time, or nil.
func (f *fleet[K, V]) first(now int64) *line[K, V] {
	for l, at, ok := f.later.Min(); ok && at <= now; l, at, ok = f.later.Min() {
		f.later.Remove(&l.later)
		f.ready.Set(l, &l.ready, int64(l.turn), 0)
	}
	l, _, _ := f.ready.Min()
	return l
}

// next returns from when on a line can hand out: the one whose turn it is, if one could at the last first.
func (f *fleet[K, V]) next() (int64, bool) {
	if l, _, ok := f.ready.Min(); ok {
		return l.next(l.bucket.at)
	}
	_, at, ok := f.later.Min()
	return at, ok
}
