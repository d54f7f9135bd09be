package scheduler

import (
	"sync"
	"time"

	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"

	"github.com/evictkit/evictkit/ratelimitqueue"
)

// The constants of upstream's package.
const (
	// NodeHealthUpdateRetry is how often a write of a node's health is tried.
	NodeHealthUpdateRetry = 5
	// NodeEvictionPeriod is how often Try is called.
	NodeEvictionPeriod = 100 * time.Millisecond
	// EvictionRateLimiterBurst is the burst of the limiters that SwapLimiter makes.
	EvictionRateLimiterBurst = 1
)

var now = time.Now // tests set it

// RateLimitedTimedQueue holds values, each once, and has them processed in the order of their times, as fast as a limiter
// allows. All methods are safe for concurrent use, also from the function of Try.
type RateLimitedTimedQueue struct {
	queue *ratelimitqueue.Queue[string, TimedValue]
	tries sync.Mutex // held by Try

	mu      sync.Mutex // guards what follows
	limiter flowcontrol.RateLimiter
	stopped bool // by SwapLimiter
}

// NewRateLimitedTimedQueue returns an empty queue.
func NewRateLimitedTimedQueue(limiter flowcontrol.RateLimiter) *RateLimitedTimedQueue {
	queue, err := ratelimitqueue.New[string, TimedValue](ratelimitqueue.Config{Rate: ratelimitqueue.Unlimited})
	if err != nil {
		panic(err) //nolint:forbidigo // the configuration is ours, and has no faults
	}
	return &RateLimitedTimedQueue{queue: queue, limiter: limiter}
}

// ActionFunc processes a value. False has it processed again, not before that long has passed.
type ActionFunc func(TimedValue) (bool, time.Duration)

// Try has fn process what is due, until the limiter forbids it. What was processed is not added again before Remove. A token is
// also spent on finding that nothing is due.
func (q *RateLimitedTimedQueue) Try(logger klog.Logger, fn ActionFunc) {
	q.tries.Lock()
	defer q.tries.Unlock()
	for q.queue.Len() > 0 {
		if !q.accepts() {
			logger.V(10).Info("Rate limited")
			return
		}
		at := now()
		item, ok := q.queue.TakeAt(at)
		if !ok {
			return
		}
		value := item.Value
		value.ProcessAt = item.Due
		try(item.At(at), value, fn)
	}
}

func try(item ratelimitqueue.Item[string, TimedValue], value TimedValue, fn ActionFunc) {
	defer item.Blocked(0) // if fn panics; else it has ended
	if done, wait := fn(value); done {
		item.Keep()
	} else {
		item.RetryAfter(wait + 1)
	}
}

func (q *RateLimitedTimedQueue) accepts() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.limiter.TryAccept()
}

// Add adds a value that is not known, to be processed now, and says whether it was not.
func (q *RateLimitedTimedQueue) Add(value string, uid any) bool {
	at := now()
	return q.queue.AddEntryAt(ratelimitqueue.Entry[string, TimedValue]{
		Key: value, Value: TimedValue{Value: value, UID: uid, AddedAt: at, ProcessAt: at}, Due: at, WhileInFlight: ratelimitqueue.Ignore,
	}, at) == ratelimitqueue.Added
}

// Remove forgets a value, and says whether it was known.
func (q *RateLimitedTimedQueue) Remove(value string) bool {
	return q.queue.Remove(value) != ratelimitqueue.NotFound
}

// Clear forgets all values.
func (q *RateLimitedTimedQueue) Clear() { q.queue.Clear() }

// SwapLimiter changes the rate. 0 stops; a limiter that has no token now makes one that has none.
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
