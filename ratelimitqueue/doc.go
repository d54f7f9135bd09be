// Package ratelimitqueue hands out unique items when they are due, no faster than a rate, which can change at any
// moment.
//
//	queue, err := ratelimitqueue.New[string, Cluster](ratelimitqueue.Config{Rate: rate.Every(10 * time.Second)})
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
//	if next, ok := queue.Next(); ok { // look again then, unless something changes before
//		return reconcile.Result{RequeueAfter: max(time.Until(next), 1)}, nil
//	}
//	return reconcile.Result{}, nil
//
// A Group has a queue with its own rate for each domain, such as a zone.
//
// Rates are rate.Limits of golang.org/x/time/rate. A queue counts its own tokens, and hands out when a rate.Limiter
// would: taking an item and asking for the next time cost 50 to 100ns so, and 320 to 440ns with a rate.Limiter.
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
// Add and Remove return the State in which they found the key. Who takes an item holds it until he ends it. If its key
// is removed meanwhile, the ending does nothing to the key. If the key is added again, its new item waits for that
// ending; Next does not count it before.
//
// Objects that have the same name one after the other need different keys: put a UID into the key. Then a late event of
// the old object does not touch the new one.
//
// Time is elapsed time. Setting the wall clock moves no due time and makes no token, if the clock's readings have a
// monotonic part. Without one, what passes between two readings counts, but no step back, and none of over 292 years.
// Times that are told follow the clock. After a restart, add again what the objects say.
//
// # What goes wrong
//
// An item that nobody ends keeps its key in flight for ever: end it in a defer if your code may panic. A key or domain
// that cannot be hashed panics in its caller and changes nothing. So does one that does not equal itself (NaN), when it
// is added.
//
// # Coming from nodelifecycle/scheduler
//
//	RateLimitedTimedQueue, v1.37.2     here
//	NewRateLimitedTimedQueue(limiter)  New. Upstream also spends a token when nothing is due
//	TimedValue                         Item: Key, Due; Get has Added; a UID is part of Value, or of the key
//	Add(value, uid)                    AddEntry with KeepFirst. Upstream, too, ignores another UID of a known value
//	Try(fn)                            Take, in a loop; upstream holds a lock while fn runs
//	fn returns true                    Done
//	fn returns false, wait             RetryAfter(wait)
//	Remove, then Add, during fn        a turn of its own afterwards; upstream forgets it, or tries the old item again
//	SwapLimiter(qps)                   SetRate, which keeps the burst, and starts again after 0
package ratelimitqueue
