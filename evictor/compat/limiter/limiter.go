// Package limiter has one rate for the workers of a queue that you already have, as Karmada's workers do.
//
//	limit, err := limiter.New(ratelimitqueue.Config{Rate: rate.Every(2 * time.Second)}) // one item in two seconds, however many workers
//	for item, ended := queue.Get(); !ended; item, ended = queue.Get() {
//		if err := limit.Wait(ctx); err != nil {
//			return err
//		}
//		work(item)
//		queue.Done(item)
//	}
//
// Whoever starts anew takes a ratelimitqueue.Queue, whose Take needs no waiting worker.
package limiter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/ratelimitqueue"
)

// Limiter lets its callers go no faster than a rate. Unlike a rate.Limiter, it has those who wait already go by a new
// rate at once. It is no workqueue.TypedRateLimiter: a workqueue asks that once, when it puts an item off, and learns of
// no later change. All methods are safe for concurrent use. A Limiter must be made by New.
type Limiter struct {
	turn    chan struct{} // holds one while somebody waits for the token; the others queue for their turn, first come first served
	changed chan struct{} // size 1: tells the one whose turn it is that the rate has changed
	clock   clock.Clock
	tokens  *ratelimitqueue.Queue[struct{}, struct{}] // its one item is always due
}

// New returns a Limiter with a full bucket, or an error with all faults of the configuration. At rate 0 the bucket is
// empty. The clock needs timers: it is a clock.Clock. New starts no goroutine.
func New(config ratelimitqueue.Config) (*Limiter, error) {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	tokens, err := ratelimitqueue.New[struct{}, struct{}](config)
	if err != nil {
		return nil, fmt.Errorf("limiter: %w", err)
	}
	timers, ok := config.Clock.(clock.Clock)
	if !ok {
		return nil, fmt.Errorf("limiter: New needs timers: Config.Clock must be a clock.Clock, which %T is not", config.Clock)
	}
	tokens.Add(struct{}{}, struct{}{})
	return &Limiter{turn: make(chan struct{}, 1), changed: make(chan struct{}, 1), clock: timers, tokens: tokens}, nil
}

var errZero = errors.New("limiter: a zero Limiter was used: make it with New")

// Wait returns nil when the caller may go, which spends a token, or the context's error once that has ended. At rate 0 it
// waits for SetRate. Callers go in the order in which they came. A nil context is an error.
func (l *Limiter) Wait(ctx context.Context) error {
	switch {
	case ctx == nil:
		return errors.New("limiter: Wait needs a context, not nil")
	case l.tokens == nil:
		return errZero
	case ctx.Err() != nil:
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case l.turn <- struct{}{}:
	}
	defer func() { <-l.turn }()
	for {
		if item, ok := l.tokens.Take(); ok {
			item.Blocked(0) // due again, its token spent
			return nil
		}
		if err := l.rest(ctx); err != nil {
			return err
		}
	}
}

// rest waits for the next token, but no longer than until the rate changes or the context ends. It returns the context's
// error.
func (l *Limiter) rest(ctx context.Context) error {
	var fires <-chan time.Time
	if next, ok := l.tokens.Next(); ok {
		timer := l.clock.NewTimer(max(next.Sub(l.clock.Now()), 1))
		defer timer.Stop()
		fires = timer.C()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-l.changed:
	case <-fires:
	}
	return nil
}

// SetRate changes the rate, as ratelimitqueue.Queue.SetRate does. Who waits goes by the new rate at once.
func (l *Limiter) SetRate(limit rate.Limit) error {
	if l.tokens == nil {
		return errZero
	}
	if err := l.tokens.SetRate(limit); err != nil {
		return fmt.Errorf("limiter: %w", err)
	}
	select {
	case l.changed <- struct{}{}:
	default:
	}
	return nil
}
