package main

import (
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/kubernetes/pkg/controller/nodelifecycle/scheduler"

	"github.com/evictkit/evictkit/ratelimitqueue"
)

// plenty is a rate that delays nothing.
const plenty = 1e9

func queueRows(s setting, n int) []row {
	names := nodeNames(n)
	order := anyOrder(n)
	ours := func(limit rate.Limit, burst int) *ratelimitqueue.Queue[string, string] {
		q, err := ratelimitqueue.New[string, string](ratelimitqueue.Config{Rate: limit, Burst: burst})
		if err != nil {
			s.Fatal(err)
		}
		return q
	}
	upstream := func(rate float32, burst int) *scheduler.RateLimitedTimedQueue {
		return scheduler.NewRateLimitedTimedQueue(flowcontrol.NewTokenBucketRateLimiter(rate, burst))
	}
	replaced, handedOut := row{work: "queue: Remove and Add", n: n}, row{work: "queue: added, handed out, removed", n: n}

	replaced.ours, replaced.upstream = pair(s.runs, func() cost {
		q := ours(0.1, scheduler.EvictionRateLimiterBurst)
		for _, name := range names {
			q.Add(name, someUID)
		}
		return s.operations(func(i int) {
			name := names[order[i%len(order)]]
			q.Remove(name)
			q.Add(name, someUID)
		})
	}, func() cost {
		q := upstream(0.1, scheduler.EvictionRateLimiterBurst)
		for _, name := range names {
			q.Add(name, someUID)
		}
		return s.operations(func(i int) {
			name := names[order[i%len(order)]]
			q.Remove(name)
			q.Add(name, someUID)
		})
	})

	handedOut.ours, handedOut.upstream = pair(s.runs, func() cost {
		q := ours(plenty, n)
		return s.operations(func(int) {
			for _, name := range names {
				q.Add(name, someUID)
			}
			for done := 0; done < n; {
				if item, ok := q.Take(); ok {
					item.Done()
					done++
				}
			}
			for _, name := range names {
				q.Remove(name)
			}
		}).per(n)
	}, func() cost {
		q := upstream(plenty, n)
		return s.operations(func(int) {
			for _, name := range names {
				q.Add(name, someUID)
			}
			for done := 0; done < n; {
				q.Try(logr.Discard(), func(scheduler.TimedValue) (bool, time.Duration) {
					done++
					return true, 0
				})
			}
			for _, name := range names {
				q.Remove(name)
			}
		}).per(n)
	})
	return []row{replaced, handedOut}
}
