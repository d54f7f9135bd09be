package timedworker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/steady"
)

// Run runs what becomes due on Config.Workers goroutines, until the context ends and all running work
// has returned; then it returns the context's error. What is scheduled stays scheduled. ErrRunning is
// returned beside another Step or Run, and an error where the clock has no timers.
func (s *Set[K, V]) Run(ctx context.Context) error {
	timers, ok := s.config.Clock.(clock.Clock)
	if !ok {
		return fmt.Errorf("timedworker: Run needs a clock with timers, %T has none", s.config.Clock)
	}
	if err := s.begin(); err != nil {
		return err
	}
	defer s.stop()
	defer s.disarm()
	var workers sync.WaitGroup
	for range s.config.Workers {
		workers.Add(1)
		go s.worker(ctx, &workers)
	}
	defer workers.Wait()
	var fires <-chan time.Time
	for {
		wait, some := s.look()
		if some && wait > 0 {
			fires = s.arm(timers, wait)
		}
		select { // woken for nothing it looks once more
		case <-ctx.Done():
			return ctx.Err()
		case <-s.wake:
		case <-fires:
		}
	}
}

// look says how long it is until something is due. When it is already, it rouses a worker.
func (s *Set[K, V]) look() (wait time.Duration, some bool) {
	at := s.read()
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.tick(at)
	next, some := s.nextDue()
	switch {
	case !some:
		s.armed = never
	case next <= now:
		s.rouse()
		s.armed = unwatched // until a worker claims or finds nothing
	default:
		s.armed = next
	}
	return time.Duration(steady.Sub(next, now)), some
}

// arm sets the timer, which it makes first if there is none.
func (s *Set[K, V]) arm(timers clock.Clock, wait time.Duration) <-chan time.Time {
	s.mu.Lock()
	timer := s.timer
	s.mu.Unlock()
	if timer != nil {
		timer.Reset(wait)
		return timer.C()
	}
	timer = timers.NewTimer(wait)
	s.mu.Lock()
	s.timer = timer
	s.mu.Unlock()
	return timer.C()
}

// rouse lets one idle worker look; s.mu is held. The worker rouses the next one if there is more.
func (s *Set[K, V]) rouse() {
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
func (s *Set[K, V]) watch() {
	if s.armed == unwatched && s.idle > 0 {
		s.rearm()
	}
}

// rearm sets Run's timer for what is next due, for a worker that found nothing more due; s.mu is held, but not
// while the clock is called. Whoever sets the timer for another time meanwhile may come first: then Run sets
// it once more.
func (s *Set[K, V]) rearm() {
	next, some := s.nextDue()
	now, timer := s.time.Elapsed(), s.timer
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

func (s *Set[K, V]) disarm() {
	s.mu.Lock()
	timer := s.timer
	s.timer = nil
	s.mu.Unlock()
	if timer != nil {
		timer.Stop()
	}
}

// worker is one of Run's: it runs what is due, one by one, so that what is not claimed can still be cancelled. When a
// function of the user ends the goroutine, another takes over.
func (s *Set[K, V]) worker(ctx context.Context, workers *sync.WaitGroup) {
	ended := false
	defer func() {
		if ended {
			workers.Done()
		} else {
			go s.worker(ctx, workers)
		}
	}()
	t := &try[K, V]{set: s}
	defer s.abandon(t)
	for ctx.Err() == nil {
		if s.advance(ctx, t) {
			s.perform(ctx, t)
		} else {
			s.rest(ctx)
		}
	}
	ended = true
}

// rest waits until something is due. It sets Run's timer for that, if nobody has.
func (s *Set[K, V]) rest(ctx context.Context) {
	s.mu.Lock()
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
}
