// Package ratelimitqueue holds unique items in the order in which they are due, and hands them out no faster than a
// rate, which can change at any moment.
//
// An item waits until Take hands it out. Then it is in flight, until its holder (the caller of Take) ends it. No lock
// is held while the holder works on it:
//
//	          Add               Take
//	unknown -------> waiting ---------> in flight --------------> kept
//	   ^                ^                |     |       Keep         |
//	   |                +----------------+     |                    |
//	   |   Retry, RetryAfter, Blocked, Fail    | Done, Drop         | Remove
//	   +---------------------------------------+--------------------+
//
// Done forgets the key, so the next Add starts over. Keep remembers it until Remove, so that a level-triggered caller,
// which adds the key at every event, does not have it processed twice. Remove and Clear work in any state, at any rate,
// paused or not. If the key of an item in flight is removed, the way its holder ends it has no effect; Held and Ended
// tell the holder. If the key is added again meanwhile, it is not handed out before the old holder has ended.
//
// The rate is in items a second, or Unlimited, or Stopped. A queue saves up at most Burst tokens, which
// golang.org/x/time/rate counts. Only an item that is due is handed out, and only handing out spends a token. SetRate
// keeps whole tokens but no fractions, and after a stop the bucket starts empty. Next returns the exact instant at
// which Take succeeds; Wait returns the time until then, for reconcilers that requeue; Run is a ready-made loop. All
// methods may be called from any goroutine, also by holders.
//
// A Group has a queue for each domain (a zone, for example), limits over all of them, and a fair order.
//
// A queue is not stored anywhere. After a restart, add again what the objects say; the bucket is full then.
//
// # Words
//
// Package timedworker, which runs work when it is due, uses the same words with the same meaning.
//
//	word                  here
//	Entry                 what is added: Key, Value, Due, Identity, OnDuplicate, WhileInFlight
//	Due                   when it may be handed out; the zero time means now
//	place                 the order among equal due times: first come, first served; a retry keeps it, and so does
//	                      Replace
//	Identity              tells objects with the same key apart, such as a UID. An empty one matches any; one learned
//	                      late is adopted; an empty one erases none. Another one takes the key over, whatever the
//	                      policies say
//	OnDuplicate           which due time and value a waiting key has after it is added again: KeepFirst (zero),
//	                      KeepEarliest, Replace
//	in flight             handed out, and its holder has not ended it
//	WhileInFlight         what adding a key in flight does. Again (zero) gives the newest entry a turn of its own once
//	                      the item is done or dropped; if it is retried, OnDuplicate chooses between the two. Ignore
//	                      changes nothing
//	Done                  finished; the key is forgotten
//	Drop                  no longer wanted; forgotten like Done, but counted separately
//	Keep                  finished, and known until Remove: adding it changes nothing (only here)
//	Retry                 failed: again after Config.Backoff, which grows; one more attempt
//	RetryAfter(d)         failed: again after d; one more attempt
//	Blocked(d)            not permitted yet, which is no failure: again after d; attempts and backoff do not grow
//	Fail(err)             Done for nil, Drop for an error marked by Final, else Retry; Get, Stats and OnError show it
//	Held                  whether the item is still wanted; asked while it is in flight
//	Pause, Resume         nothing is handed out while there is a reason, and no tokens accrue; adding and removing go
//	                      on
//	Rate                  items a second (only here), Unlimited or Stopped; a Config without one is an error
//	Get                   what is known about one key; a key removed while in flight is no longer known
//	Len                   how many items wait; Stats counts those in flight
//	Waiting               the waiting keys, in the order in which they are due (only here)
//	Next, Wait            when Take next succeeds, not before now; how long to wait until then
//	Stats                 counts, lateness and the last error, always kept
//	Clear                 forgets everything; how holders end has no effect then
//	…At(now)              the same, with the clock's reading as an argument
//
// # Time
//
// What counts is elapsed time. If the clock's readings have a monotonic part, as the real clock's do, only that part is
// used: setting the wall clock moves no due time and makes no token. Without it, a clock that jumps forward counts as
// time passed, and one that goes back counts as no time passed. A due time is compared with the clock once, when it is
// added; from then on it is a remaining time.
//
// # What goes wrong
//
// A panic in the function given to Run is a failed try, and so is runtime.Goexit. A panic in a function of Config
// counts in Stats and goes to OnPanic, and does no other harm. No lock is held
// while any of them runs. A key that cannot be hashed panics in its caller's goroutine and changes nothing. An item
// that is taken and never ended keeps its key in flight for ever: outside of Run, end it in a defer.
//
// # Coming from nodelifecycle/scheduler
//
// This table is for users of RateLimitedTimedQueue in k8s.io/kubernetes/pkg/controller/nodelifecycle/scheduler. A test
// plays each row against the one of v1.37.2.
//
//	RateLimitedTimedQueue              here
//	NewRateLimitedTimedQueue(limiter)  New(Config{Rate, Burst, Clock}). Upstream also spends a token when nothing is
//	                                   due, and hands out the first item at rate 0
//	TimedValue                         Item: Key, Identity, Added, Due
//	Add(value, uid)                    AddEntry with Identity, and Keep: a known key is not handed out again before
//	                                   Remove. Another UID replaces it; upstream ignores the new one
//	Try(fn)                            for item, ok := q.Take(); ok; item, ok = q.Take() { … }; upstream holds a
//	                                   lock meanwhile
//	fn returns true                    item.Keep(); after Done, the next Add would be accepted
//	fn returns false, wait             item.RetryAfter(wait); upstream waits a nanosecond longer
//	Remove(value)                      Remove, O(log n), which also says whether the item is in flight
//	Remove, then Add, during fn        the same: a turn of its own once fn has ended; upstream forgets it, or tries
//	                                   the old item again instead
//	Clear()                            Clear
//	SwapLimiter(qps)                   SetRate, which keeps the burst and may be called by holders. After 0, any rate
//	                                   starts it again, even 1. Upstream makes the burst 1, never returns when called
//	                                   within fn, and stays stopped when swapped from 0 to 1
package ratelimitqueue
