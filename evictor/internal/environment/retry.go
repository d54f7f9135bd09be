package environment

import (
	"time"

	"github.com/evictkit/evictkit/timedworker"
)

// Answered is told of the result of each call, with nothing locked. After an outage it has every Part try again what failed.
func (e *Environment) Answered(err error) {
	if Failing(err) || !e.Outage.answered() {
		return
	}
	for _, part := range e.Parts {
		part.Retry()
	}
}

// TryAgain has failed work, of which who is a name, wait for its backoff or, to find out whether an API server is back, for a few seconds at most.
func (e *Environment) TryAgain(who any, err error, attempts int, backoff timedworker.Backoff) timedworker.Result {
	if !Failing(err) {
		return timedworker.Retry(nil)
	}
	after := e.Outage.failed(who, e.Now(), backoff.Delay(attempts+1, nil))
	if backoff.Jitter != nil {
		after = backoff.Jitter(after)
	}
	return timedworker.RetryAfter(after)
}

// RetryNow makes everything due that has failed.
func RetryNow[K comparable, V any](set *timedworker.Set[K, V], now time.Time) {
	for _, item := range set.Snapshot().Items {
		if item.Attempts > 0 {
			set.ScheduleEntry(timedworker.Entry[K, V]{Key: item.Key, Identity: item.Identity, Value: item.Value, Due: now})
		}
	}
}
