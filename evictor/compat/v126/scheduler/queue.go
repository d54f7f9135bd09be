package scheduler

import (
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"

	"github.com/evictkit/evictkit/evictor/compat/scheduler"
)

// The constants of upstream's package.
const (
	// NodeHealthUpdateRetry is how often upstream tries to write a node's health.
	NodeHealthUpdateRetry = scheduler.NodeHealthUpdateRetry
	// NodeEvictionPeriod is the time between two calls of Try.
	NodeEvictionPeriod = scheduler.NodeEvictionPeriod
	// EvictionRateLimiterBurst is the burst of the limiters that SwapLimiter makes.
	EvictionRateLimiterBurst = scheduler.EvictionRateLimiterBurst
)

type (
	// TimedValue is a value to be processed at ProcessAt.
	TimedValue = scheduler.TimedValue
	// ActionFunc processes a value. If it returns false, the value is processed again, after at least that duration.
	ActionFunc = scheduler.ActionFunc
)

// RateLimitedTimedQueue is that of evictor/compat/scheduler, but for Try.
type RateLimitedTimedQueue struct {
	*scheduler.RateLimitedTimedQueue
}

// NewRateLimitedTimedQueue returns an empty queue.
func NewRateLimitedTimedQueue(limiter flowcontrol.RateLimiter) *RateLimitedTimedQueue {
	return &RateLimitedTimedQueue{scheduler.NewRateLimitedTimedQueue(limiter)}
}

// Try calls fn for the values that are due, until none is or the limiter has no token. It logs to klog.
func (q *RateLimitedTimedQueue) Try(fn ActionFunc) {
	q.RateLimitedTimedQueue.Try(klog.Background(), fn)
}
