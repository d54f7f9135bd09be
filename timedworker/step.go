package timedworker

import "context"

// Step runs all work that is due now in the caller's goroutine, one piece after the other: by due time, and in the
// order of scheduling if due times are equal. A key runs at most once in a Step. Work that is scheduled meanwhile for
// another key, and is due, runs too. Step returns the number of tries. The error is ErrRunning if another Step or Run
// is active, or the context's, which Step checks between tries.
func (s *Set[K, V]) Step(ctx context.Context) (ran int, err error) {
	if err := s.begin(true); err != nil {
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

func (s *Set[K, V]) begin(steps bool) error {
	s.table.Lock()
	defer s.table.Unlock()
	if s.active {
		return ErrRunning
	}
	s.active = true
	if steps {
		s.ran = make(map[K]struct{})
	}
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
