package environment

import (
	"time"

	"github.com/evictkit/evictkit/timedworker"
)

// RetryNow makes everything due that has failed.
func RetryNow[K comparable, V any](set *timedworker.Set[K, V], now time.Time) {
	for _, item := range set.Snapshot().Items {
		if item.Attempts > 0 {
			set.ScheduleEntry(timedworker.Entry[K, V]{Key: item.Key, Identity: item.Identity, Value: item.Value, Due: now})
		}
	}
}
