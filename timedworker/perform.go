package timedworker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// goexit is the result of work that called runtime.Goexit.
var goexit = Fail(errors.New("timedworker: the work ended its goroutine by runtime.Goexit"))

// perform runs the claimed work and calls the user's other functions. If one of them ends the goroutine, the deferred
// abandon does the rest.
func (s *Set[K, V]) perform(ctx context.Context, t *try[K, V]) {
	s.run(ctx, t)
	s.conclude(t)
}

// run calls the user's function. A panic is a failed try.
func (s *Set[K, V]) run(ctx context.Context, t *try[K, V]) {
	t.result = goexit
	defer func() {
		if value := recover(); value != nil {
			t.result = Fail(s.panicked(t.work.Key, "the work", value))
		}
	}()
	t.result = s.function(ctx, t.work)
}

// conclude determines the delay after a failed try. A try with an error ends here, so that it has ended when OnError is
// called; all others end when the next one is claimed.
func (s *Set[K, V]) conclude(t *try[K, V]) {
	if t.result.outcome == retryBackoff && t.result.after == 0 {
		t.result.after = s.config.Backoff.Max // in case Jitter ends the goroutine
		t.result.after = s.config.Backoff.Delay(t.work.Attempts+1, func(value any) { _ = s.panicked(t.work.Key, "the jitter", value) })
	}
	if t.result.err != nil {
		s.fail(t)
	}
}

// fail ends the try and calls OnError.
func (s *Set[K, V]) fail(t *try[K, V]) {
	key, err := t.work.Key, t.result.err
	s.end(t)
	if s.config.OnError == nil || err == nil {
		return
	}
	defer func() {
		if value := recover(); value != nil {
			_ = s.panicked(key, "OnError", value)
		}
	}()
	s.config.OnError(key, err)
}

// end ends the try.
func (s *Set[K, V]) end(t *try[K, V]) {
	s.finish(t, s.lock(t))
	s.mu.Unlock()
}

// abandon ends the try if one of the user's functions has ended the goroutine, and does nothing otherwise.
func (s *Set[K, V]) abandon(t *try[K, V]) {
	if !t.running {
		return
	}
	defer func() {
		if t.running { // Jitter has ended the goroutine too
			s.fail(t)
		}
	}()
	s.conclude(t)
}

// panicked counts a panic of one of the user's functions and calls OnPanic. It is called while recovering, so that the
// stack still shows where the panic came from. No lock is held.
func (s *Set[K, V]) panicked(key any, who string, value any) error {
	err := fmt.Errorf("timedworker: %s panicked: %v", who, value)
	s.seePanic(err)
	if s.config.OnPanic != nil {
		s.tellPanic(key, value)
	}
	return err
}

func (s *Set[K, V]) tellPanic(key, value any) {
	defer func() {
		if value := recover(); value != nil {
			s.seePanic(fmt.Errorf("timedworker: OnPanic panicked: %v", value))
		}
	}()
	s.config.OnPanic(key, value, debug.Stack())
}
