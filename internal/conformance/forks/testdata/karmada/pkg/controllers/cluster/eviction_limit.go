package cluster

import (
	"golang.org/x/time/rate"
	"k8s.io/klog/v2"

	"github.com/evictkit/evictkit/evictor/compat/limiter"
	"github.com/evictkit/evictkit/ratelimitqueue"
)

// newEvictionLimit returns the rate that all workers of a queue share. It is 0 if the options have no valid one.
func newEvictionLimit(opts EvictionQueueOptions) *limiter.Limiter {
	limit, err := limiter.New(ratelimitqueue.Config{Rate: rate.Limit(opts.ResourceEvictionRate)})
	if err != nil {
		klog.ErrorS(err, "Evictions are stopped")
		limit, _ = limiter.New(ratelimitqueue.Config{})
	}
	return limit
}
