package timedworker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/steady"
)

// Run starts Config.Workers goroutines, which run work as it becomes due. When the context ends, it waits for all running
// work to return, and then returns the context's error. Waiting work stays scheduled.
//
// It returns an error if another Step or Run is active, if ctx is nil, or if the clock has no timers (clock.Clock). It
// sleeps on these timers. On a fake clock that is set back they fire late, unless something is scheduled after they should
// have.
func (s *Set[K, V]) Run(ctx context.Context) error {
	if err := s.begin(ctx, "Run"); err != nil {
		return err
	}
	defer s.stop()
	timers, ok := s.table.Clock.(clock.Clock)
	if !ok {
		return fmt.Errorf("timedworker: Run needs timers: Config.Clock must be a clock.Clock, which %T is not", s.table.Clock)
	}
	defer s.disarm()
	var workers sync.WaitGroup
	for range s.workers {
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
		select { // a needless wake-up only makes it look once more
		case <-ctx.Done():
			return ctx.Err()
		case <-s.wake:
		case <-fires:
		}
	}
}

// look returns how long it is until something is due. If something is due already, it wakes a worker.
func (s *Set[K, V]) look() (wait time.Duration, some bool) {
	now := s.table.Read()
	defer s.table.Unlock()
	next, some := s.next()
	switch {
	case !some:
		s.armed = never
	case next <= now:
		s.wakeWorker()
		s.armed = unwatched // until a worker claims work or finds none
	default:
		s.armed = next
	}
	return time.Duration(steady.Sub(next, now)), some
}

// arm sets the timer, and makes it if there is none.
func (s *Set[K, V]) arm(timers clock.Clock, wait time.Duration) <-chan time.Time {
	s.table.Lock()
	timer := s.timer
	s.table.Unlock()
	if timer != nil {
		timer.Reset(wait)
		return timer.C()
	}
	timer = timers.NewTimer(wait)
	s.table.Lock()
	s.timer = timer
	s.table.Unlock()
	return timer.C()
}

// wakeWorker makes one idle worker look for work; that one wakes the next if there is more. The lock is held.
func (s *Set[K, V]) wakeWorker() {
	if s.idle == 0 {
		return
	}
	select {
	case s.tokens <- struct{}{}:
	default:
	}
}

// watch sets Run's timer for what is due next if nothing watches for that, for a worker that is about to work while
// others are idle. The lock is held, but released while the clock is called.
func (s *Set[K, V]) watch() {
	if s.armed == unwatched {
		s.rearm()
	}
}

// rearm sets Run's timer for what is due next, for a worker that found nothing more due. The lock is held, but released while
// the clock is called. If another goroutine changes armed meanwhile, the two calls of Reset may come in the wrong order;
// then Run is woken to set the timer once more.
func (s *Set[K, V]) rearm() {
	next, some := s.next()
	now, timer := s.table.Time.Elapsed(), s.timer
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
	s.table.Unlock()
	timer.Reset(time.Duration(next - now))
	s.table.Lock()
	if s.armed != next {
		s.kick()
	}
}

func (s *Set[K, V]) disarm() {
	s.table.Lock()
	timer := s.timer
	s.timer = nil
	s.table.Unlock()
	if timer != nil {
		timer.Stop()
	}
}

// worker is one of Run's goroutines. It claims due work one by one, so that unclaimed work can still be cancelled. If one
// of the user's functions ends the goroutine, another takes its place.
func (s *Set[K, V]) worker(ctx context.Context, workers *sync.WaitGroup) {
	ended := false
	defer func() {
		if ended {
			workers.Done()
		} else {
			go s.worker(ctx, workers)
		}
	}()
	t := &try[K, V]{}
	defer s.abandon(t)
	for ctx.Err() == nil {
		if s.advance(ctx, t) {
			s.perform(ctx, t)
			continue
		}
		select {
		case <-ctx.Done():
		case <-s.tokens:
		}
	}
	s.table.Lock()
	s.stir(t)
	s.table.Unlock()
	ended = true
}

// rest makes a worker idle until stir, and makes sure that Run's timer is set for what is due next. The lock is held, but
// released while the clock is called.
func (s *Set[K, V]) rest(t *try[K, V]) {
	t.idle = true
	s.idle++
	s.rearm()
}

// stir ends a rest, if there is one. The lock is held.
func (s *Set[K, V]) stir(t *try[K, V]) {
	if t.idle {
		t.idle = false
		s.idle--
	}
}
