package ratelimitqueue

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Queue holds unique items in the order in which they are due, and hands them out no faster than its rate. Most
// callers want [Queue.Add] first, then [Queue.Take] in a loop and [Queue.Wait] for when to call it again, or
// [Queue.Run] for both; [Queue.SetRate] changes the rate at any moment.
//
// All methods are safe for concurrent use, also by holders. Memory is bounded by the keys that wait, are in flight or
// are finished. A Queue must be made by New and not be copied.
type Queue[K comparable, V any] struct{ core[K, V] }

// New returns an empty queue with a full bucket, or an error with all faults of the configuration. It starts no
// goroutine.
func New[K comparable, V any](config Config) (*Queue[K, V], error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("ratelimitqueue: %w", err)
	}
	q := new(Queue[K, V])
	q.start(config)
	q.only = q.newLine(nil, q.rate, 0)
	q.lines = func(yield func(*line[K, V]) bool) { yield(q.only) }
	return q, nil
}

// Add adds the key, due now, as AddEntry does with the other fields zero. A key that waits, for a retry too, takes the
// new value and keeps its due time.
func (q *Queue[K, V]) Add(key K, value V) State {
	return q.AddEntry(Entry[K, V]{Key: key, Value: value})
}

// AddEntry adds an item, which waits until it is due and a token is available, and returns the state that the key was in:
//
//   - Unknown: the item is added.
//   - Waiting or InFlight: the entry's OnDuplicate decides.
//   - Finished: nothing changes. Remove the key first if you want it handed out again.
//   - OtherIdentity: the item takes the key over. If the key is in flight, the new item waits until the earlier holder
//     has ended, without effect.
func (q *Queue[K, V]) AddEntry(e Entry[K, V]) State {
	now := q.table.Read()
	defer q.table.Unlock()
	return q.add(&e, q.only, now)
}

// Take hands out the item that is due first and spends one token. It returns false if no item is due, there is no token,
// or the queue is paused; then no token is spent. Equal due times are served in the order of adding. The caller becomes
// the item's holder and must end it.
func (q *Queue[K, V]) Take() (it Item[K, V], ok bool) {
	now := q.table.Read()
	defer q.table.Unlock()
	ok = q.take(&it, now)
	return it, ok
}

// SetRate changes the rate, in items a second; 0 stops, and Unlimited is allowed. Setting the current
// rate changes nothing. The bucket keeps whole tokens and loses fractions. An unlimited bucket counts as full, a stopped
// one as empty: after a stop, the first item is handed out 1/rate later. An invalid rate is an error and changes nothing.
func (q *Queue[K, V]) SetRate(rate float64) error {
	if err := checkRate(rate); err != nil {
		return err
	}
	now := q.table.Read()
	defer q.table.Unlock()
	q.only.bucket.setRate(rate, now)
	q.kick()
	return nil
}

func checkRate(rate float64) error {
	if errs := validRate(rate, field.NewPath("rate")); len(errs) > 0 {
		return fmt.Errorf("ratelimitqueue: %w", errs.ToAggregate())
	}
	return nil
}

// Rate returns the current rate: 0 if the queue is stopped, Unlimited if it is unlimited.
func (q *Queue[K, V]) Rate() float64 {
	q.table.Lock()
	defer q.table.Unlock()
	q.made()
	return q.only.bucket.rate
}

// Get returns the status of the key, or false if it is not known.
func (q *Queue[K, V]) Get(key K) (Status[V], bool) {
	q.table.Lock()
	defer q.table.Unlock()
	r := q.table.Get(key)
	if r == nil {
		return Status[V]{}, false
	}
	return q.status(r), true
}

// Run takes items and calls fn for one after the other, until the context ends; then it returns the context's error. If
// fn returns without ending the item, the item is Done, which keeps its key until Remove. A panic in fn is a failed try:
// the item is retried with its backoff, and Run goes on. If fn calls runtime.Goexit, the item is retried too, and this Run
// ends. Run returns an error at once if ctx or fn is nil, or the clock has no timers (clock.Clock). Several Runs, and Take beside them, share
// the rate.
func (q *Queue[K, V]) Run(ctx context.Context, fn func(context.Context, Item[K, V])) error {
	return q.run(ctx, fn != nil, func() (Item[K, V], func(), bool) {
		it, ok := q.Take()
		return it, func() { fn(ctx, it) }, ok
	})
}
