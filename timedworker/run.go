package timedworker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

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
	defer s.disarm()
	var workers sync.WaitGroup
	for range s.config.Workers {
		workers.Add(1)
		go func() {
			defer workers.Done()
			s.work(ctx)
		}()
	}
	defer workers.Wait()
	var fires <-chan time.Time
	for {
		clockNow := timers.Now()
		s.mu.Lock()
		now := s.tick(clockNow)
		next, some := s.nextDue()
		timer := s.timer
		switch {
		case !some:
			s.armed = never
		case next <= now:
			s.rouse()
			s.armed = unwatched // until a worker claims or finds nothing
		default:
			s.armed = next
		}
		s.mu.Unlock()
		if some && next > now {
			if timer == nil {
				timer = timers.NewTimer(time.Duration(next - now))
				fires = timer.C()
				s.mu.Lock()
				s.timer = timer
				s.mu.Unlock()
			} else {
				timer.Reset(time.Duration(next - now))
			}
		}
		select { // woken for nothing it looks once more
		case <-ctx.Done():
			return ctx.Err()
		case <-s.wake:
		case <-fires:
		}
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

// watch lets Run's timer wait for what is due next, unless it does or no worker is idle: one that ends its work
// looks for itself. s.mu is held, but not while the clock is called.
func (s *Set[K, P]) watch() {
	if s.armed == unwatched && s.idle > 0 {
		s.rearm()
	}
}

// rearm sets Run's timer for what is next due, for a worker that found nothing more due; s.mu is held, but not
// while the clock is called. Whoever sets the timer for another time meanwhile may come first: then Run sets
// it once more.
func (s *Set[K, P]) rearm() {
	next, some := s.nextDue()
	now, timer := s.latest, s.timer
	switch {
	case !some:
		s.armed = never
		return
	case next <= now || timer == nil:
		s.armed = never
		s.kick()
		return
	case next == s.armed:
		return
	}
	s.armed = next
	s.mu.Unlock()
	timer.Reset(time.Duration(next - now))
	s.mu.Lock()
	if s.armed != next {
		s.kick()
	}
}

func (s *Set[K, P]) disarm() {
	s.mu.Lock()
	timer := s.timer
	s.timer = nil
	s.mu.Unlock()
	if timer != nil {
		timer.Stop()
	}
}

// work is one worker: it claims and runs what is due, one by one, so that what is not claimed can still
// be cancelled. When nothing more is due it sets Run's timer, if nobody has.
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
		s.rearm()
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
