package scheduler

import compat "github.com/evictkit/evictkit/evictor/compat/scheduler"

const (
	NodeHealthUpdateRetry    = compat.NodeHealthUpdateRetry
	NodeEvictionPeriod       = compat.NodeEvictionPeriod
	EvictionRateLimiterBurst = compat.EvictionRateLimiterBurst
)

type (
	ActionFunc            = compat.ActionFunc
	RateLimitedTimedQueue = compat.RateLimitedTimedQueue
	TimedValue            = compat.TimedValue
)

var NewRateLimitedTimedQueue = compat.NewRateLimitedTimedQueue
