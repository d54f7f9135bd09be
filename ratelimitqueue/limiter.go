package ratelimitqueue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/steady"
)

// Limiter is one rate for the workers of a queue that you already have, such as Karmada's. A worker calls [Limiter.Wait]
// right before each item. Unlike Wait of rate.Limiter, it notices at once when [Limiter.SetRate] changes the rate:
//
//	for item, ended := queue.Get(); !ended; item, ended = queue.Get() {
//		if err := limiter.Wait(ctx); err != nil {
//			return err
//		}
//		work(item)
//		queue.Done(item)
//	}
//
// However many workers wait, no more items go than the rate allows. A Limiter is no workqueue.TypedRateLimiter: a
// workqueue asks that once, when it puts an item off, and learns of no later change. All methods are safe for concurrent
// use. A Limiter must be made by NewLimiter.
type Limiter struct {
	turn    chan struct{} // holds one while somebody waits for the token; the others queue for their turn, first come first served
	changed chan struct{} // size 1: tells the one whose turn it is that the rate has changed
	timers  clock.Clock
	steady  steady.Guard // guards the bucket
	bucket  bucket
}

// NewLimiter returns a Limiter with a full bucket, or an error with all faults of the configuration. At rate 0 the bucket
// is empty. Config.Clock must be a clock.Clock, with timers. NewLimiter starts no goroutine.
func NewLimiter(config Config) (*Limiter, error) {
	if err := joined(config.faults()); err != nil {
		return nil, err
	}
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	timers, ok := config.Clock.(clock.Clock)
	if !ok {
		return nil, fmt.Errorf("ratelimitqueue: a Limiter needs timers: Config.Clock must be a clock.Clock, which %T is not", config.Clock)
	}
	l := &Limiter{
		turn: make(chan struct{}, 1), changed: make(chan struct{}, 1),
		timers: timers, bucket: newBucket(config.Rate, config.Burst, 0),
	}
	l.steady.Clock = timers
	l.steady.Time.Read(timers.Now())
	return l, nil
}

// Wait returns nil when the caller may go, which spends a token, or the context's error once that has ended. At rate 0 it
// waits for SetRate. Callers go in the order in which they came. A nil context is an error.
func (l *Limiter) Wait(ctx context.Context) error {
	if ctx == nil {
		return errors.New("ratelimitqueue: Wait needs a context, not nil")
	}
	l.steady.Now() // panics for a zero Limiter
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case l.turn <- struct{}{}:
	}
	defer func() { <-l.turn }()
	for {
		wait, ok := l.take()
		if ok {
			return nil
		}
		if err := l.rest(ctx, wait); err != nil {
			return err
		}
	}
}

// take spends a token. If there is none, it returns how long until there is one, or a negative wait if there never is.
func (l *Limiter) take() (wait time.Duration, ok bool) {
	now := l.steady.Read()
	defer l.steady.Unlock()
	at, ok := l.bucket.next(now)
	switch {
	case !ok:
		return -1, false
	case at > now:
		return time.Duration(steady.Sub(at, now)), false
	}
	l.bucket.take(now)
	return 0, true
}

// rest waits that long, for ever if it is negative, but no longer than until the rate changes or the context ends. It
// returns the context's error.
func (l *Limiter) rest(ctx context.Context, wait time.Duration) error {
	var fires <-chan time.Time
	if wait >= 0 {
		timer := l.timers.NewTimer(wait)
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

// SetRate changes the rate, like Queue.SetRate. Who waits goes by the new rate at once.
func (l *Limiter) SetRate(rate float64) error {
	if err := checkRate(rate); err != nil {
		return err
	}
	now := l.steady.Read()
	defer l.steady.Unlock()
	l.bucket.setRate(rate, now)
	select {
	case l.changed <- struct{}{}:
	default:
	}
	return nil
}
