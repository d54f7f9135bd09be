// Command queues uses upstream's queues, as a controller for its own objects does.
package main

import (
	"fmt"
	"time"

	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"

	"example.org/fork/scheduler"
)

func main() {
	fmt.Println(scheduler.NodeHealthUpdateRetry, scheduler.NodeEvictionPeriod)
	limiter := flowcontrol.NewTokenBucketRateLimiter(1000, 10*scheduler.EvictionRateLimiterBurst)
	zones := map[string]*scheduler.RateLimitedTimedQueue{"zone-a": scheduler.NewRateLimitedTimedQueue(limiter)}
	pass := func() {
		for zone, queue := range zones {
			queue.Try(klog.Background(), func(value scheduler.TimedValue) (bool, time.Duration) {
				uid, _ := value.UID.(string)
				fmt.Println("taint", value.Value, uid, "of", zone)
				return value.Value != "busy", time.Hour
			})
		}
	}
	queue := zones["zone-a"]
	for _, name := range []string{"first", "busy", "last"} {
		fmt.Println(queue.Add(name, "uid-of-"+name), queue.Add(name, "again"))
		time.Sleep(time.Millisecond) // among equal times upstream's order is random
	}
	pass()
	fmt.Println(queue.Add("first", "known until it is removed"), queue.Remove("first"), queue.Remove("first"))
	queue.SwapLimiter(0)
	queue.Add("first", "waits")
	pass()
	queue.SwapLimiter(1000)
	time.Sleep(10 * time.Millisecond)
	pass()
	queue.Clear()
	pass()
}
