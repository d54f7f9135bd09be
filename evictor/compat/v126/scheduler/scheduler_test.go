package scheduler

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/util/flowcontrol"
)

// A fork of v1.26 changes the import.
func ExampleRateLimitedTimedQueue() {
	q := NewRateLimitedTimedQueue(flowcontrol.NewFakeAlwaysRateLimiter())
	q.Add("node-1", "uid-1")
	q.Try(func(v TimedValue) (bool, time.Duration) {
		fmt.Println("tainting", v.Value)
		return true, 0
	})
	fmt.Println(q.Add("node-1", "uid-1"), q.Remove("node-1"))
	// Output:
	// tainting node-1
	// false true
}

// A fork of v1.26 changes the import.
func ExampleTimedWorkerQueue() {
	evicted := make(chan string)
	q := CreateWorkerQueue(func(_ context.Context, args *WorkArgs) error {
		evicted <- args.NamespacedName.String()
		return nil
	})
	now := time.Now()
	q.AddWork(context.Background(), NewWorkArgs("pod-1", "default"), now, now)
	q.AddWork(context.Background(), NewWorkArgs("pod-2", "default"), now, now.Add(time.Hour))
	fmt.Println(<-evicted)
	fmt.Println(q.GetWorkerUnsafe("default/pod-2").WorkItem.KeyFromWorkArgs(), q.CancelWork("default/pod-2"))
	q.CancelAndWait()
	// Output:
	// default/pod-1
	// default/pod-2 true
}
