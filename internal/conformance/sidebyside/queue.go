package main

import (
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/kubernetes/pkg/controller/nodelifecycle/scheduler"

	"github.com/evictkit/evictkit/ratelimitqueue"
)

func queueRows(s setting, n int) []row {
	names := nodeNames(n)
	ours, err := ratelimitqueue.New[string, string](ratelimitqueue.Config{Rate: 0.1})
	if err != nil {
		s.Fatal(err)
	}
	upstream := scheduler.NewRateLimitedTimedQueue(flowcontrol.NewTokenBucketRateLimiter(0.1, scheduler.EvictionRateLimiterBurst))
	for _, name := range names {
		ours.Add(name, someUID)
		upstream.Add(name, someUID)
	}
	order := anyOrder(n)
	return []row{{
		work: "queue: Remove and Add", n: n,
		ours: operation(s.runs, func(i int) {
			name := names[order[i%len(order)]]
			ours.Remove(name)
			ours.Add(name, someUID)
		}),
		upstream: operation(s.runs, func(i int) {
			name := names[order[i%len(order)]]
			upstream.Remove(name)
			upstream.Add(name, someUID)
		}),
	}}
}
