// Package timedworker runs one piece of work per key when it is due, on a bounded number of workers.
//
// A Set holds work that is due at some instant. Schedule adds or moves it, Cancel takes it away, and Get, Len, Next,
// Stats and Snapshot show it. One heap and one timer serve all of it: there is no goroutine and no runtime timer per
// item.
//
//	          Schedule             it is due
//	unknown ------------> waiting --------------------> running
//	   ^                   |   ^                        |     |
//	   |       Cancel      |   |  Retry, RetryAfter,    |     |
//	   +-------------------+   |  Blocked, Fail(err)    |     |
//	   |                       +------------------------+     |
//	   +------------------------------------------------------+
//	                            Done, Drop
//
// The function given to New does the work, and its Result says what happens next. Each piece of work is claimed only at
// the moment it starts. So once Cancel has returned, the work has either started already (Cancel returned Running) or
// never will. Work that is cancelled while it runs is not tried again; Held tells it. Checked adds a last check right
// before acting, which can say proceed, cancel or delay.
//
// A key is a slot. The Identity of an Entry, such as a UID, tells objects apart that have the same key one after the
// other: work of an old object never runs for the new one, and CancelIdentity for the old one does not touch the new
// one's. Two pieces of work with the same key never run at the same time: what is scheduled for a key while its work
// runs waits for the end, or is ignored, as the Entry says.
//
// Run is a loop with a timer and workers. Step runs what is due now, in the caller's goroutine; it is for tests, for
// simulations, and for reconcilers that come back at Next or after Wait. Use one or the other: they cannot be active at
// the same time. All other methods may be called from any goroutine at any time, also by the work itself.
//
// # Words
//
// Package ratelimitqueue, which hands items out at a rate, uses the same words with the same meaning.
//
//	word                  here
//	Entry                 what is scheduled: Key, Value, Due, Identity, OnDuplicate, WhileInFlight
//	Due                   when it is to run; the zero time means now
//	place                 the order among equal due times: first scheduled, first run; a retry keeps it, and so does
//	                      Replace
//	Identity              tells objects with the same key apart, such as a UID. An empty one matches any; one learned
//	                      late is adopted; an empty one erases none. Another one takes the key over, whatever the
//	                      policies say
//	OnDuplicate           which due time and value a waiting key has after it is scheduled again: KeepFirst (zero),
//	                      KeepEarliest, Replace
//	in flight             running: its function has been called and has not returned
//	WhileInFlight         what scheduling a running key does. Again (zero) gives the newest entry a turn of its own
//	                      once the work is done or dropped; if it is retried, OnDuplicate chooses between the two.
//	                      Ignore changes nothing
//	Done                  finished; the key is forgotten
//	Drop                  no longer wanted; forgotten like Done, but counted separately
//	Retry                 failed: again after Config.Backoff, which grows; one more attempt
//	RetryAfter(d)         failed: again after d; one more attempt
//	Blocked(d)            not permitted yet, which is no failure: again after d; attempts and backoff do not grow
//	Fail(err)             Done for nil, Drop for an error marked by Final, else Retry; Get, Stats and OnError show it
//	Held                  whether the work is still wanted; asked while it runs
//	Pause, Resume         nothing starts while there is a reason; scheduling and cancelling go on
//	Get                   what is known about one key; a key cancelled while it runs is no longer known
//	Len                   how many keys wait; Stats counts those that run
//	Next, Wait            when work next starts, not before now; how long to wait until then
//	Stats                 counts, lateness and the last error, always kept
//	Snapshot, Restore     all unfinished work with its remaining time, and pauses, for another process (only here)
//	Clear                 forgets everything; running work is not tried again
//	…At(now)              the same, with the clock's reading as an argument
//
// # Time
//
// What counts is elapsed time. If the clock's readings have a monotonic part, as the real clock's do, only that part is
// used: setting the wall clock, by a second or by a day, moves no due time. Without it, a clock that jumps forward
// counts as time passed, and one that goes back counts as no time passed. A due time is compared with the clock once,
// when it is scheduled; from then on it is a remaining time. So an instant that another machine wrote is as right as
// this machine's clock is at that moment.
//
// # What goes wrong
//
// A panic in the work is a failed try, and so is runtime.Goexit. A panic in a function of Config counts in Stats and
// goes to OnPanic, and does no other harm: a Jitter that panics leaves the delay as it was. No lock is held while any
// of them runs. A key that cannot be hashed panics in its caller's goroutine and changes nothing.
//
// # Coming from TimedWorkerQueue
//
// This table is for users of the one in k8s.io/kubernetes/pkg/controller/tainteviction. A test plays each row against
// the one of v1.37.2, also while work is running.
//
//	tainteviction                    here
//	CreateWorkerQueue(f)             New(f, Config{}) and Run: a bounded number of workers, not one goroutine each
//	AddWork(args, created, fire)     ScheduleEntry with WhileInFlight Ignore; Again gives another turn
//	UpdateWork(args, created, fire)  Schedule, or ScheduleEntry with Replace: it waits for running work to end. If
//	                                 that was due at once or at the same time, upstream ignores the update; else it
//	                                 runs both at the same time
//	CancelWork(key)                  Cancel: Cancelled, Running or NotFound. For running work upstream returns true,
//	                                 unless it was due at once, and lets its successor run at the same time
//	GetWorkerUnsafe(key)             Get: a copy, also of running work; upstream shows no work that was due at once
//	CancelAndWait()                  Clear, then end Run's context: Run returns after the work has
//	created, fire                    Due, the instant fire; upstream fires fire-created from now, whenever created was
//	key namespace/name               any comparable key; another Identity takes it over, where AddWork ignores it
//	f returns an error               Fail tries again; Fail(Final(err)) ends it, as any error does upstream
package timedworker
