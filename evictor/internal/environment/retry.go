package environment

import (
	"time"

	"github.com/evictkit/evictkit/timedworker"
)

// RetryNow makes everything due that has failed.
func RetryNow[K comparable, V any](set *timedworker.Set[K, V], now time.Time) {
	for _, is := range set.All() {
		if is.Attempts > 0 {
			set.Schedule(is.Key, is.Value, now)
		}
	}
}
