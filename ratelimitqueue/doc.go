// Package ratelimitqueue holds unique items in the order in which they are due, and hands them out no
// faster than a rate that can change at any moment.
//
// An item waits, is handed out by Take (then it is in flight), and is ended by its holder. Nothing is locked while the
// holder works on it:
//
//	          Add               Take
//	unknown ───────▶ waiting ─────────▶ in flight ──────────────▶ kept
//	   ▲                ▲                │     │       Keep         │
//	   │                └────────────────┘     │                    │
//	   │   Retry, RetryAfter, Blocked, Fail    │ Done, Drop         │ Remove
//	   └───────────────────────────────────────┴────────────────────┘
//
// Done forgets the key, so that adding it again is news. Keep remembers it until Remove, so that a level-triggered
// caller who adds it at every event does not have it dealt with twice. Remove and Clear pass in any state, at any rate,
// paused or not; what the holder of a removed item says afterwards is void, as Held and Ended tell him, and a key that
// is added again meanwhile is not handed out before he has ended.
//
// The rate is in items a second, or Unlimited, or Stopped; a queue saves up at most Burst tokens. A token is spent
// only on an item that is handed out; it must be due first. SetRate keeps whole tokens and no fractions, and leaving a
// stop starts with an empty bucket. Next is the exact instant at which Take succeeds, Wait the same for reconcilers
// that come back; Run is a loop for those who want one. All may be called from any goroutine, also while an item is
// worked on.
//
// A Group is a queue for each domain, a zone say, with bounds over all of them and a fair order.
//
// # Words
//
// The package timedworker, which runs work at its time, uses the same words for the same things.
//
//	word                  here
//	Entry                 what is added: Key, Value, Due, Identity, OnDuplicate, WhileInFlight
//	Due                   when it may be handed out; the zero time is now
//	place                 among equal due times: first come, first served; a retry keeps it, and so does Replace
//	Identity              who has the key, a UID; none never differs, one learned late is adopted, none erases none.
//	                      Another one takes the key over, whatever the policies say
//	OnDuplicate           what becomes of due time and value of a key that waits: KeepFirst (zero), KeepEarliest,
//	                      Replace
//	in flight             handed out, and its holder has not ended
//	WhileInFlight         adding a key that is in flight: Again (zero) gives the newest entry a turn of its own once
//	                      the item is done or dropped, and lets OnDuplicate choose when it is to be tried again;
//	                      Ignore changes nothing
//	Done                  finished; the key is forgotten
//	Drop                  not wanted any more; forgotten like Done, counted apart
//	Keep                  finished, and known until Remove: adding it changes nothing (only here)
//	Retry                 failed: again after Config.Backoff, which grows; one more attempt
//	RetryAfter(d)         failed: again after d; one more attempt
//	Blocked(d)            not permitted yet, no failure: again after d; attempts and backoff stay
//	Fail(err)             Done for nil, Drop for what Final marked, else Retry; Get, Stats and OnError show the error
//	Held                  whether the item is still wanted, asked while it is in flight
//	Permission            may items be taken in and handed out? asked again after PermissionInterval, or by Kick
//	NotPermitted          the answer of adding while it is refused
//	Pause, Resume         nothing is handed out while there is a reason, and tokens stand still; adding and removing
//	                      go on
//	Rate                  items a second (only here); Unlimited and Stopped are said, a Config without one is a fault
//	Get                   one key; one that was removed while it is in flight is not known any more
//	Len                   how many wait; those in flight are in Stats
//	Next, Wait            when Take succeeds next, not before now; for how long to wait for it
//	Stats                 counts, lateness and the last error, always on
//	Snapshot, Restore     every known key, as remaining times, and rate, tokens and pauses, for another process
//	Clear                 forgets everything; what holders say is void
//	…At(now)              the same, with the clock's reading passed in
//
// # Time
//
// Elapsed time is what counts. Between readings of the clock that have a monotonic part, as those of the real
// clock do, that part alone tells how much time passed: setting the wall clock moves no due time and makes no token.
// Between readings without one the wall tells: forward is time, back means that none passed. A due time is compared
// with the clock once, when it is added, and is a remaining time from then on.
//
// # What goes wrong
//
// A panic in what Run runs is a failed try, and so is runtime.Goexit. A panic in a function of Config does no more harm
// than that: it counts in Stats and is told to OnPanic, and a permission that panics is refused. No lock is held while
// any of them runs. A key that cannot be hashed panics in its caller's goroutine and changes nothing. Who takes an
// item and never ends it keeps its key in flight for ever: outside of Run, end it in a defer.
//
// # Coming from nodelifecycle/scheduler
//
// For those who use RateLimitedTimedQueue of k8s.io/kubernetes/pkg/controller/nodelifecycle/scheduler. A test plays
// each row on that of v1.36.3.
//
//	RateLimitedTimedQueue              here
//	NewRateLimitedTimedQueue(limiter)  New(Config{Rate, Burst, Clock}). Upstream spends a token also on finding
//	                                   nothing due, and hands out the first item at rate 0
//	TimedValue                         Item: Key, Identity, Added, Due
//	Add(value, uid)                    AddEntry with Identity, and Keep: a known key is not handed out again before
//	                                   Remove. Another UID takes its place; upstream ignores it
//	Try(fn)                            for item, ok := q.Take(); ok; item, ok = q.Take() { … }; upstream holds a
//	                                   lock meanwhile
//	fn returns true                    item.Keep(); Done would let the next Add in
//	fn returns false, wait             item.RetryAfter(wait); upstream waits a nanosecond longer
//	Remove(value)                      Remove, O(log n), which also says whether it is in flight
//	Remove, then Add, during fn        the same: a turn of its own once fn has ended; upstream forgets it, or tries
//	                                   the old item again in its place
//	Clear()                            Clear
//	SwapLimiter(qps)                   SetRate, which keeps the burst, also from within the work and to 1 after 0;
//	                                   upstream makes the burst 1, never returns, and stays stopped
package ratelimitqueue
