// Package ratelimitqueue holds unique items in the order in which they are due, and hands them out no faster than a
// rate, which can change at any moment.
//
//	queue, err := ratelimitqueue.New[string, Cluster](ratelimitqueue.Config{Rate: 0.5}) // one in two seconds
//	queue.Add(cluster.Name, cluster) // at every event; a key is in the queue once
//	queue.SetRate(0)                 // holds everything, forgets nothing
//
//	for item, ok := queue.Take(); ok; item, ok = queue.Take() {
//		if err := failover(ctx, item.Value); err != nil { // nothing is locked here
//			item.Retry(err) // again, after a backoff
//			continue
//		}
//		item.Done() // known until Remove: it is not handed out twice
//	}
//	return reconcile.Result{RequeueAfter: queue.Wait()}, nil // or Run(ctx, fn), a ready-made loop
//
// A Group has a queue with its own rate for each domain (a zone, a tenant, a cluster), and limits over all of them. A
// Limiter is a rate for a queue that you already have.
//
// # Model
//
//	          Add               Take                   Done
//	Unknown ------> Waiting ------------> InFlight ----------> Finished
//	   ^               ^                   |    |                  |
//	   |               +-------------------+    |                  |
//	   |       Retry, RetryAfter, Blocked       | Forget           | Remove
//	   +----------------------------------------+------------------+
//
// Add, Remove and their like return the State in which they found the key. Remove works in any state, at any rate,
// paused or not. The caller of Take holds the item until it ends it. If its key is removed meanwhile, it makes no
// difference how the holder ends it, but nobody else gets the key before it does. An entry added while its key is in
// flight waits for the holder: see Duplicate.
//
// Take hands out only items that are due, and only handing out spends a token. A queue saves up at most Burst tokens.
// SetRate keeps whole tokens but no fractions; after a stop the bucket is empty. Next is the exact instant at which
// Take succeeds. A pause differs from rate 0: it has reasons, and the bucket keeps its tokens.
//
// Time is elapsed time. Setting the wall clock moves no due time and makes no token, if the clock's readings have a
// monotonic part; without one, a step back counts as no time. A queue stores nothing: after a restart, add again what
// the objects say.
//
// # What goes wrong
//
// An item that nobody ends keeps its key in flight for ever: outside of Run, end it in a defer. A panic in the function
// given to Run is a failed try. A panic in a function of Config counts in Stats and goes to OnPanic. Your functions run
// without any lock held, except GroupConfig.Compare. A key that cannot be hashed, or does not equal itself (NaN),
// panics in its caller and changes nothing.
//
// # Coming from nodelifecycle/scheduler
//
// For users of RateLimitedTimedQueue in k8s.io/kubernetes/pkg/controller/nodelifecycle/scheduler; compared with
// v1.37.2.
//
//	RateLimitedTimedQueue              here
//	NewRateLimitedTimedQueue(limiter)  New. Upstream also spends a token when nothing is due
//	TimedValue                         Item: Key, Identity, Added, Due
//	Add(value, uid)                    AddEntry with Identity. Another UID takes the key over; upstream ignores it
//	Try(fn)                            Take, in a loop; upstream holds a lock while fn runs
//	fn returns true                    Done
//	fn returns false, wait             RetryAfter(wait)
//	Remove(value)                      Remove
//	Remove, then Add, during fn        a turn of its own afterwards; upstream forgets it, or tries the old item again
//	Clear()                            Clear
//	SwapLimiter(qps)                   SetRate, which keeps the burst, and starts again after 0
package ratelimitqueue
