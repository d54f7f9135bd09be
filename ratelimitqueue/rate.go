package ratelimitqueue

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// SetRate changes the rate, in items a second; the same rate is no change. A bucket that held whole
// tokens keeps them, fractions are lost, and a stopped queue holds none: what waits for a token goes on
// waiting, and after 0 the first item leaves 1/rate later. An invalid rate is an error and changes
// nothing.
func (q *Queue[K, V]) SetRate(rate float64) error {
	if errs := validRate(rate, field.NewPath("rate")); len(errs) > 0 {
		return fmt.Errorf("ratelimitqueue: %w", errs.ToAggregate())
	}
	clockNow := q.clock.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.bucket.setRate(rate, q.time(q.tick(clockNow)))
	q.kick()
	return nil
}

// Rate is the rate in force.
func (q *Queue[K, V]) Rate() float64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bucket.rate
}

// Pause hands out nothing until Resume with the same reason; reasons add up. Unlike at rate 0, tokens
// are kept, but none accrue. Adding and removing go on.
func (q *Queue[K, V]) Pause(reason string) {
	clockNow := q.clock.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	if slices.Contains(q.pauses, reason) {
		return
	}
	if len(q.pauses) == 0 {
		q.bucket.pause(q.time(q.tick(clockNow)))
	}
	q.pauses = append(q.pauses, reason)
}

// Resume ends Pause with that reason and says whether there was one.
func (q *Queue[K, V]) Resume(reason string) bool {
	clockNow := q.clock.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.pauses, reason)
	if i < 0 {
		return false
	}
	q.pauses = slices.Delete(q.pauses, i, i+1)
	if len(q.pauses) == 0 {
		q.bucket.resume(q.time(q.tick(clockNow)))
		q.kick()
	}
	return true
}

// Paused returns the reasons in force, oldest first.
func (q *Queue[K, V]) Paused() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.pauses)
}

// Kick asks a closed fence again at the next Take.
func (q *Queue[K, V]) Kick() {
	q.mu.Lock()
	q.fence = nil
	q.mu.Unlock()
	q.kick()
}

// Next is the exact instant at which Take next succeeds if nothing changes, not before now; false when
// it never does: nothing waits, the rate is 0, or the queue is paused. A closed fence is asked then.
func (q *Queue[K, V]) Next() (time.Time, bool) {
	clockNow := q.clock.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.next(q.tick(clockNow))
}

func (q *Queue[K, V]) next(now int64) (time.Time, bool) {
	_, due, ok := q.due.Min()
	if !ok {
		return time.Time{}, false
	}
	if q.fence != nil && due < q.fenced {
		due = q.fenced
	}
	return q.bucket.next(q.time(now), q.time(due))
}

// Wait is how long it is until Next, for callers that come back later, as reconcilers do with
// RequeueAfter: at least one nanosecond while something will become takeable, also when it is takeable
// now, and 0 when nothing will before something is added or changed. RequeueAfter 0 means "do not come
// back", which is right then: whatever changes the queue causes its own reconcile.
func (q *Queue[K, V]) Wait() time.Duration {
	next, ok := q.Next()
	if !ok {
		return 0
	}
	return max(next.Sub(q.clock.Now()), 1)
}
