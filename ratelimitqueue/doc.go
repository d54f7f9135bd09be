// Package ratelimitqueue holds unique items in the order in which they are due, and hands them out no faster than a
// rate, which can change at any moment.
//
//	queue, err := ratelimitqueue.New[string, Cluster](ratelimitqueue.Config{Rate: 0.5}) // one in two seconds
//	queue.Add(cluster.Name, cluster) // at every event; a key is in the queue once
//	queue.SetRate(0)                 // holds everything, forgets nothing
//
//	for item, ok := queue.Take(); ok; item, ok = queue.Take() {
//		if err := failover(ctx, item.Value); err != nil { // nothing is locked here
//			item.RetryAfter(time.Minute)
//			continue
//		}
//		item.Done() // known until Remove: it is not handed out twice
//	}
//	if next, ok := queue.Next(); ok { // when to look again, unless something changes before
//		return reconcile.Result{RequeueAfter: max(time.Until(next), 1)}, nil
//	}
//
// A Group has a queue with its own rate for each domain (a zone, a tenant, a cluster). A Limiter is a rate for the
// workers of a queue that you already have.
//
// # Model
//
//	          Add               Take                   Done
//	Unknown ------> Waiting ------------> InFlight ----------> Finished
//	   ^               ^                   |    |                  |
//	   |               +-------------------+    |                  |
//	   |           RetryAfter, Blocked          | Forget           | Remove
//	   +----------------------------------------+------------------+
//
// Add and Remove return the State in which they found the key. Remove works in any state, at any rate, paused or not.
// Who takes an item holds it until he ends it. If its key is removed meanwhile, his ending has no effect, but nobody
// else gets the key before it. An entry added while its key is in flight waits for the holder: see [Duplicate].
//
// Waiting, InFlight, Forget, Blocked and the names of a Duplicate mean the same in package timedworker.
//
// Take hands out only items that are due. Only handing out spends a token. An idle queue saves up at most Burst tokens.
// SetRate keeps whole tokens but no fractions. After a stop the bucket is empty.
//
// Time is elapsed time. Setting the wall clock moves no due time and makes no token, if the clock's readings have a
// monotonic part. Without one, a step back counts as no time. A queue stores nothing: after a restart, add again what
// the objects say.
//
// If a name comes back as another object, put the object's UID into the key. Then a late event of the old object cannot
// touch the new one.
//
// # What goes wrong
//
// An item that nobody ends keeps its key in flight for ever. So end it in a defer if your code may panic. A key that
// cannot be hashed, or does not equal itself (NaN), panics in its caller and changes nothing.
//
// # Coming from nodelifecycle/scheduler
//
// For users of RateLimitedTimedQueue in k8s.io/kubernetes/pkg/controller/nodelifecycle/scheduler; compared with v1.37.2.
//
//	RateLimitedTimedQueue              here
//	NewRateLimitedTimedQueue(limiter)  New. Upstream also spends a token when nothing is due
//	TimedValue                         Item: Key, Due; Get has Added; a UID is part of Value, or of the key
//	Add(value, uid)                    AddEntry with KeepFirst. Upstream, too, ignores another UID of a known value
//	Try(fn)                            Take, in a loop; upstream holds a lock while fn runs
//	fn returns true                    Done
//	fn returns false, wait             RetryAfter(wait)
//	Remove(value)                      Remove
//	Remove, then Add, during fn        a turn of its own afterwards; upstream forgets it, or tries the old item again
//	Clear()                            Clear
//	SwapLimiter(qps)                   SetRate, which keeps the burst, and starts again after 0
package ratelimitqueue
