package timedworker

import (
	"context"
	"errors"

	"github.com/evictkit/evictkit/internal/slots"
)

// Work is one try of a piece of work, as the function given to New sees it.
type Work[K comparable, V any] struct {
	Key   K
	Value V
	// Attempts is how many earlier tries failed.
	Attempts int
}

// try is the current work of a Step or of one of Run's workers, which reuses it for the next. It belongs to the goroutine
// that runs it.
type try[K comparable, V any] struct {
	work    Work[K, V]
	hold    slots.Hold[K, V, bool]
	ending  slots.Ending
	running bool
	steps   bool
	idle    bool // counted in Set.idle; only of a worker
}

// advance ends the current try, if there is one, and claims what is due first; false if nothing may start now, and then a
// worker rests. It is all that a Step or a worker does between two pieces of work.
func (s *Set[K, V]) advance(ctx context.Context, t *try[K, V]) bool {
	now := s.table.Read()
	defer s.table.Unlock()
	s.stir(t)
	s.finish(t, now)
	if ctx.Err() != nil || !s.someDue(now) {
		if !t.steps {
			s.rest(t)
		}
		return false
	}
	s.claim(t)
	switch {
	case s.idle == 0: // a worker that ends its work looks for itself
	case s.someDue(now):
		s.wakeWorker()
	default:
		s.watch() // this work may take long
	}
	return true
}

// someDue reports whether something is due. The lock is held.
func (s *Set[K, V]) someDue(now int64) bool {
	_, due, ok := s.due.Min()
	return ok && due <= now
}

// claim makes what is due first the current try. The lock is held.
func (s *Set[K, V]) claim(t *try[K, V]) {
	r, _, _ := s.due.Min()
	s.due.Remove(&r.Place)
	t.running = true
	t.work, t.hold = Work[K, V]{r.Key, r.Value, r.Attempts()}, s.table.Hand(r)
	if t.steps {
		s.ran[r.Key] = struct{}{}
	}
}

// finish ends the current try, if there is one. The lock is held.
func (s *Set[K, V]) finish(t *try[K, V], now int64) {
	if !t.running {
		return
	}
	t.hold.End(t.ending, now)
	*t = try[K, V]{steps: t.steps, idle: t.idle} // so that an idle worker does not keep the value alive
}

// errEnded is the error of a try whose goroutine was ended by runtime.Goexit.
var errEnded = errors.New("timedworker: the work ended its goroutine")

// perform runs the claimed work, and finds out how the try ends, also if the user's code panics or ends the goroutine.
func (s *Set[K, V]) perform(ctx context.Context, t *try[K, V]) {
	t.ending = slots.Ending{Kind: slots.Retry, Err: errEnded}
	defer func() { t.hold.Delay(&t.ending, t.work.Key) }() // even if OnPanic ends the goroutine
	defer func() {
		if value := recover(); value != nil {
			t.ending.Err = s.table.Panicked(t.work.Key, value)
		}
	}()
	t.ending = s.function(ctx, t.work).ending
}

// abandon ends the try that is current when the goroutine ends, if there is one.
func (s *Set[K, V]) abandon(t *try[K, V]) {
	if t.running {
		now := s.table.Read()
		defer s.table.Unlock()
		s.finish(t, now)
	}
}
