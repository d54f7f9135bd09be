package timedworker

import (
	"context"
	"fmt"
)

// Step runs all work that is due now in the caller's goroutine, one piece after the other: by due time, and in the
// order of scheduling if due times are equal. A key runs at most once in a Step. Other work that becomes due meanwhile
// runs too. Step returns the number of tries.
//
// It checks the context before each try and at the end, and returns its error. It returns an error if another Step or Run
// is active, or if ctx is nil.
func (s *Set[K, V]) Step(ctx context.Context) (ran int, err error) {
	if err := s.begin(ctx, "Step"); err != nil {
		return 0, err
	}
	defer s.stop()
	t := &try[K, V]{steps: true}
	defer s.abandon(t)
	for s.advance(ctx, t) {
		ran++
		s.perform(ctx, t)
	}
	return ran, ctx.Err()
}

func (s *Set[K, V]) begin(ctx context.Context, call string) error {
	s.table.Lock()
	defer s.table.Unlock()
	switch {
	case s.function == nil:
		return fmt.Errorf("timedworker: %s of a zero Set: make one with New", call)
	case ctx == nil:
		return fmt.Errorf("timedworker: %s needs a context, not nil", call)
	case s.active:
		return errRunning
	}
	s.active, s.ran = true, make(map[K]struct{})
	return nil
}

// stop ends a Step or Run. What waits aside goes back.
func (s *Set[K, V]) stop() {
	s.table.Lock()
	defer s.table.Unlock()
	s.active, s.ran = false, nil
	for r, _, some := s.aside.Min(); some; r, _, some = s.aside.Min() {
		s.aside.Remove(&r.Place)
		r.Line = false
		s.due.Set(r, &r.Place, r.Due, r.Seq)
	}
}
