// Package ratelimitqueue holds unique items in the order in which they are due, and hands them out no
// faster than a rate that can change at any moment.
//
// An item waits, is handed out by Take (then it is in flight), and ends with Done, Retry or Drop. Done
// keeps the key known until Remove, so that what was dealt with is not queued again by the next event:
//
//	          Add                Take                  Done
//	unknown ───────▶ waiting ───────▶ in flight ───────────────▶ held
//	   ▲               ▲                │    │                     │
//	   │               └──── Retry ─────┘    │ Drop                │ Remove
//	   └─────────────────────────────────────┴─────────────────────┘
//
// Remove passes in any state. What the holder of a removed item says afterwards is void, and a key that is added
// again meanwhile is not handed out before the first holder has finished.
//
// A token is spent only for an item that is handed out; it must be due first. Equal due times are served
// first come, first served. The item is the caller's to work on with nothing locked. Rate 0 holds everything and
// forgets nothing; SetRate keeps whole tokens and no fractions, and leaving 0 starts with an empty
// bucket. Pause is distinct: it has reasons, and tokens stand still. Next is the exact instant at which Take
// succeeds, Wait the same for reconcilers that come back; Run is a loop for those who want one.
//
// # Coming from nodelifecycle/scheduler
//
//	RateLimitedTimedQueue                 here
//	NewRateLimitedTimedQueue(limiter)     New(Config{Rate, Burst, Clock})
//	Add(value, uid)                       AddEntry with Identity; says what it did
//	Try(fn), a callback under the lock    for item, ok := q.Take(); ok; item, ok = q.Take() { … }
//	fn returns true                       item.Done()
//	fn returns false, wait                item.Retry(wait)
//	Remove, O(n)                          Remove, O(log n)
//	Clear                                 Remove each, or a new queue
//	SwapLimiter(qps)                      SetRate(rate), also from within the work, and also exactly 1
package ratelimitqueue
