// Does the queue with upstream's names hand out what was added?
package main

import (
	"fmt"
	"time"

	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"

	"github.com/evictkit/evictkit/evictor/compat/scheduler"
)

func main() {
	queue := scheduler.NewRateLimitedTimedQueue(flowcontrol.NewFakeAlwaysRateLimiter())
	queue.Add("a-0", "uid")
	queue.Try(klog.Background(), func(value scheduler.TimedValue) (bool, time.Duration) {
		fmt.Println(value.Value)
		return true, 0
	})
}
