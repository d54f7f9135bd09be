package timedworker_test

import (
	"context"
	"fmt"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/timedworker"
)

type podKey struct{ Namespace, Name string }

// One piece of work per key, when it is due.
func Example() {
	clk := testingclock.NewFakeClock(time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC))
	evictions, err := timedworker.New(func(ctx context.Context, w timedworker.Work[podKey, string]) timedworker.Result {
		fmt.Println(clk.Now().Format(time.TimeOnly), "evict", w.Key.Name, "because of", w.Value)
		return timedworker.Forget()
	}, timedworker.Config{Workers: 8, Clock: clk})
	if err != nil {
		fmt.Println(err)
		return
	}
	evictions.Schedule(podKey{"shop", "cart-7"}, "unreachable", clk.Now().Add(5*time.Minute))
	evictions.Schedule(podKey{"shop", "cart-8"}, "unreachable", clk.Now().Add(5*time.Minute))
	fmt.Println("cart-7 was", evictions.Schedule(podKey{"shop", "cart-7"}, "maintenance", clk.Now().Add(time.Minute))) // it is moved
	fmt.Println("cart-8 was", evictions.Cancel(podKey{"shop", "cart-8"}))                                              // it never runs
	fmt.Println("cart-9 was", evictions.Cancel(podKey{"shop", "cart-9"}))

	clk.Step(time.Minute)
	evictions.Step(context.Background()) // or Run(ctx), which waits by itself
	// Output:
	// cart-7 was Waiting
	// cart-8 was Waiting
	// cart-9 was Unknown
	// 12:01:00 evict cart-7 because of maintenance
}

// Work for a pod that was replaced never runs for its successor.
func ExampleSet_ScheduleEntry() {
	clk := testingclock.NewFakeClock(time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC))
	set, _ := timedworker.New(func(_ context.Context, w timedworker.Work[string, int]) timedworker.Result {
		fmt.Println("ran for", w.Identity)
		return timedworker.Forget()
	}, timedworker.Config{Clock: clk})
	set.ScheduleEntry(timedworker.Entry[string, int]{Key: "db-0", Identity: "uid-1", Due: clk.Now()})
	fmt.Println(set.ScheduleEntry(timedworker.Entry[string, int]{Key: "db-0", Identity: "uid-2", Due: clk.Now()})) // takes the key over
	fmt.Println(set.CancelIdentity("db-0", "uid-1"))                                                               // a late event of the old one
	set.Step(context.Background())
	fmt.Println(set.Len())
	// Output:
	// OtherIdentity
	// OtherIdentity
	// ran for uid-2
	// 0
}
