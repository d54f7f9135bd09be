package timedworker

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/utils/clock"
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

// Run runs what becomes due on Config.Workers goroutines, until the context ends and all running work
// has returned; then it returns the context's error. What is scheduled stays scheduled. ErrRunning is
// returned beside another Step or Run, and an error where the clock has no timers.
func (s *Set[K, P]) Run(ctx context.Context) error {
	timers, ok := s.config.Clock.(clock.Clock)
	if !ok {
		return fmt.Errorf("timedworker: Run needs a clock with timers, %T has none", s.config.Clock)
	}
	if err := s.begin(); err != nil {
		return err
	}
	defer s.end()
	var workers sync.WaitGroup
	for range s.config.Workers {
		workers.Add(1)
		go func() {
			defer workers.Done()
			s.work(ctx)
		}()
	}
	defer workers.Wait()
	var timer clock.Timer // a time it still holds from before wakes Run once for nothing
	for {
		clockNow := timers.Now()
		s.mu.Lock()
		now := s.tick(clockNow)
		next, some := s.nextDue()
		wait := time.Duration(next - now)
		if some && wait <= 0 {
			s.rouse()
			s.armed = unwatched // until a worker claims or finds nothing
			some = false
		} else if some {
			s.armed = next
		} else {
			s.armed = never
		}
		s.mu.Unlock()
		if !some {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-s.wake:
			}
			continue
		}
		if timer == nil {
			timer = timers.NewTimer(wait)
		} else {
			timer.Reset(wait)
		}
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-s.wake:
		case <-timer.C():
		}
		timer.Stop()
	}
}

// rouse lets one idle worker look; s.mu is held. The worker rouses the next one if there is more.
func (s *Set[K, P]) rouse() {
	if s.idle == 0 {
		return
	}
	select {
	case s.tokens <- struct{}{}:
	default:
	}
}

// watch lets Run wait for what is due next, unless it does or no worker is idle: one that ends its work looks
// for itself. s.mu is held.
func (s *Set[K, P]) watch() {
	if s.armed == unwatched && s.idle > 0 {
		s.armed = never
		s.kick()
	}
}

// work is one worker: it claims and runs what is due, one by one, so that what is not claimed can still
// be cancelled. When nothing more is due it lets Run watch, if nobody does.
func (s *Set[K, P]) work(ctx context.Context) {
	var (
		i      int32
		w      Work[K, P]
		result Result
		have   bool
	)
	for {
		// What is due by the clock as it was last read is due: the clock is read again only when nothing
		// is, or when a retry counts from now.
		read := !have || result.outcome != done
		var clockNow time.Time
		if read {
			clockNow = s.config.Clock.Now()
		}
		s.mu.Lock()
		if _, due, ok := s.due.Min(); !read && (!ok || due > s.latest) {
			s.mu.Unlock()
			clockNow, read = s.config.Clock.Now(), true
			s.mu.Lock()
		}
		now := s.latest
		if read {
			now = s.tick(clockNow)
		}
		if have {
			s.finish(i, w.Key, result, now)
			have = false
		}
		if s.config.Fence != nil {
			if _, due, ok := s.due.Min(); ok && due <= now {
				s.mu.Unlock()
				open := s.permitted(now)
				s.mu.Lock()
				if !open {
					now = -never // claims nothing
				}
			}
		}
		if ctx.Err() == nil {
			i, w, have = s.claim(now)
		}
		if have {
			if _, due, ok := s.due.Min(); ok && due <= now {
				s.rouse()
			} else {
				s.watch() // this work may take long
			}
			s.mu.Unlock()
			result = s.withDelay(w, s.try(ctx, w))
			continue
		}
		s.idle++
		s.watch()
		s.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-s.tokens:
		}
		s.mu.Lock()
		s.idle--
		s.mu.Unlock()
		if ctx.Err() != nil {
			return
		}
	}
}
