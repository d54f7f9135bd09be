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
		fmt.Println(c.Name, "was", queue.Add(c.Name, c))
	}
	for item, ok := queue.Take(); ok; item, ok = queue.Take() {
		fmt.Println("fail over", item.Key, item.Value.Region) // nothing is locked here
		item.Done()                                           // known until Remove: it is not handed out twice
	}
	fmt.Println("come back in", queue.Wait())
	fmt.Println("blue was", queue.Add("blue", cluster{}))
	// Output:
	// blue was Unknown
	// green was Unknown
	// blue was Waiting
	// fail over blue r2
	// come back in 2s
	// blue was Finished
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

// One queue and one rate for each zone. A node whose zone label changes moves to the other queue, and keeps its place.
func ExampleGroup() {
	clk := testingclock.NewFakePassiveClock(time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC))
	group, err := ratelimitqueue.NewGroup[string, string, string](ratelimitqueue.GroupConfig[string, string]{
		Config: ratelimitqueue.Config{Rate: 0.1, Clock: clk}, // of a zone, until SetRate
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	group.SetRate("zone-a", 0.1)
	group.Add("zone-a", "node-1", "uid-1")
	group.Add("zone-b", "node-2", "uid-2")
	fmt.Println(group.Move("node-2", "zone-a"))
	for range 2 {
		for zone, item, ok := group.Take(); ok; zone, item, ok = group.Take() {
			fmt.Println(clk.Now().Format(time.TimeOnly), "taint", item.Key, "of", zone)
			item.Done()
		}
		clk.SetTime(clk.Now().Add(group.Wait()))
	}
	// Output:
	// true
	// 12:00:00 taint node-1 of zone-a
	// 12:00:10 taint node-2 of zone-a
}
