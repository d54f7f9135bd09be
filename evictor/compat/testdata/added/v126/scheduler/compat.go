package scheduler

import compat "github.com/evictkit/evictkit/evictor/compat/v126/scheduler"

const (
	NodeHealthUpdateRetry    = compat.NodeHealthUpdateRetry
	NodeEvictionPeriod       = compat.NodeEvictionPeriod
	EvictionRateLimiterBurst = compat.EvictionRateLimiterBurst
)

type (
	ActionFunc            = compat.ActionFunc
	RateLimitedTimedQueue = compat.RateLimitedTimedQueue
	TimedValue            = compat.TimedValue
	TimedWorker           = compat.TimedWorker
	TimedWorkerQueue      = compat.TimedWorkerQueue
	WorkArgs              = compat.WorkArgs
)

var (
	CreateWorkerQueue        = compat.CreateWorkerQueue
	NewRateLimitedTimedQueue = compat.NewRateLimitedTimedQueue
	NewWorkArgs              = compat.NewWorkArgs
)
