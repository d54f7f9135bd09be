package scheduler

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/flowcontrol"
)

// TestEvictkitMeasuresAResumedQueue stops a queue of ten nodes, as the loss of all zones does, and starts it again.
func TestEvictkitMeasuresAResumedQueue(t *testing.T) {
	for _, rate := range []float32{0.5, 1} {
		synctest.Test(t, func(t *testing.T) {
			queue := NewRateLimitedTimedQueue(flowcontrol.NewTokenBucketRateLimiter(rate, EvictionRateLimiterBurst))
			for i := range 10 {
				queue.Add(strconv.Itoa(i), "")
			}
			queue.SwapLimiter(0)
			queue.SwapLimiter(rate)
			tainted := 0
			for range 20 * time.Second / NodeEvictionPeriod {
				time.Sleep(NodeEvictionPeriod)
				queue.Try(func(TimedValue) (bool, time.Duration) {
					tainted++
					return true, 0
				})
			}
			t.Logf("MEASURED %v/s: %d", rate, tainted)
		})
	}
}
