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

// A pod that was replaced is another key. Work for the old one never runs for the new one.
func ExampleSet_ScheduleEntry() {
	type pod struct{ Name, UID string }
	clk := testingclock.NewFakeClock(time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC))
	set, _ := timedworker.New(func(_ context.Context, w timedworker.Work[pod, string]) timedworker.Result {
		fmt.Println("ran for", w.Key.UID, w.Value)
		return timedworker.Forget()
	}, timedworker.Config{Clock: clk})
	entry := func(uid, value string) timedworker.Entry[pod, string] {
		return timedworker.Entry[pod, string]{Key: pod{"db-0", uid}, Value: value, Due: clk.Now(), OnDuplicate: timedworker.KeepFirst}
	}
	set.ScheduleEntry(entry("uid-1", "first"))
	fmt.Println(set.ScheduleEntry(entry("uid-2", "first")))
	fmt.Println(set.ScheduleEntry(entry("uid-2", "second"))) // KeepFirst ignores it
	fmt.Println(set.Cancel(pod{"db-0", "uid-1"}))            // the old one was deleted
	set.Step(context.Background())
	// Output:
	// Unknown
	// Waiting
	// Waiting
	// ran for uid-2 first
}
