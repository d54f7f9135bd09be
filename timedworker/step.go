package timedworker

import (
	"context"
	"fmt"
	"runtime/debug"
)

// Step runs what is due now in line, in the order of due times and, for equal ones, of scheduling. A
// key runs at most once in a Step; what a piece of work schedules for another key and is due runs too.
// It returns how many tries it made, and ErrRunning beside another Step or Run, or the error of the
// context, which it looks at between the tries.
func (s *Set[K, P]) Step(ctx context.Context) (ran int, err error) {
	if err := s.begin(); err != nil {
		return 0, err
	}
	defer s.end()
	var seen map[K]struct{} // ran in this Step
	type held struct {
		i   int32
		due int64
	}
	var again []held // ran already and is due again: for the next Step
	defer func() {
		s.mu.Lock()
		for _, h := range again {
			if key, ok := s.index.Find(s.index.Key(h.i)); ok && key == h.i && !s.records[h.i].running && !s.due.Has(h.i) {
				s.enqueue(h.i, h.due)
			}
		}
		s.mu.Unlock()
	}()
	for {
		if err := ctx.Err(); err != nil {
			return ran, err
		}
		clockNow := s.config.Clock.Now()
		s.mu.Lock()
		now := s.tick(clockNow)
		i, due, ok := s.due.Min()
		if !ok || due > now {
			s.mu.Unlock()
			return ran, nil
		}
		if _, did := seen[s.index.Key(i)]; did {
			s.due.Remove(i)
			again = append(again, held{i, due})
			s.mu.Unlock()
			continue
		}
		s.mu.Unlock()
		if !s.permitted(now) {
			return ran, nil
		}
		s.mu.Lock()
		i, w, ok := s.claim(now)
		s.mu.Unlock()
		if !ok {
			return ran, nil
		}
		if seen == nil {
			seen = make(map[K]struct{})
		}
		seen[w.Key] = struct{}{}
		result := s.withDelay(w, s.try(ctx, w))
		clockNow = s.config.Clock.Now()
		s.mu.Lock()
		s.finish(i, w.Key, result, s.tick(clockNow))
		s.mu.Unlock()
		ran++
	}
}

func (s *Set[K, P]) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active {
		return ErrRunning
	}
	s.active = true
	return nil
}

func (s *Set[K, P]) end() {
	s.mu.Lock()
	s.active = false
	s.mu.Unlock()
}

// permitted asks the fence, unless it was closed a moment ago. No lock is held.
func (s *Set[K, P]) permitted(now int64) bool {
	if s.config.Fence == nil {
		return true
	}
	s.mu.Lock()
	closed := s.fence != nil && now < s.fenced
	s.mu.Unlock()
	if closed {
		return false
	}
	err := s.config.Fence()
	s.mu.Lock()
	s.fence, s.fenced = err, addTo(now, s.config.FenceInterval)
	s.mu.Unlock()
	return err == nil
}

// mayArm asks the fence for what is to be scheduled. No lock is held.
func (s *Set[K, P]) mayArm() bool {
	if s.config.Fence == nil {
		return true
	}
	clockNow := s.config.Clock.Now()
	s.mu.Lock()
	now := s.tick(clockNow)
	s.mu.Unlock()
	return s.permitted(now)
}

// try runs the function and turns a panic into a failed try.
func (s *Set[K, P]) try(ctx context.Context, w Work[K, P]) (result Result) {
	defer func() {
		if value := recover(); value != nil {
			result = Fail(fmt.Errorf("timedworker: panic: %v", value))
			if s.config.OnPanic != nil {
				s.config.OnPanic(w.Key, value, debug.Stack())
			}
		}
	}()
	return s.fn(ctx, w)
}

// withDelay gives a result that backs off its delay. It may call the user's jitter, so no lock is held.
func (s *Set[K, P]) withDelay(w Work[K, P], result Result) Result {
	if result.outcome == retryBackoff {
		result.after = s.config.Backoff.delay(w.Attempt + 1)
	}
	return result
}
