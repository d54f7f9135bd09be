package timedworker

import (
	"context"
	"time"
)

// Step runs what is due now in the caller's goroutine, one after the other: by due time, and in the order of scheduling
// if due times are equal. A key runs at most once in a Step. Work that is scheduled meanwhile for another key, and is
// due, runs too. Step returns the number of tries it made. The error is ErrRunning if another Step or Run is active, or
// the context's, which Step checks between tries.
func (s *Set[K, V]) Step(ctx context.Context) (ran int, err error) {
	return s.step(ctx, &try[K, V]{set: s})
}

// StepAt is Step at a reading of the clock. It does not read the clock itself.
func (s *Set[K, V]) StepAt(ctx context.Context, now time.Time) (ran int, err error) {
	s.mu.Lock()
	s.tick(now)
	s.mu.Unlock()
	return s.step(ctx, &try[K, V]{set: s, stands: true})
}

func (s *Set[K, V]) step(ctx context.Context, t *try[K, V]) (ran int, err error) {
	if t.since, err = s.begin(); err != nil {
		return 0, err
	}
	defer s.stop()
	t.steps = true
	defer s.abandon(t)
	for s.advance(ctx, t) {
		ran++
		s.perform(ctx, t)
	}
	return ran, ctx.Err()
}

// begin returns the place among equal due times of what was scheduled last.
func (s *Set[K, V]) begin() (since uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active {
		return 0, ErrRunning
	}
	s.active = true
	return s.seq, nil
}

func (s *Set[K, V]) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.aside.Len() > 0 {
		r, _, _ := s.aside.Min()
		s.putAside(r, false)
	}
	s.active = false
}

// putAside moves a record from due to aside, or back.
func (s *Set[K, V]) putAside(r *record[K, V], aside bool) {
	s.heap(r).Remove(&r.place)
	r.aside = aside
	s.heap(r).Set(r, &r.place, r.due, r.seq)
}
