package ratelimitqueue

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Queue holds unique items in the order in which they are due, and hands them out no faster than its
// rate. All methods are safe for concurrent use, also while an item is worked on. Its memory is bounded
// by the keys that are there: that wait, are in flight, or are kept. It must not be copied.
type Queue[K comparable, V any] struct{ core[K, V] }

// New returns an empty queue with a full bucket, or all faults of the configuration. It starts nothing.
func New[K comparable, V any](config Config) (*Queue[K, V], error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("ratelimitqueue: %w", err)
	}
	q := new(Queue[K, V])
	q.start(config)
	q.lines = []*line{q.newLine(q.config.Rate, 0)}
	return q, nil
}

// Add lets the key wait, due now. See AddEntry.
func (q *Queue[K, V]) Add(key K, value V) AddResult {
	return q.AddEntry(Entry[K, V]{Key: key, Value: value})
}

// AddEntry lets an item wait until it is due and a token is there. It changes nothing that is known by
// the same identity but as the entry's policies and AddResult say. Another identity takes the place of
// the old one; while the old one's holder has not ended the new one waits for it.
func (q *Queue[K, V]) AddEntry(e Entry[K, V]) AddResult { return q.AddEntryAt(e, q.clock.Now()) }

// AddEntryAt is AddEntry at that reading of the clock.
func (q *Queue[K, V]) AddEntryAt(e Entry[K, V], now time.Time) AddResult {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := q.time.Read(now)
	return q.add(&e, false, 0, at, q.permitted(at))
}

// Take hands out the item that is due first, for one token; false when none is due, there is no token,
// the queue is paused or not permitted. Equal due times are served in the order of adding. No token
// is spent unless an item is handed out.
func (q *Queue[K, V]) Take() (Item[K, V], bool) { return q.TakeAt(q.clock.Now()) }

// TakeAt is Take at that reading of the clock.
func (q *Queue[K, V]) TakeAt(now time.Time) (Item[K, V], bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it, _, ok := q.take(q.time.Read(now))
	return it, ok
}

// SetRate changes the rate, in items a second; the same rate is no change. Unlimited and Stopped may be said, and 0
// stops too. A bucket that held whole tokens keeps them, fractions are lost, an unlimited one was full, and a stopped
// one holds none: what waits for a token goes on waiting, and after a stop the first item leaves 1/rate later. An
// invalid rate is an error and changes nothing.
func (q *Queue[K, V]) SetRate(rate float64) error { return q.SetRateAt(rate, q.clock.Now()) }

// SetRateAt is SetRate at that reading of the clock.
func (q *Queue[K, V]) SetRateAt(rate float64, now time.Time) error {
	if err := checkRate(rate); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lines[0].bucket.setRate(max(rate, 0), q.time.Read(now))
	q.kick()
	return nil
}

func checkRate(rate float64) error {
	if errs := validRate(rate, field.NewPath("rate")); len(errs) > 0 {
		return fmt.Errorf("ratelimitqueue: %w", errs.ToAggregate())
	}
	return nil
}

// Rate is the rate in force: 0 when the queue is stopped, Unlimited when it is that.
func (q *Queue[K, V]) Rate() float64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lines[0].bucket.rate
}

// Get returns what is known of the key.
func (q *Queue[K, V]) Get(key K) (Status[V], bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, r, ok := q.find(key)
	if !ok {
		return Status[V]{}, false
	}
	return q.status(r), true
}

// Run hands items to fn one after the other, as they can be taken, until the context ends; then it
// returns the context's error. An item that fn has not ended is Done when fn returns. A panic of fn is a failed try:
// the item is retried with its backoff, and Run goes on. If fn ends its goroutine the item is retried too. Run
// needs a clock with timers. Several Runs, and Take beside them, share the rate.
func (q *Queue[K, V]) Run(ctx context.Context, fn func(context.Context, Item[K, V])) error {
	return q.run(ctx, func() (Item[K, V], func(), bool) {
		it, ok := q.Take()
		return it, func() { fn(ctx, it) }, ok
	})
}
