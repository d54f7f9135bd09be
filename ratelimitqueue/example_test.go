package ratelimitqueue_test

import (
	"fmt"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/ratelimitqueue"
)

type cluster struct{ Name, Region string }

// Pace anything by key.
func Example() {
	clk := testingclock.NewFakePassiveClock(time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC))
	queue, err := ratelimitqueue.New[string, cluster](ratelimitqueue.Config{Rate: 0.5, Burst: 1, Clock: clk})
	if err != nil {
		fmt.Println(err) // all faults of the configuration
		return
	}
	for _, c := range []cluster{{"blue", "r1"}, {"green", "r1"}, {"blue", "r2"}} {
		fmt.Println(c.Name, queue.Add(c.Name, c))
	}
	for item, ok := queue.Take(); ok; item, ok = queue.Take() {
		fmt.Println("fail over", item.Key, item.Value.Region) // nothing is locked here
		item.Keep()                                           // known until Remove: it is not handed out twice
	}
	fmt.Println("come back in", queue.Wait())
	fmt.Println(queue.Add("blue", cluster{}))
	// Output:
	// blue Added
	// green Added
	// blue Known
	// fail over blue r1
	// come back in 2s
	// Kept
}

// Rate 0 holds everything and forgets nothing.
func ExampleQueue_SetRate() {
	clk := testingclock.NewFakePassiveClock(time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC))
	queue, _ := ratelimitqueue.New[string, int](ratelimitqueue.Config{Rate: 1, Clock: clk})
	queue.Add("a", 1)
	queue.SetRate(0)
	_, ok := queue.Take()
	fmt.Println(ok, queue.Len(), queue.Wait())
	queue.SetRate(1)
	fmt.Println(queue.Wait())
	// Output:
	// false 1 0s
	// 1s
}
