package scheduler

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"

	"github.com/evictkit/evictkit/ratelimitqueue"
)

// The constants of upstream's package.
const (
	// NodeHealthUpdateRetry is how often upstream tries to write a node's health.
	NodeHealthUpdateRetry = 5
	// NodeEvictionPeriod is the time between two calls of Try.
	NodeEvictionPeriod = 100 * time.Millisecond
	// EvictionRateLimiterBurst is the burst of the limiters that SwapLimiter makes.
	EvictionRateLimiterBurst = 1
)

var now = time.Now // tests set it

// reading is a clock that shows the last reading of now: what happens in one call happens at one instant, as upstream.
type reading struct{ last atomic.Pointer[time.Time] }

func (r *reading) read() time.Time {
	at := now()
	r.last.Store(&at)
	return at
}

func (r *reading) Now() time.Time                  { return *r.last.Load() }
func (r *reading) Since(t time.Time) time.Duration { return r.Now().Sub(t) }

// RateLimitedTimedQueue holds values, each once, and processes them in the order of their times, as fast as a limiter
// allows. Its callers [RateLimitedTimedQueue.Add] and [RateLimitedTimedQueue.Remove] values, and
// [RateLimitedTimedQueue.Try] them again and again. All methods are safe for concurrent use; all but Try may be called
// from the function of Try.
type RateLimitedTimedQueue struct {
	queue *ratelimitqueue.Queue[string, TimedValue]
	clock *reading
	tries sync.Mutex // held by Try

	mu      sync.Mutex // guards limiter and stopped
	limiter flowcontrol.RateLimiter
	stopped bool // by SwapLimiter
}

// NewRateLimitedTimedQueue returns an empty queue.
func NewRateLimitedTimedQueue(limiter flowcontrol.RateLimiter) *RateLimitedTimedQueue {
	if limiter == nil {
		panic("scheduler: NewRateLimitedTimedQueue needs a limiter, such as flowcontrol.NewTokenBucketRateLimiter returns, not nil") //nolint:forbidigo // upstream has no error to return
	}
	clock, first := new(reading), time.Now() // it is not read through now, because upstream's tests count that
	clock.last.Store(&first)
	queue, _ := ratelimitqueue.New[string, TimedValue](ratelimitqueue.Config{Rate: rate.Inf, Clock: clock}) // this configuration is valid
	return &RateLimitedTimedQueue{queue: queue, clock: clock, limiter: limiter}
}

// ActionFunc processes a value. If it returns false, the value is processed again, after at least that duration.
type ActionFunc func(TimedValue) (bool, time.Duration)

// Try calls fn for the values that are due, until none is or the limiter has no token. A value for which fn returned
// true cannot be added again before Remove. A Try that finds nothing due also costs a token.
func (q *RateLimitedTimedQueue) Try(logger klog.Logger, fn ActionFunc) {
	if fn == nil {
		panic("scheduler: Try needs a function that processes a value, not nil") //nolint:forbidigo // upstream has no error to return
	}
	q.tries.Lock()
	defer q.tries.Unlock()
	for q.queue.Len() > 0 {
		q.mu.Lock()
		accepts := q.limiter.TryAccept()
		q.mu.Unlock()
		if !accepts {
			logger.V(10).Info("Rate limited")
			return
		}
		began := q.clock.read()
		item, ok := q.queue.Take()
		if !ok {
			return
		}
		q.try(item, began, fn)
	}
}

func (q *RateLimitedTimedQueue) try(item ratelimitqueue.Item[string, TimedValue], began time.Time, fn ActionFunc) {
	defer item.Blocked(0) // takes effect only if fn panics
	value := item.Value
	value.ProcessAt = item.Due
	if done, wait := fn(value); done {
		item.Done()
	} else {
		item.RetryAfter(wait + 1 - q.clock.Since(began)) // Add may have read the clock meanwhile
	}
}

// Add adds a value, to be processed now. It returns false, and changes nothing, if the value is known.
func (q *RateLimitedTimedQueue) Add(value string, uid any) bool {
	at := q.clock.read()
	return q.queue.AddEntry(ratelimitqueue.Entry[string, TimedValue]{
		Key: value, Value: TimedValue{Value: value, UID: uid, AddedAt: at, ProcessAt: at}, Due: at, OnDuplicate: ratelimitqueue.KeepFirst,
	}) == ratelimitqueue.Unknown
}

// Remove forgets a value. It returns false if the value was not known.
func (q *RateLimitedTimedQueue) Remove(value string) bool {
	return q.queue.Remove(value) != ratelimitqueue.Unknown
}

// Clear forgets all values.
func (q *RateLimitedTimedQueue) Clear() { q.queue.Clear() }

// SwapLimiter changes the rate; 0 or less stops the queue. If the old limiter has no token, the new one starts with none.
func (q *RateLimitedTimedQueue) SwapLimiter(newQPS float32) {
	q.mu.Lock()
	defer q.mu.Unlock()
	was := q.limiter
	if q.stopped && newQPS <= 0 || !q.stopped && was.QPS() == newQPS {
		return
	}
	defer was.Stop()
	if q.stopped = newQPS <= 0; q.stopped {
		q.limiter = flowcontrol.NewFakeNeverRateLimiter()
		return
	}
	q.limiter = flowcontrol.NewTokenBucketRateLimiter(newQPS, EvictionRateLimiterBurst)
	if !was.TryAccept() {
		q.limiter.TryAccept()
	}
}

// TimedValue is a value to be processed at ProcessAt.
type TimedValue struct {
	Value string
	// UID may be anything that helps to identify the value.
	UID       any
	AddedAt   time.Time
	ProcessAt time.Time
}
