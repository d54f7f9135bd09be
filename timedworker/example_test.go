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
	cart7, cart8 := podKey{"shop", "cart-7"}, podKey{"shop", "cart-8"}
	clk := testingclock.NewFakeClock(time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC))
	evict := func(_ context.Context, pod podKey, why string) error {
		fmt.Println(clk.Now().Format(time.TimeOnly), "evict", pod.Name, "because of", why)
		return nil
	}

	type work = timedworker.Work[podKey, string]
	evictions, err := timedworker.New(func(ctx context.Context, w work) timedworker.Result {
		if err := evict(ctx, w.Key, w.Value); err != nil { // nothing is locked here
			return timedworker.Retry(err) // again, after a backoff
		}
		return timedworker.Forget()
	}, timedworker.Config{Workers: 8, Clock: clk})

	evictions.Schedule(cart7, "unreachable", clk.Now().Add(5*time.Minute))
	evictions.Schedule(cart7, "maintenance", clk.Now().Add(time.Minute)) // it waits, so it is moved
	switch evictions.Cancel(cart8) {
	case timedworker.Waiting: // now it never runs
	case timedworker.InFlight: // it has started; it will not be tried again
	case timedworker.Unknown:
	}
	if err != nil {
		return
	}
	clk.Step(time.Minute)
	evictions.Step(context.Background()) // or Run(ctx), which waits by itself
	// Output:
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
